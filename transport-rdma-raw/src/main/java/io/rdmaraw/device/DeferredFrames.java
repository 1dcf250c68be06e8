package io.rdmaraw.device;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.ReceiveBurst;

import java.util.Arrays;

/**
 * Frames received while a handler was running, for receivers that run handlers. They are dispatched in order by
 * the next {@link FrameDispatcher#deliver}.
 */
final class DeferredFrames {
    private static final int MAX_FRAMES = 1024;

    private ByteBuf[] frames = new ByteBuf[FrameQueue.MAX_BURST_FRAMES];
    private int[] flowTags = new int[FrameQueue.MAX_BURST_FRAMES];
    private boolean[] checksumsVerified = new boolean[FrameQueue.MAX_BURST_FRAMES];
    private boolean[] vlanTagged = new boolean[FrameQueue.MAX_BURST_FRAMES];
    private int size;

    int size() {
        return size;
    }

    /** Returns whether a full burst can be added. */
    boolean hasRoomForBurst() {
        return size + FrameQueue.MAX_BURST_FRAMES <= MAX_FRAMES;
    }

    /** Moves a frame out of a burst. */
    void add(ReceiveBurst burst, int index) {
        if (size == frames.length) {
            frames = Arrays.copyOf(frames, 2 * size);
            flowTags = Arrays.copyOf(flowTags, 2 * size);
            checksumsVerified = Arrays.copyOf(checksumsVerified, 2 * size);
            vlanTagged = Arrays.copyOf(vlanTagged, 2 * size);
        }
        flowTags[size] = burst.flowTag(index);
        checksumsVerified[size] = burst.checksumVerified(index);
        // firstTagged returns the index of this frame only if the frame is tagged.
        vlanTagged[size] = burst.firstTagged(index, index + 1) == index;
        frames[size++] = burst.takeFrame(index);
    }

    int flowTag(int index) {
        return flowTags[index];
    }

    boolean checksumVerified(int index) {
        return checksumsVerified[index];
    }

    boolean vlanTagged(int index) {
        return vlanTagged[index];
    }

    /** Returns a frame. The reference passes to the caller. */
    ByteBuf remove(int index) {
        ByteBuf frame = frames[index];
        frames[index] = null;
        return frame;
    }

    /** Removes all entries. Their frames must have been taken. */
    void clear() {
        size = 0;
    }

    void release() {
        for (int i = 0; i < size; i++) {
            remove(i).release();
        }
        clear();
    }
}
