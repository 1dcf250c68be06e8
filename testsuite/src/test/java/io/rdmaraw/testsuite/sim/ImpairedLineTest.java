package io.rdmaraw.testsuite.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class ImpairedLineTest {
    private static final int FRAMES = 100_000;

    @Test
    void framesLeaveInSequenceAtTheRate() {
        ImpairedLine line = new ImpairedLine(Impairment.NONE.rate(8_000_000, 10_000).delay(Duration.ofMillis(3)), 1);
        assertEquals(4_000_000, line.arrivalNanos(1000, 0));
        assertEquals(5_000_000, line.arrivalNanos(1000, 500_000));
        assertEquals(24_000_000, line.arrivalNanos(1000, 20_000_000));
    }

    @Test
    void fullBufferDropsFrames() {
        ImpairedLine line = new ImpairedLine(Impairment.NONE.rate(8_000_000, 10_000), 1);
        for (int i = 0; i < 10; i++) {
            assertTrue(line.arrivalNanos(1000, 0) > 0);
        }
        assertEquals(ImpairedLine.OVERFLOWED, line.arrivalNanos(1000, 0));
        assertTrue(line.arrivalNanos(1000, 1_000_000) > 0, "one has left meanwhile");
    }

    @Test
    void lossRateIsRespectedAndJitterKeepsOrder() {
        ImpairedLine line = new ImpairedLine(Impairment.NONE.loss(0.01).jitter(Duration.ofMillis(2)), 3);
        int lost = 0;
        long last = 0;
        long longest = 0;
        for (int i = 0; i < FRAMES; i++) {
            long arrival = line.arrivalNanos(100, i * 1000L);
            if (arrival == ImpairedLine.LOST) {
                lost++;
                continue;
            }
            assertTrue(arrival >= last);
            last = arrival;
            longest = Math.max(longest, arrival - i * 1000L);
        }
        assertTrue(lost > 800 && lost < 1200, lost + " lost");
        assertTrue(longest > 1_900_000 && longest <= 2_000_000, longest + " ns");
    }

    @Test
    void reorderedFramesAreDelayedByAtMostTheLimit() {
        ImpairedLine line = new ImpairedLine(Impairment.NONE.reorder(0.1, Duration.ofMillis(1)), 3);
        int late = 0;
        for (int i = 0; i < FRAMES; i++) {
            long extra = line.arrivalNanos(100, i * 1000L) - i * 1000L;
            assertTrue(extra <= 1_000_000);
            late += extra > 0 ? 1 : 0;
        }
        assertTrue(late > 9_500 && late < 10_500, late + " held back");
    }

    @Test
    void overtakingFramesAreNotDelayedAndOthersKeepTheirOrder() {
        ImpairedLine line = new ImpairedLine(Impairment.NONE.delay(Duration.ofMillis(5)).overtake(0.25), 3);
        int early = 0;
        for (int i = 0; i < FRAMES; i++) {
            long delay = line.arrivalNanos(100, i * 1000L) - i * 1000L;
            assertTrue(delay == 0 || delay == 5_000_000, delay + " ns");
            early += delay == 0 ? 1 : 0;
        }
        assertTrue(early > 24_000 && early < 26_000, early + " early");
    }

    @Test
    void parsedTextEqualsBuiltImpairment() {
        Impairment built = Impairment.NONE.rate(1_000_000_000, 256_000).delay(Duration.ofMillis(10))
                .jitter(Duration.ofNanos(500_000)).loss(0.001).reorder(0.01, Duration.ofMillis(2))
                .overtake(0.25);
        assertEquals(built, Impairment
                .parse("rate=1G,buffer=256K,delay=10ms,jitter=0.5ms,loss=0.1%,reorder=1%/2ms,overtake=25%"));
        assertEquals(Impairment.NONE, Impairment.parse(""));
        for (String wrong : new String[] {"rate", "rate=x", "delay=10", "reorder=1%", "loss=200%", "speed=1"}) {
            assertThrows(IllegalArgumentException.class, () -> Impairment.parse(wrong), wrong);
        }
    }
}
