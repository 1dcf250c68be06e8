package io.rdmaraw.tcp.stack.receive;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

class LookupRateLimiterTest {
    private static final long SECOND = 1_000_000_000L;

    private final LookupRateLimiter limit = new LookupRateLimiter();

    private int begun(boolean settling, int wanted, long intervalNanos, boolean answered) {
        int begun = 0;
        for (int i = 0; i < wanted; i++) {
            if (limit.begin(settling, SECOND + i * intervalNanos)) {
                begun++;
                if (answered) {
                    limit.end();
                }
            }
        }
        return begun;
    }

    /**
     * Long after the last change of the loops: a million unmatched segments per second, each search answered at once.
     */
    @Test
    void searchesForUnknownSegmentsAreLimited() {
        assertEquals(256 + 8_000, begun(false, 1_000_000, 1_000, true), 1);
    }

    @Test
    void afterChangeOnlyPendingSearchesAreLimited() {
        assertEquals(10_000, begun(true, 10_000, 1_000, true));
        assertEquals(256, begun(true, 10_000, 1_000, false));
        assertFalse(limit.begin(true, 2 * SECOND));
        limit.end();
        assertTrue(limit.begin(true, 2 * SECOND));
    }
}
