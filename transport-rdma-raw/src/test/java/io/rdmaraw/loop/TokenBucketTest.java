package io.rdmaraw.loop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TokenBucketTest {
    private static final long MILLI = 1_000_000;
    private static final int TOKENS = 256;
    private static final int TOKENS_PER_MILLI = 8;

    private final TokenBucket bucket = new TokenBucket(TOKENS, MILLI / TOKENS_PER_MILLI);

    private long takes(int attempts, long nowNanos) {
        return IntStream.range(0, attempts).filter(i -> bucket.acquire(nowNanos) == 0).count();
    }

    @ParameterizedTest
    @ValueSource(longs = {0, Long.MAX_VALUE - 5 * MILLI, Long.MIN_VALUE, -1})
    void aFloodGetsItsShareAndNoMore(long start) {
        assertEquals(TOKENS, takes(10_000, start));
        for (int milli = 1; milli <= 100; milli++) {
            assertEquals(TOKENS_PER_MILLI, takes(1000, start + milli * MILLI),
                    "milli " + milli);
        }
    }

    @Test
    void unusedTokensAccumulateUpToTheCapacity() {
        for (int milli = 0; milli < 1000; milli++) {
            assertEquals(0, bucket.acquire(milli * MILLI));
        }
        assertEquals(TOKENS, takes(10_000, 3_600_000 * MILLI));
    }

    @Test
    void severalTokensCanBeTakenIfOneIsAvailable() {
        assertEquals(TOKENS - 1, takes(TOKENS - 1, 0));
        assertEquals(0, bucket.acquire(3, 0));
        assertEquals(3 * MILLI / TOKENS_PER_MILLI, bucket.acquire(0));
        assertEquals(1, bucket.acquire(3 * MILLI / TOKENS_PER_MILLI - 1));
        assertEquals(0, bucket.acquire(3 * MILLI / TOKENS_PER_MILLI));
    }
}
