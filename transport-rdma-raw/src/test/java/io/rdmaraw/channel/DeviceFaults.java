package io.rdmaraw.channel;

import io.rdmaraw.faults.SoftverbsFaults;
import io.rdmaraw.queue.VerbsFrameQueue;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.softverbs.Softverbs;
import io.rdmaraw.verbs.softverbs.SoftverbsQueueCounters;

/** What can be made to go wrong with a device under test. */
interface DeviceFaults {
    static DeviceFaults of(VerbsContext context) {
        return new DeviceName(context.deviceName()).isSoftware()
                ? new Soft(Softverbs.of(context), SoftverbsFaults.of(context))
                : new EmulatedFaults(context.deviceName());
    }

    /** The next send or receive completes with this status, and the queue goes to the state of error. */
    void failNextCompletion(VerbsFrameQueue queue, boolean receive, int status);

    /** The queue pair goes to the state of error. */
    void failQueuePair(QueuePair queuePair);

    /** The work queue of shared rules goes to the state of error, at once or with the next frame that it receives. */
    void failWorkQueue(VerbsFrameQueue queue);

    /** The completion queue of its receives runs over, or else that of its sends. */
    void overrunCompletions(VerbsFrameQueue queue, boolean receive);

    /** Returns how many frames the device has lost so far: they were sent, and completed nowhere. */
    long lostFrames();

    void setPortUp(boolean up);

    /** The device is removed. */
    void failDevice();

    /** Makes a device good again that other tests use too. */
    void restore();

    /** Those of softverbs. */
    record Soft(Softverbs softverbs, SoftverbsFaults faults) implements DeviceFaults {
        @Override
        public void failNextCompletion(VerbsFrameQueue queue, boolean receive, int status) {
            faults.failNextCompletion(queue.queuePair(), receive, status);
        }

        @Override
        public void failQueuePair(QueuePair queuePair) {
            queuePair.toError();
        }

        @Override
        public void failWorkQueue(VerbsFrameQueue queue) {
            queue.workQueue().toError();
        }

        @Override
        public void overrunCompletions(VerbsFrameQueue queue, boolean receive) {
            faults.overrun(receive ? queue.receiveCompletions() : queue.sendCompletions());
        }

        @Override
        public long lostFrames() {
            SoftverbsQueueCounters counters = softverbs.received();
            return counters.cqOverruns() + counters.notReady() + counters.noReceive() + softverbs.sent().noMatch()
                    + softverbs.sent().portDown();
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
            // Every test has a device of its own.
        }
    }
}
