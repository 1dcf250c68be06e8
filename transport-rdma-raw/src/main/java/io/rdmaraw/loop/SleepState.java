package io.rdmaraw.loop;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The sleep state of a loop, which determines whether a waker must signal the loop. The loop announces its
 * sleep and then checks once more for work before it blocks. Other threads publish work and then call
 * {@link #wake}.
 *
 * <p>All accesses to the state are sequentially consistent. So at least one side sees the other: the loop sees
 * the work, or the other thread sees that it must signal the loop. The last store that publishes the work must
 * also be sequentially consistent, or a compare-and-set, as in Netty's task queues.
 */
final class SleepState {
    private static final int AWAKE = 0;
    private static final int WOKEN = 1;
    /** The loop blocks in a wait for descriptors. */
    static final int BLOCKED = 2;
    /** The loop blocks in a selector. */
    static final int BLOCKED_IN_SELECTOR = 3;
    private static final int CLOSED = 4;

    private final AtomicInteger state = new AtomicInteger(AWAKE);

    /** Returns whether a wake-up has arrived since the last {@link #clearWoken()}. */
    boolean isWoken() {
        return state.get() == WOKEN;
    }

    void clearWoken() {
        state.compareAndSet(WOKEN, AWAKE);
    }

    /**
     * Announces that the loop is about to block. If a wake-up has arrived, clears it and returns false. Loop
     * only.
     *
     * @param blockedState {@link #BLOCKED} or {@link #BLOCKED_IN_SELECTOR}
     */
    boolean beginBlocking(int blockedState) {
        if (state.compareAndSet(AWAKE, blockedState)) {
            return true;
        }
        clearWoken();
        return false;
    }

    /** Ends the announced block. Returns whether a wake-up has arrived since {@link #beginBlocking}. Loop only. */
    boolean endBlocking() {
        return state.getAndSet(AWAKE) == WOKEN;
    }

    /**
     * Wakes the loop. May be called on any thread.
     *
     * @return {@link #BLOCKED} or {@link #BLOCKED_IN_SELECTOR} if the caller must signal the loop, otherwise
     *         another value
     */
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

    /** Closes the state. From now on, {@link #wake} never requires its caller to signal. */
    void close() {
        state.set(CLOSED);
    }
}
