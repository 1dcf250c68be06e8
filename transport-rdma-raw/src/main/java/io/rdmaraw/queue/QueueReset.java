package io.rdmaraw.queue;

/** Resets the failed queues of a {@link FrameQueue} and counts the resets. */
final class QueueReset {
    /**
     * Maximum time to wait for the completions of sends. A device flushes a queue within microseconds, and a
     * broken one must not block the loop.
     */
    private static final long MAX_FLUSH_NANOS = 1_000_000;

    private final SharedDevice device;
    private volatile FrameQueue.ResetCounts resetCounts = new FrameQueue.ResetCounts(0, 0);

    QueueReset(SharedDevice device) {
        this.device = device;
    }

    FrameQueue.ResetCounts resetCounts() {
        return resetCounts;
    }

    /**
     * Resets and restarts each failed queue.
     *
     * <p>A queue moves directly to RESET, which is allowed from any state. A step to ERR could be refused:
     * mlx5's kernel driver has its own record of the state of each half of a queue pair and does not notice
     * failures. Asynchronous events raised before the reset are dispatched before {@link #resetCounts} is increased,
     * so that they are recognised as old.
     *
     * @param drainReceived see {@link FrameQueue#recover}
     */
    void resetFailedQueues(QueuePairResources queues, Runnable drainReceived) {
        ReceiveRing receiveRing = queues.receiveRing();
        ReceiveRequests workQueueRequests = receiveRing.workQueueRequestsOrNull();
        if (workQueueRequests != null && workQueueRequests.failed()) {
            drainReceived.run();
            queues.workQueueOrNull().toReset();
            device.dispatchAsyncEvents();
            resetCounts = new FrameQueue.ResetCounts(resetCounts.queuePair(), resetCounts.workQueue() + 1);
            // Take the frames that arrived before the reset. libmlx5 may have removed their completions and
            // written the doorbell record of the completion queue; the next poll corrects the record.
            drainReceived.run();
            workQueueRequests.afterReset();
            queues.workQueueOrNull().toReady();
            workQueueRequests.refill();
        }
        ReceiveRequests gsoRequests = receiveRing.gsoRequestsOrNull();
        if (gsoRequests != null && gsoRequests.failed()) {
            drainReceived.run();
            queues.gsoQueue().toReset();
            device.dispatchAsyncEvents();
            drainReceived.run();
            gsoRequests.afterReset();
            queues.startGsoQueue();
        }
        if (receiveRing.queuePairRequests().failed() || queues.sendRing().failed()) {
            resetQueuePair(queues, drainReceived);
        }
    }

    private void resetQueuePair(QueuePairResources queues, Runnable drainReceived) {
        ReceiveRequests queuePairRequests = queues.receiveRing().queuePairRequests();
        SendRing sendRing = queues.sendRing();
        queuePairRequests.stop();
        // Handlers may reply to the frames received now. Suspend sending: a request posted in RESET would be sent
        // late or never.
        sendRing.suspend();
        drainReceived.run();
        awaitSendCompletions(sendRing);
        queues.queuePair().toReset();
        device.dispatchAsyncEvents();
        resetCounts = new FrameQueue.ResetCounts(resetCounts.queuePair() + 1, resetCounts.workQueue());
        drainReceived.run();
        // Release the frames that the device completed since.
        sendRing.reclaim();
        sendRing.afterReset();
        sendRing.releaseAll();
        queuePairRequests.afterReset();
        queues.start();
        sendRing.resume();
    }

    /**
     * Polls the completions of frames that the device sent before it stopped. The reset would discard them, and
     * the frames would be counted as lost.
     */
    private static void awaitSendCompletions(SendRing sendRing) {
        long endNanos = System.nanoTime() + MAX_FLUSH_NANOS;
        do {
            sendRing.reclaim();
        } while (sendRing.inFlight() > 0 && System.nanoTime() - endNanos < 0);
    }
}
