package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StrayBudgetTest {
    private static final long MILLI = 1_000_000;

    private static long takes(StrayBudget budget, int attempts, long nowNanos) {
        return IntStream.range(0, attempts).filter(i -> budget.take(nowNanos)).count();
    }

    @ParameterizedTest
    @ValueSource(longs = {0, Long.MAX_VALUE - 5 * MILLI, Long.MIN_VALUE, -1})
    void aFloodGetsItsShareAndNoMore(long start) {
        StrayBudget budget = new StrayBudget();
        assertEquals(StrayBudget.MAX_TOKENS, takes(budget, 10_000, start));
        for (int milli = 1; milli <= 100; milli++) {
            assertEquals(StrayBudget.TOKENS_PER_MILLI, takes(budget, 1000, start + milli * MILLI), "milli " + milli);
        }
    }

    @Test
    void whatIsNotUsedIsSavedUpToABound() {
        StrayBudget budget = new StrayBudget();
        for (int milli = 0; milli < 1000; milli++) {
            assertTrue(budget.take(milli * MILLI));
        }
        assertEquals(StrayBudget.MAX_TOKENS, takes(budget, 10_000, 3_600_000 * MILLI));
    }
}
