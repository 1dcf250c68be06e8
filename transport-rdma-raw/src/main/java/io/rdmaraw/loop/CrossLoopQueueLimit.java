package io.rdmaraw.loop;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Limits the frames that are queued for a loop other than the one they came to. They hold memory until that loop takes
 * them, so a loop that is behind gets no more, like a full receive queue. It is no {@link TokenBucket}: it limits how
 * many there are, not how many come in a time. Thread-safe.
 */
public final class CrossLoopQueueLimit {
    /** Sixteen bursts: about what a receive queue holds. */
    public static final int MAX_FRAMES = 1024;

    private final AtomicInteger frames = new AtomicInteger();

    /** Reserves places; returns false if fewer are free. */
    public boolean take(int count) {
        if (frames.addAndGet(count) <= MAX_FRAMES) {
            return true;
        }
        frames.addAndGet(-count);
        return false;
    }

    /** Frees places: the other loop has taken the frames, or they were dropped. */
    public void giveBack(int count) {
        frames.addAndGet(-count);
    }
}
