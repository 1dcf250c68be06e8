package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.util.AbstractReferenceCounted;
import io.netty.util.ReferenceCounted;
import io.netty.util.internal.UnstableApi;
import io.rdmaraw.queue.FrameQueue;

/**
 * The frames of one poll as one message, for handlers that want a pipeline traversal per burst and not per frame.
 *
 * <p>A channel with {@link RdmaRawChannelOption#FRAME_BURSTS} fires these; writing one to a channel sends its frames in
 * order. The burst owns one reference of each frame, and releases what is still in it when it is released itself.
 * Single-threaded, like the loop that made it.
 */
@UnstableApi
public final class FrameBurst extends AbstractReferenceCounted {
    /** The largest number of frames in a burst. */
    public static final int MAX_FRAMES = FrameQueue.BURST_FRAMES;

    private final ByteBuf[] frames = new ByteBuf[MAX_FRAMES];
    private final FrameBurstPool home;
    private int first;
    private int end;

    /** Makes an empty burst. Those that channels fire come from a pool of their loop. */
    public FrameBurst() {
        this(null);
    }

    FrameBurst(FrameBurstPool home) {
        this.home = home;
    }

    /** Returns the number of frames. */
    public int size() {
        return end - first;
    }

    /** Tells whether no further frame fits. */
    public boolean isFull() {
        return end == MAX_FRAMES;
    }

    /** Returns a frame; its reference stays with the burst. */
    public ByteBuf frame(int index) {
        if (index < 0 || index >= size()) {
            throw new IndexOutOfBoundsException("frame " + index + " of a burst of " + size());
        }
        return frames[first + index];
    }

    /**
     * Adds a frame, whose reference passes to the burst.
     *
     * @throws IllegalStateException when the burst is full
     */
    public FrameBurst add(ByteBuf frame) {
        if (isFull()) {
            throw new IllegalStateException("a burst holds at most " + MAX_FRAMES
                    + " frames; write it and begin another");
        }
        frames[end++] = frame;
        return this;
    }

    /** Takes out the first frame with its reference. */
    ByteBuf removeFirst() {
        ByteBuf frame = frames[first];
        frames[first++] = null;
        return frame;
    }

    /** Returns the bytes of all frames. */
    long readableBytes() {
        long bytes = 0;
        for (int i = first; i < end; i++) {
            bytes += frames[i].readableBytes();
        }
        return bytes;
    }

    FrameBurst open() {
        setRefCnt(1);
        return this;
    }

    @Override
    protected void deallocate() {
        for (int i = first; i < end; i++) {
            frames[i].release();
            frames[i] = null;
        }
        first = 0;
        end = 0;
        if (home != null) {
            home.giveBack(this);
        }
    }

    @Override
    public FrameBurst touch(Object hint) {
        for (int i = first; i < end; i++) {
            frames[i].touch(hint);
        }
        return this;
    }

    @Override
    public FrameBurst retain() {
        super.retain();
        return this;
    }

    @Override
    public ReferenceCounted touch() {
        return touch(null);
    }
}
