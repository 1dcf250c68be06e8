package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.util.AbstractReferenceCounted;
import io.netty.util.ReferenceCounted;
import io.netty.util.internal.UnstableApi;
import io.rdmaraw.queue.FrameQueue;

/**
 * The frames of one poll as one message, for handlers that process a burst per pipeline traversal instead of a frame.
 *
 * <p>A channel with {@link RdmaRawChannelOption#FRAME_BURSTS} fires bursts. A burst that is written to an
 * {@link RdmaRawChannel} is sent frame by frame, in order:
 *
 * {@snippet :
 * FrameBurst burst = new FrameBurst().add(first).add(second);
 * channel.writeAndFlush(burst);
 * }
 *
 * <p>The burst owns one reference of each frame. Releasing the burst releases the frames that it still contains. Not
 * thread-safe. A burst that a channel fired may be used only on that channel's loop.
 */
@UnstableApi
public final class FrameBurst extends AbstractReferenceCounted {
    /** Maximum number of frames in a burst. */
    public static final int MAX_FRAMES = FrameQueue.MAX_BURST_FRAMES;

    private final ByteBuf[] frames = new ByteBuf[MAX_FRAMES];
    private final Pool pool;
    private int first;
    private int end;

    /** Creates an empty burst. Bursts that channels fire come from a pool of their loop. */
    public FrameBurst() {
        this(null);
    }

    FrameBurst(Pool pool) {
        this.pool = pool;
    }

    /** Returns the number of frames. */
    public int size() {
        return end - first;
    }

    /** Returns whether the burst is full. */
    public boolean isFull() {
        return end == MAX_FRAMES;
    }

    /**
     * Returns a frame. The burst keeps its reference.
     *
     * @throws IndexOutOfBoundsException if there is no such frame
     */
    public ByteBuf frame(int index) {
        if (index < 0 || index >= size()) {
            throw new IndexOutOfBoundsException("frame " + index + " of a burst of " + size());
        }
        return frames[first + index];
    }

    /**
     * Adds a frame at the end. The burst takes over its reference.
     *
     * @throws IllegalStateException if the burst is full
     */
    public FrameBurst add(ByteBuf frame) {
        if (isFull()) {
            throw new IllegalStateException("a burst holds at most " + MAX_FRAMES
                    + " frames; write it and begin another");
        }
        frames[end++] = frame;
        return this;
    }

    /** Removes and returns the first frame. The caller takes over its reference. */
    ByteBuf removeFirst() {
        ByteBuf frame = frames[first];
        frames[first++] = null;
        return frame;
    }

    /** Returns the total number of bytes of all frames. */
    long readableBytes() {
        long bytes = 0;
        for (int i = first; i < end; i++) {
            bytes += frames[i].readableBytes();
        }
        return bytes;
    }

    FrameBurst reuse() {
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
        if (pool != null) {
            pool.release(this);
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

    /**
     * A pool of {@link FrameBurst} objects, which saves an allocation per burst. Each loop has one. The pool keeps at
     * most {@value #MAX_FREE} free bursts. Further ones, and bursts released on another thread, are left to the garbage
     * collector.
     */
    static final class Pool {
        private static final int MAX_FREE = 64;

        private final FrameBurst[] free = new FrameBurst[MAX_FREE];
        private volatile Thread owner;
        private int freeCount;

        void setOwner(Thread thread) {
            owner = thread;
        }

        FrameBurst acquire() {
            return freeCount == 0 ? new FrameBurst(this) : free[--freeCount].reuse();
        }

        void release(FrameBurst burst) {
            if (Thread.currentThread() == owner && freeCount < MAX_FREE) {
                free[freeCount++] = burst;
            }
        }
    }
}
