package io.rdmaraw.queue;

import io.rdmaraw.memory.SlotPool;

/**
 * What one queue has counted. Written by the queue's loop alone with plain stores; other threads read values that may
 * be a little old, which is right for statistics and costs the hot path nothing.
 */
public final class QueueCounters {
    /** The slots that the queue takes from, or null where a test counts without any. */
    public SlotPool slots;
    /** Frames received and handed up. */
    public long receivedFrames;
    /** Bytes of the frames received. */
    public long receivedBytes;
    /** Polls of the receive completion queue. */
    public long receivePolls;
    /** Polls that found nothing. */
    public long emptyReceivePolls;
    /** Receive completions with an error status, flushed ones not counted. */
    public long receiveErrors;
    /** Times that the receive queue could not be filled because handlers hold the slots. */
    public long receiveQueueLow;
    /** Frames copied to unregistered memory on receipt because slots were short. */
    public long copiedOutFrames;
    /** Frames that were dropped because there was no memory to copy them to. */
    public long noMemoryFrames;
    /** Frames that the device took. */
    public long sentFrames;
    /** Bytes of those frames. */
    public long sentBytes;
    /** Doorbells rung. */
    public long sendBursts;
    /** Frames copied to a slot on sending because they were not in registered memory. */
    public long copiedInFrames;
    /** Frames copied to a slot on sending because they had more parts than the device gathers. */
    public long coalescedFrames;
    /** Frames that were filled up to the least length of Ethernet. */
    public long paddedFrames;
    /** Frames that the device had to cut into segments. */
    public long segmentedFrames;
    /** Send completions with an error status, flushed ones not counted. */
    public long sendErrors;
    /** Frames that the device refused at the post. */
    public long refusedFrames;
    /** Frames that were accepted but not sent because the queue failed. */
    public long lostInFlightFrames;
    /** Frames that their writer had released before the device was done with them. */
    public long releasedEarlyFrames;
    /** Recoveries of a failed queue. */
    public long recoveries;
}
