package io.rdmaraw.channel;

/**
 * A pool of {@link FrameBurst} objects, which saves an allocation per burst. Each loop has one. The pool keeps at most
 * {@value #MAX_FREE} free bursts. Further ones, and bursts released on another thread, are left to the garbage
 * collector.
 */
final class FrameBurstPool {
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
