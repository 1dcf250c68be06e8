package io.rdmaraw.tools.perf;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Uses virtual time with an arbitrary origin, like the system clock. */
class IdleEndTest {
    private static final long START_NANOS = 5_000_000_000_000L;

    private final IdleEnd end = new IdleEnd();

    @Test
    void nothingIsOverBeforeSomethingHasComeOrTheSenderHasEnded() {
        assertFalse(end.isOver(START_NANOS, false));
        assertFalse(end.isOver(START_NANOS + 100 * IdleEnd.IDLE_NANOS, false));
    }

    /** If the sender ends before the first frame arrives, the wait starts when that end is noticed. */
    @Test
    void anEndWithoutAFrameCountsFromWhenItIsSeen() {
        assertFalse(end.isOver(START_NANOS, false));
        assertFalse(end.isOver(START_NANOS + 1, true));
        assertFalse(end.isOver(START_NANOS + IdleEnd.IDLE_AT_END_NANOS, true));
        assertTrue(end.isOver(START_NANOS + 2 + IdleEnd.IDLE_AT_END_NANOS, true));
    }

    @Test
    void arrivingFramesKeepItRunning() {
        for (int i = 0; i < 10; i++) {
            long now = START_NANOS + i * IdleEnd.IDLE_NANOS;
            end.received(now);
            assertFalse(end.isOver(now + IdleEnd.IDLE_NANOS, false));
            assertTrue(end.isOver(now + IdleEnd.IDLE_NANOS + 1, false));
        }
    }

    /** The sender pauses, sends its last frames and ends, all before the receiver polls again. */
    @Test
    void framesBeforeTheEndArePolledHoweverLongTheSenderHasPaused() {
        long late = START_NANOS + IdleEnd.IDLE_NANOS;
        end.received(START_NANOS);
        assertFalse(end.isOver(late, true));
        end.received(late + 1);
        assertFalse(end.isOver(late + 1 + IdleEnd.IDLE_AT_END_NANOS, true));
        assertTrue(end.isOver(late + 2 + IdleEnd.IDLE_AT_END_NANOS, true));
    }
}
