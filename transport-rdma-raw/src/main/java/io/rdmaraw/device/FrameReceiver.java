package io.rdmaraw.device;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.internal.FrameDrops;
import io.rdmaraw.queue.ReceiveBurst;

/**
 * Receives the frames of flow rules. Channels implement this interface in an inner class, which keeps it out of
 * the public API. All methods are called on the loop's thread.
 */
public interface FrameReceiver {
    /** Returns the ID of the channel for recordings. Empty for receivers that are not a single channel. */
    default String id() {
        return "";
    }

    /**
     * Receives a frame and its reference.
     *
     * @param checksumVerified whether the device has verified the IPv4 header checksum and the TCP or UDP
     *                         checksum
     * @return true for the first frame of a burst: {@link #endBurst()} is then called once
     */
    boolean receive(ByteBuf frame, boolean checksumVerified);

    /**
     * Receives a run of frames that matched the same rule (fast path). The method takes frames with
     * {@link ReceiveBurst#takeFrame}.
     *
     * @param from index of the first frame
     * @param end  index after the last frame
     * @return the index after the last frame taken; {@code from} if the receiver only supports single frames
     */
    default int receiveRun(ReceiveBurst burst, int from, int end) {
        return from;
    }

    /**
     * Returns whether frames were received since the last {@link #endBurst()}. Needed by receivers that support
     * runs.
     */
    default boolean isInBurst() {
        return false;
    }

    /**
     * Returns whether the receiver only processes and queues frames, and runs no handlers. Such a receiver is
     * called in {@link DeviceQueue#receive}, others in {@link DeviceQueue#deliver}.
     */
    default boolean queuesOnly() {
        return false;
    }

    /** Called at the end of a burst in which the receiver received frames. */
    void endBurst();

    /** Called when the send queue has room again, once per call of {@link DeviceQueue#notifyWhenRoom}. */
    void onSendRoom();

    /** Called when the state of the queue changes. */
    default void onQueueEvent(QueueEvent event) {
    }

    /** Called when the device and its queue are gone. */
    default void onDeviceRemoved() {
    }

    /** Returns the name under which statistics list the receiver. */
    default String label() {
        return id();
    }

    /** Returns the counters of the channel, or null if it has none. */
    default RdmaRawMetered statistics() {
        return null;
    }

    /** Returns the counters of dropped frames, which other receivers may share; null if there are none. */
    default FrameDrops<?> frameDrops() {
        return null;
    }
}
