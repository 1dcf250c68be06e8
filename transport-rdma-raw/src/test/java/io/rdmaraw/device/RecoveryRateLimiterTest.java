package io.rdmaraw.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class RecoveryRateLimiterTest {
    private static final long START = Long.MAX_VALUE - 5;

    private final RecoveryRateLimiter pace = new RecoveryRateLimiter(START);

    @Test
    void failingQueueIsRecoveredOncePerIntervalAfterABurst() {
        for (int i = 0; i < RecoveryRateLimiter.BURST; i++) {
            assertEquals(0, pace.acquire(START));
        }
        assertEquals(RecoveryRateLimiter.INTERVAL_NANOS, pace.acquire(START));
        assertEquals(1, pace.acquire(START + RecoveryRateLimiter.INTERVAL_NANOS - 1));
        long now = START;
        for (int i = 0; i < 50; i++) {
            now += RecoveryRateLimiter.INTERVAL_NANOS;
            assertEquals(0, pace.acquire(now));
            assertTrue(pace.acquire(now) > 0);
        }
    }

    @Test
    void burstIsRestoredWithoutFailures() {
        for (int i = 0; i < RecoveryRateLimiter.BURST; i++) {
            pace.acquire(START);
        }
        long later = START + 1000 * RecoveryRateLimiter.INTERVAL_NANOS;
        for (int i = 0; i < RecoveryRateLimiter.BURST; i++) {
            assertEquals(0, pace.acquire(later));
        }
        assertTrue(pace.acquire(later) > 0);
    }

    @Test
    void firstFailureIsLoggedAtOnceAndLaterOnesSummarised() {
        String first = pace.report(START, 3);
        assertTrue(first.contains("failed and was recovered") && first.contains("3 frames"), first);
        for (int i = 0; i < 20; i++) {
            assertNull(pace.report(START + i, 2));
        }
        String sum = pace.report(START + RecoveryRateLimiter.LOG_INTERVAL_NANOS, 1);
        assertNotNull(sum);
        assertTrue(sum.contains("21 times") && sum.contains("41 frames"), sum);
    }
}
