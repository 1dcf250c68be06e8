package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class StrangerLimitTest {
    private static final int FULL = 64;
    private static final int HALF = 32;

    private final StrangerLimit limit = new StrangerLimit();

    private int after(int bursts, int frames) {
        int answers = 0;
        for (int i = 0; i < bursts; i++) {
            answers = limit.after(frames);
        }
        return answers;
    }

    @Test
    void whileTheLoopKeepsUpEveryoneIsAnswered() {
        assertEquals(StrangerLimit.MOST, after(1000, HALF));
        for (int i = 0; i < 1000; i++) {
            assertEquals(StrangerLimit.MOST, after(3, FULL), "a few full bursts follow a late turn");
            assertEquals(StrangerLimit.MOST, after(1, HALF));
        }
    }

    @Test
    void fewAreAnsweredWhileItFallsBehindAndSomeAlways() {
        int first = after(4, FULL);
        assertTrue(first <= FULL / 2, "half of a burst's, not of what no burst brings: " + first);
        assertTrue(after(4, FULL) < first);
        assertEquals(StrangerLimit.LEAST, after(1000, FULL));
        assertTrue(StrangerLimit.LEAST > 0);
    }

    @Test
    void moreAreAnsweredAsSoonAsItCatchesUp() {
        after(1000, FULL);
        assertEquals(2 * StrangerLimit.LEAST, after(1, HALF));
        assertEquals(StrangerLimit.MOST, after(10, HALF));
    }
}
