package io.rdmaraw.queue;

import io.rdmaraw.memory.SlotPool;

/**
 * Counters of a frame queue. The loop writes them with plain stores, which cost the hot path nothing. Other
 * threads may read slightly stale values.
 */
public final class QueueCounters {
    /** The slots of the queue, or null in tests without slots. */
    public SlotPool slots;
    /** Frames received and delivered. */
    public long receivedFrames;
    /** Bytes received and delivered. */
    public long receivedBytes;
    /** Polls of the receive completion queue. */
    public long receivePolls;
    /** Polls that returned no frame. */
    public long emptyReceivePolls;
    /** Receive completions with an error status other than a flush. */
    public long receiveErrors;
    /** Number of times the receive queue could not be filled because handlers held the slots. */
    public long receiveQueueLow;
    /** Received frames copied to unregistered memory because slots were short. */
    public long copiedOutFrames;
    /** Frames dropped because no memory was available for a copy. */
    public long noMemoryFrames;
    /** Frames posted to the device. */
    public long sentFrames;
    /** Bytes posted to the device. */
    public long sentBytes;
    /** Doorbells rung by sends. */
    public long sendBursts;
    /** Sent frames copied to a slot because they were not in registered memory. */
    public long copiedInFrames;
    /** Sent frames copied to a slot because they had more parts than the device can gather. */
    public long coalescedFrames;
    /** Frames padded to the minimum length of Ethernet. */
    public long paddedFrames;
    /** TSO payloads that the device had to segment. */
    public long tsoFrames;
    /** Send completions with an error status other than a flush. */
    public long sendErrors;
    /** Frames that the device refused when they were posted. */
    public long refusedFrames;
    /** Accepted frames that were not sent because the queue failed. */
    public long lostInFlightFrames;
    /** Frames that a handler released before the device had sent them. */
    public long releasedEarlyFrames;
    /** Recoveries of a failed queue. */
    public long recoveries;
}
