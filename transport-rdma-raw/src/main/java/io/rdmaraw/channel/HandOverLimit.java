package io.rdmaraw.channel;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * How many frames may be on their way to a loop that is not the one they came to. They lie in memory until it takes
 * them, so a loop that is behind gets no more, as a receive queue that is full takes no more. Thread-safe.
 */
final class HandOverLimit {
    /** Sixteen bursts: about what a receive queue holds. */
    static final int MAX_FRAMES = 1024;

    private final AtomicInteger frames = new AtomicInteger();

    /** Takes places; false if there are not as many. */
    boolean take(int count) {
        if (frames.addAndGet(count) <= MAX_FRAMES) {
            return true;
        }
        frames.addAndGet(-count);
        return false;
    }

    /** Gives places back: the frames have arrived, or never will. */
    void giveBack(int count) {
        frames.addAndGet(-count);
    }
}
