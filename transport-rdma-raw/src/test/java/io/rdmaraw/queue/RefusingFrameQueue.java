package io.rdmaraw.queue;

import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.Flow;

/** A working queue that simulates failures of its recovery and counts the installed rules. */
public final class RefusingFrameQueue extends FrameQueue {
    /** Number of calls of {@link #recover} until new queues work. */
    public int recoveriesLeft;
    /** Makes the device refuse the next reset, and the first new queue fail. */
    public boolean resetRefused;
    public boolean resetLosesFrames;
    public boolean receivingStopped;
    public int rulesMade;

    /** Opens the queue on the only port of a device. */
    public RefusingFrameQueue(SharedDevice device, CompletionChannel channel, FrameQueueOptions options) {
        super(device, 1, channel, options);
        start();
    }

    @Override
    public boolean needsNewQueues() {
        return recoveriesLeft > 0;
    }

    @Override
    public boolean resetLosesFrames() {
        return resetLosesFrames;
    }

    @Override
    public void stopReceiving() {
        receivingStopped = true;
    }

    @Override
    public void recover(Runnable drainReceived) {
        recoveriesLeft = resetRefused ? 2 : recoveriesLeft - 1;
        resetRefused = false;
    }

    @Override
    public Flow steer(FlowSpec spec) {
        rulesMade++;
        return super.steer(spec);
    }
}
