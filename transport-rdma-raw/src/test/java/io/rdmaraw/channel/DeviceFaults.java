package io.rdmaraw.channel;

import io.rdmaraw.faults.SoftverbsFaults;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.softverbs.Softverbs;
import io.rdmaraw.verbs.softverbs.SoftverbsQueueCounters;

/** Faults that a test can inject into a device. */
interface DeviceFaults {
    static DeviceFaults of(VerbsContext context) {
        return new DeviceName(context.deviceName()).isSoftware()
                ? new Soft(Softverbs.of(context), SoftverbsFaults.of(context))
                : new EmulatedFaults(context.deviceName());
    }

    /** The next send or receive completes with this status, and the queue enters the error state. */
    void failNextCompletion(FrameQueue queue, boolean receive, int status);

    /** The queue pair enters the error state. */
    void failQueuePair(QueuePair queuePair);

    /** The work queue of RSS rules enters the error state, at once or when it receives its next frame. */
    void failWorkQueue(FrameQueue queue);

    /** The completion queue of the receives or of the sends overruns. */
    void overrunCompletions(FrameQueue queue, boolean receive);

    /**
     * Returns the number of frames that the device has lost so far: they were sent but reached no receive completion.
     */
    long lostFrames();

    void setPortUp(boolean up);

    /** Sets the number of rules for which the device has room; -1: the default. */
    void setRuleCapacity(int rules);

    /** Removes the device. */
    void failDevice();

    /** Restores a device that later tests use too. */
    void restore();

    /** Faults of softverbs. */
    record Soft(Softverbs softverbs, SoftverbsFaults faults) implements DeviceFaults {
        @Override
        public void failNextCompletion(FrameQueue queue, boolean receive, int status) {
            faults.failNextCompletion(queue.queuePair(), receive, status);
        }

        @Override
        public void failQueuePair(QueuePair queuePair) {
            queuePair.toError();
        }

        @Override
        public void failWorkQueue(FrameQueue queue) {
            queue.workQueue().toError();
        }

        @Override
        public void overrunCompletions(FrameQueue queue, boolean receive) {
            faults.overrun(receive ? queue.receiveCompletionQueue() : queue.sendCompletionQueue());
        }

        @Override
        public long lostFrames() {
            SoftverbsQueueCounters counters = softverbs.receivedCounters();
            return counters.cqOverruns() + counters.notReady() + counters.noReceive()
                    + softverbs.sentCounters().noMatch() + softverbs.sentCounters().portDown();
        }

        @Override
        public void setRuleCapacity(int rules) {
            faults.setFlowCapacity(rules);
        }

        @Override
        public void setPortUp(boolean up) {
            faults.setPortUp(up);
        }

        @Override
        public void failDevice() {
            faults.failDevice();
        }

        @Override
        public void restore() {
            // Each test has its own device, so there is nothing to restore.
        }
    }
}
