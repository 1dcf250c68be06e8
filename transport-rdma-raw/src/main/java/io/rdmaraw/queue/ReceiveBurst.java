package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;

/** The frames of one poll. Reused for every poll; arrays in place of objects, so that nothing is allocated. */
public final class ReceiveBurst {
    private final ByteBuf[] frames = new ByteBuf[FrameQueue.BURST_FRAMES];
    private final int[] flowTags = new int[FrameQueue.BURST_FRAMES];
    private final boolean[] checksumsVerified = new boolean[FrameQueue.BURST_FRAMES];
    private int size;

    /** Returns the number of frames. */
    public int size() {
        return size;
    }

    /** Returns a frame; whoever takes it owns its reference. */
    public ByteBuf frame(int index) {
        return frames[index];
    }

    /** Returns the tag of the flow rule that steered the frame here, 0 if none had one. */
    public int flowTag(int index) {
        return flowTags[index];
    }

    /** Tells whether the device has verified the frame's IPv4 header and TCP or UDP checksum. */
    public boolean checksumVerified(int index) {
        return checksumsVerified[index];
    }

    /** Empties the burst; the frames' references are not touched. */
    public void clear() {
        for (int i = 0; i < size; i++) {
            frames[i] = null;
        }
        size = 0;
    }

    void add(ByteBuf frame, int flowTag, boolean checksumVerified) {
        int index = size++;
        frames[index] = frame;
        flowTags[index] = flowTag;
        checksumsVerified[index] = checksumVerified;
    }
}
