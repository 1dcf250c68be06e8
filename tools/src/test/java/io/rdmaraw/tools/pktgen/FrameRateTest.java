package io.rdmaraw.tools.pktgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** In virtual time. */
class FrameRateTest {
    private static final long SECOND = 1_000_000_000L;

    @Test
    void holdsTheRate() {
        FrameRate rate = new FrameRate(1_000_000, 64, 0);
        long sent = 0;
        for (long now = 0; now < SECOND; now += 7_777) {
            int frames = rate.available(now);
            rate.take(frames);
            sent += frames;
        }
        assertEquals(1_000_000, sent, 100);
    }

    @Test
    void afterAPauseItSendsOneBurst() {
        FrameRate rate = new FrameRate(1000, 64, 0);
        rate.take(rate.available(0));
        assertEquals(64, rate.available(100 * SECOND));
    }

    @Test
    void tellsWhenTheNextFrameIsDue() {
        FrameRate rate = new FrameRate(1000, 1, 0);
        assertEquals(0, rate.nanosUntilNext());
        rate.take(rate.available(0));
        assertEquals(1_000_000, rate.nanosUntilNext());
        assertEquals(0, rate.available(999_999));
        assertTrue(rate.nanosUntilNext() <= 2);
        assertEquals(1, rate.available(1_000_001));
    }

    @Test
    void withoutALimitThereIsAlwaysABurst() {
        FrameRate rate = new FrameRate(0, 64, 0);
        for (int i = 0; i < 10; i++) {
            assertEquals(64, rate.available(0));
            rate.take(64);
        }
        assertEquals(0, rate.nanosUntilNext());
    }
}
