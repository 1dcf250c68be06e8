package io.rdmaraw.queue;

/**
 * What one queue has counted. Written by the queue's loop alone with plain stores; other threads read values that may
 * be a little old, which is right for statistics and costs the hot path nothing.
 */
public final class QueueCounters {
    long receivedFrames;
    long receivedBytes;
    long receivePolls;
    long emptyReceivePolls;
    long receiveErrors;
    long receiveQueueLow;
    long copiedOutFrames;
    long noMemoryFrames;
    long sentFrames;
    long sentBytes;
    long sendBursts;
    long copiedInFrames;
    long coalescedFrames;
    long paddedFrames;
    long segmentedFrames;
    long sendErrors;
    long refusedFrames;
    long lostInFlightFrames;
    long releasedEarlyFrames;
    long recoveries;

    /** Frames received and handed up. */
    public long receivedFrames() {
        return receivedFrames;
    }

    /** Bytes of the frames received. */
    public long receivedBytes() {
        return receivedBytes;
    }

    /** Polls of the receive completion queue. */
    public long receivePolls() {
        return receivePolls;
    }

    /** Polls that found nothing. */
    public long emptyReceivePolls() {
        return emptyReceivePolls;
    }

    /** Receive completions with an error status, flushed ones not counted. */
    public long receiveErrors() {
        return receiveErrors;
    }

    /** Times that the receive queue could not be filled because handlers hold the slots. */
    public long receiveQueueLow() {
        return receiveQueueLow;
    }

    /** Frames copied to unregistered memory on receipt because slots were short. */
    public long copiedOutFrames() {
        return copiedOutFrames;
    }

    /** Frames that were dropped because there was no memory to copy them to. */
    public long noMemoryFrames() {
        return noMemoryFrames;
    }

    /** Frames that the device took. */
    public long sentFrames() {
        return sentFrames;
    }

    /** Bytes of those frames. */
    public long sentBytes() {
        return sentBytes;
    }

    /** Doorbells rung. */
    public long sendBursts() {
        return sendBursts;
    }

    /** Frames copied to a slot on sending because they were not in registered memory. */
    public long copiedInFrames() {
        return copiedInFrames;
    }

    /** Frames copied to a slot on sending because they had more parts than the device gathers. */
    public long coalescedFrames() {
        return coalescedFrames;
    }

    /** Frames that were filled up to the least length of Ethernet. */
    public long paddedFrames() {
        return paddedFrames;
    }

    /** Frames that the device had to cut into segments. */
    public long segmentedFrames() {
        return segmentedFrames;
    }

    /** Send completions with an error status, flushed ones not counted. */
    public long sendErrors() {
        return sendErrors;
    }

    /** Frames that the device refused at the post. */
    public long refusedFrames() {
        return refusedFrames;
    }

    /** Frames that were accepted but not sent because the queue failed. */
    public long lostInFlightFrames() {
        return lostInFlightFrames;
    }

    /** Frames that whoever wrote them had released before the device was done with them. */
    public long releasedEarlyFrames() {
        return releasedEarlyFrames;
    }

    /** Recoveries of a failed queue. */
    public long recoveries() {
        return recoveries;
    }
}
