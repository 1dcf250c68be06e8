package io.rdmaraw.loop;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Whether a loop sleeps, and who has to wake it. It announces its sleep, and looks once more for work before it blocks;
 * others make the work visible first and then call {@link #wake}. All accesses of both are sequentially consistent, so
 * that at least one of them sees the other: the loop the work, or the other one a loop that has to be signalled. The
 * work's own last store must be so too, or a compare-and-set, as that of Netty's task queues is.
 */
final class SleepState {
    private static final int AWAKE = 0;
    private static final int WOKEN = 1;
    /** The loop waits for descriptors. */
    static final int BLOCKED = 2;
    /** The loop waits in a selector. */
    static final int BLOCKED_IN_SELECTOR = 3;
    private static final int CLOSED = 4;

    private final AtomicInteger state = new AtomicInteger(AWAKE);

    /** Tells whether a wake-up has come since the last call of {@link #clearWoken()}. */
    boolean isWoken() {
        return state.get() == WOKEN;
    }

    void clearWoken() {
        state.compareAndSet(WOKEN, AWAKE);
    }

    /**
     * Announces that the loop is about to block, unless a wake-up has come, which this clears. Loop only.
     *
     * @param how {@link #BLOCKED} or {@link #BLOCKED_IN_SELECTOR}
     */
    boolean announce(int how) {
        if (state.compareAndSet(AWAKE, how)) {
            return true;
        }
        clearWoken();
        return false;
    }

    /** The loop blocks no more. Returns whether a wake-up has come since {@link #announce}. Loop only. */
    boolean awake() {
        return state.getAndSet(AWAKE) == WOKEN;
    }

    /** Wakes the loop. Returns how it blocks, if the caller has to signal that it should not; else 0. Any thread. */
    int wake() {
        int before = state.get();
        while (before != WOKEN && before != CLOSED) {
            if (state.compareAndSet(before, WOKEN)) {
                return before;
            }
            before = state.get();
        }
        return AWAKE;
    }

    /** From now on no thread is told to signal. */
    void close() {
        state.set(CLOSED);
    }
}
