package io.rdmaraw.device;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.queue.ReceiveBurst;

/**
 * The consumer of the frames of flow rules. A channel implements it in an inner class, to keep it out of the public
 * API. All calls come on the loop's thread.
 */
public interface FrameReceiver {
    /** Returns the channel's identifier, for recordings; empty for what serves several, or the queue's host. */
    default String id() {
        return "";
    }

    /**
     * Takes a received frame and its reference.
     *
     * @param checksumVerified whether the device has verified the frame's IPv4 and TCP or UDP checksums
     * @return true for the first frame of a burst: the queue then calls {@link #endBurst()} once
     */
    boolean receive(ByteBuf frame, boolean checksumVerified);

    /**
     * Fast path: takes a run of frames that matched the same rule, without per-frame dispatch.
     *
     * @param from the first of them; none is taken yet ({@link ReceiveBurst#takeFrame})
     * @param end index behind the last of them
     * @return behind the last that the channel has taken; {@code from} if it takes these frames only one by one
     */
    default int receiveRun(ReceiveBurst burst, int from, int end) {
        return from;
    }

    /** Tells whether the channel has taken frames since {@link #endBurst()}; for receivers that take runs. */
    default boolean isInBurst() {
        return false;
    }

    /** Called at the end of the burst of one poll. */
    void endBurst();

    /** The send queue has room again; called once after {@link DeviceQueue#awaitRoom}. */
    void sendQueueHasRoom();

    /** Something happened to the queue. */
    default void queueEvent(QueueEvent event) {
    }

    /** The device is gone, and the queue with it. */
    default void queueGone() {
    }

    /** Returns the name under which the statistics are listed. */
    default String label() {
        return id();
    }

    /** Returns the channel's metrics, or null. */
    default RdmaRawMetered statistics() {
        return null;
    }
}
