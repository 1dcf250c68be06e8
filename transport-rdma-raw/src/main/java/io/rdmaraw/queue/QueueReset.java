package io.rdmaraw.queue;

/** Resets the failed queues of a {@link FrameQueue} and counts the resets. */
final class QueueReset {
    /**
     * Maximum time to wait for the completions of sends. A device flushes a queue within microseconds, and a
     * broken one must not block the loop.
     */
    private static final long FLUSH_NANOS = 1_000_000;

    private final SharedDevice device;
    private final int portNumber;
    private volatile FrameQueue.Resets resets = new FrameQueue.Resets(0, 0);

    QueueReset(SharedDevice device, int portNumber) {
        this.device = device;
        this.portNumber = portNumber;
    }

    FrameQueue.Resets resets() {
        return resets;
    }

    /**
     * Resets and restarts each failed queue.
     *
     * <p>A queue moves directly to RESET, which is allowed from any state. A step to ERR could be refused:
     * mlx5's kernel driver has its own record of the state of each half of a queue pair and does not notice
     * failures. Asynchronous events raised before the reset are dispatched before {@link #resets} is increased,
     * so that they are recognised as old.
     *
     * @param drainReceived see {@link FrameQueue#recover}
     */
    void run(QueuePairResources queues, Runnable drainReceived) {
        ReceiveRing receives = queues.receives();
        ReceiveRequests shared = receives.sharedOrNull();
        if (shared != null && shared.failed()) {
            drainReceived.run();
            queues.workQueueOrNull().toReset();
            device.dispatchAsyncEvents();
            resets = new FrameQueue.Resets(resets.queuePair(), resets.workQueue() + 1);
            // Take the frames that arrived before the reset. libmlx5 may have removed their completions and
            // written the doorbell record of the completion queue; the next poll corrects the record.
            drainReceived.run();
            shared.afterReset();
            queues.workQueueOrNull().toReady();
            shared.refill();
        }
        ReceiveRequests large = receives.largeOrNull();
        if (large != null && large.failed()) {
            drainReceived.run();
            queues.large().toReset();
            device.dispatchAsyncEvents();
            drainReceived.run();
            large.afterReset();
            queues.startLarge();
        }
        if (receives.ownRequests().failed() || queues.sends().failed()) {
            resetQueuePair(queues, drainReceived);
        }
    }

    private void resetQueuePair(QueuePairResources queues, Runnable drainReceived) {
        ReceiveRequests own = queues.receives().ownRequests();
        SendRing sends = queues.sends();
        own.stop();
        // Handlers may reply to the frames received now. Suspend sending: a request posted in RESET would be sent
        // late or never.
        sends.suspend(true);
        drainReceived.run();
        finishSends(sends);
        queues.queuePair().toReset();
        device.dispatchAsyncEvents();
        resets = new FrameQueue.Resets(resets.queuePair() + 1, resets.workQueue());
        drainReceived.run();
        // Release the frames that the device completed since.
        sends.reclaim();
        sends.afterReset();
        sends.releaseAll();
        own.afterReset();
        queues.start(portNumber);
        sends.suspend(false);
    }

    /**
     * Polls the completions of frames that the device sent before it stopped. The reset would discard them, and
     * the frames would be counted as lost.
     */
    private static void finishSends(SendRing sends) {
        long endNanos = System.nanoTime() + FLUSH_NANOS;
        do {
            sends.reclaim();
        } while (sends.inFlight() > 0 && System.nanoTime() - endNanos < 0);
    }
}
