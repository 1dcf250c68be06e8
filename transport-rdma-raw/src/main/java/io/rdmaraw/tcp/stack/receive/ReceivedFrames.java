package io.rdmaraw.tcp.stack.receive;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.tcp.segment.Segment;

/**
 * The frames of the segment that the engine is processing, and their references. A segment has one frame, or several
 * that were merged. {@link Segment#frames} refers to this object. {@link #end} releases all frames except those that
 * were taken: a frame that is forwarded to another loop, or one with payload that is passed to the user. Used on the
 * loop's thread only.
 */
public final class ReceivedFrames {
    private final ByteBuf[] frames = new ByteBuf[Segment.MAX_SLICES];
    private int count;
    private boolean checksumVerified;

    /** Begins a segment and takes the reference of its frame. */
    public void begin(ByteBuf received, boolean verified) {
        frames[0] = received;
        count = 1;
        checksumVerified = verified;
    }

    /** Adds the next frame of a merged segment and takes its reference. */
    public void add(ByteBuf received) {
        frames[count++] = received;
    }

    public ByteBuf first() {
        return frames[0];
    }

    /** Returns the number of frames. */
    public int count() {
        return count;
    }

    /** Returns a frame. Its readable bytes are the whole frame. */
    public ByteBuf frame(int index) {
        return frames[index];
    }

    /** Returns whether the device has verified the checksums of the frames. */
    public boolean isChecksumVerified() {
        return checksumVerified;
    }

    /** Transfers the reference of a single frame to the caller. */
    public ByteBuf detachFrame() {
        ByteBuf frame = frames[0];
        frames[0] = null;
        return frame;
    }

    /**
     * Returns payload of one frame as a buffer with its own reference. If the frame has no other user, its reference is
     * transferred instead.
     */
    public ByteBuf retainedPayload(int slice, int index, int length) {
        ByteBuf frame = frames[slice];
        if (frame instanceof FrameBuf slot && slot.refCnt() == 1) {
            frames[slice] = null;
            return slot.restrictTo(index, length);
        }
        return frame.retainedSlice(index, length);
    }

    /** Releases the remaining frames when the engine has processed the segment. */
    public void end() {
        for (int i = 0; i < count; i++) {
            ByteBuf frame = frames[i];
            if (frame != null) {
                frames[i] = null;
                frame.release();
            }
        }
        count = 0;
    }
}
