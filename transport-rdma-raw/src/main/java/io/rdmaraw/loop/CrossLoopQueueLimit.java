package io.rdmaraw.loop;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Limits the number of frames queued for another loop than the one that received them. Queued frames occupy
 * memory until the other loop takes them. A loop that is behind thus gets no more frames, as with a full
 * receive queue. Thread-safe.
 */
public final class CrossLoopQueueLimit {
    /** The limit: sixteen bursts, about the size of a receive queue. */
    public static final int MAX_FRAMES = 1024;

    private final AtomicInteger frames = new AtomicInteger();

    /** Reserves room for frames. Returns false if fewer are free. */
    public boolean tryAcquire(int count) {
        if (frames.addAndGet(count) <= MAX_FRAMES) {
            return true;
        }
        frames.addAndGet(-count);
        return false;
    }

    /** Releases the room after the other loop has taken the frames, or after they were dropped. */
    public void release(int count) {
        frames.addAndGet(-count);
    }
}
