package io.rdmaraw.host;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Runs in virtual time that begins just before the clock overflows. */
class SnapshotRateLimiterTest {
    private static final long COST_NANOS = 1_000_000;

    private long now = Long.MAX_VALUE - 2 * COST_NANOS;
    private final SnapshotRateLimiter budget = new SnapshotRateLimiter(now);

    @Test
    void fewSnapshotsAreAllowedAtOnce() {
        for (int i = 0; i < SnapshotRateLimiter.BURST_NANOS / COST_NANOS; i++) {
            assertTrue(budget.allows(now), "number " + i);
            spend();
        }
        spend();
        assertFalse(budget.allows(now));
    }

    private void spend() {
        now += COST_NANOS;
        budget.recordSpent(COST_NANOS);
    }

    @Test
    void floodOfChangesUsesTenthOfTime() {
        long start = now;
        long spentNanos = 0;
        while (now - start < 10_000_000_000L) {
            if (budget.allows(now)) {
                spend();
                spentNanos += COST_NANOS;
            } else {
                assertTrue(budget.dueNanos() - now > 0, "it says when to come again");
                now = budget.dueNanos();
                assertTrue(budget.allows(now), "and keeps its word");
            }
        }
        assertEquals(0.1, (double) spentNanos / (now - start), 0.01);
    }
}
