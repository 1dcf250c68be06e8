package io.rdmaraw.channel;

/** Free bursts of one loop. Bursts released on another thread are not reused. */
final class FrameBurstPool {
    private static final int MAX_FREE = 64;

    private final FrameBurst[] free = new FrameBurst[MAX_FREE];
    private volatile Thread owner;
    private int freeCount;

    void ownedBy(Thread thread) {
        owner = thread;
    }

    FrameBurst take() {
        return freeCount == 0 ? new FrameBurst(this) : free[--freeCount].open();
    }

    void giveBack(FrameBurst burst) {
        if (Thread.currentThread() == owner && freeCount < MAX_FREE) {
            free[freeCount++] = burst;
        }
    }
}
