package io.rdmaraw.tools.pktgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of the pace in virtual time. */
class PaceTest {
    private static final long SECOND = 1_000_000_000L;

    /**
     * Sends as many frames as the pace permits. Each call of the simulated loop is late by a random time below a limit.
     * Returns the sum of units.
     */
    private static double unitsSent(TrafficRate rate, long durationNanos, long latestNanos, long seed) {
        Random random = new Random(seed);
        Pace pace = rate.pace(0);
        double units = 0;
        int frame = 0;
        for (long now = 0; now < durationNanos; now += pace.nanosUntilNext(now) + 1 + random.nextLong(latestNanos)) {
            for (int i = 0; i < 64; i++, frame++) {
                int frameBytes = FrameSet.IMIX[frame % FrameSet.IMIX.length];
                if (!pace.maySend(now, frameBytes)) {
                    break;
                }
                pace.recordSent(frameBytes);
                units += rate.unitsOf(frameBytes);
            }
        }
        return units;
    }

    @ParameterizedTest
    @CsvSource({"1000,40ms", "1Mpps,20us", "14.88Mpps,2us", "1Gbit,50us", "10Gbit,5us", "300k,100us"})
    void theRateIsHeldWithinOnePercentHoweverLateSingleCallsAre(String text, String late) {
        TrafficRate rate = TrafficRate.parse(text);
        long latestNanos = late.endsWith("ms") ? 1_000_000L * Integer.parseInt(late.replace("ms", ""))
                : 1_000L * Integer.parseInt(late.replace("us", ""));
        for (long seed = 1; seed <= 3; seed++) {
            double expected = rate.perSecond() * 10;
            assertEquals(expected, unitsSent(rate, 10 * SECOND, latestNanos, seed), expected * 0.01, text + ' ' + seed);
        }
    }

    @Test
    void aLongStopIsNotAnsweredWithAFlood() {
        Pace pace = TrafficRate.parse("1Mpps").pace(0);
        long now = 60 * SECOND;
        assertEquals(RatePace.MAX_BURST_NANOS / 1000 + 1, sentAt(now, pace));
        long millis = SECOND / 1000;
        long sent = 0;
        for (long each = 1; each <= 2000; each++) {
            int frames = sentAt(now + each * millis, pace);
            assertTrue(frames <= 2001, frames + " frames in a millisecond");
            sent += frames;
        }
        assertEquals(2_000_000 + (RatePace.MAX_LATE_NANOS - RatePace.MAX_BURST_NANOS) / 1000, sent, 3);
    }

    /** After a stall of half a second, as on a busy machine, the pace still reaches the rate over the whole run. */
    @Test
    void aStallIsMadeUpForWithoutABurst() {
        Pace pace = TrafficRate.parse("1Mpps").pace(0);
        long sent = sentAt(0, pace);
        for (long now = SECOND / 2; now <= 2 * SECOND; now += SECOND / 1000) {
            sent += sentAt(now, pace);
        }
        assertEquals(2_000_000, sent, 2);
    }

    private static int sentAt(long now, Pace pace) {
        int sent = 0;
        while (pace.maySend(now, 64)) {
            pace.recordSent(64);
            sent++;
        }
        return sent;
    }

    @ParameterizedTest
    @CsvSource({"5,5,false", "1.5M,1500000,false", "2kpps,2000,false", "10Gbit,1e10,true", "3 Mbit/s,0,x",
            "1e6,1e6,false",
        "100bps,100,true"})
    void ratesAreReadAsUsersWriteThem(String text, double perSecond, String bits) {
        if (bits.equals("x")) {
            assertThrows(IllegalArgumentException.class, () -> TrafficRate.parse(text));
            return;
        }
        assertEquals(new TrafficRate(perSecond, Boolean.parseBoolean(bits)), TrafficRate.parse(text));
    }

    @ParameterizedTest
    @CsvSource({"1000pps,500,1,0.5", "1kpps,1010,100000,1.01", "8kbit,3,2000,2", "0,5,500,0"})
    void achievedRateIsReportedInItsUnit(String rate, long frames, long bytes, double share) {
        assertEquals(share, TrafficRate.parse(rate).reached(frames, bytes, 1), 1e-9);
        assertEquals(share / 4, TrafficRate.parse(rate).reached(frames, bytes, 4), 1e-9);
        assertEquals(0, TrafficRate.parse(rate).reached(frames, bytes, 0));
    }

    @Test
    void aReplayKeepsTheDistancesRoundAfterRound() {
        Pace pace = new ReplayPace(new long[] {100, 400, 350, 1000}, 1, 5000);
        long[] due = {5000, 5300, 5300, 5900, 6200, 6500, 6500, 7100};
        for (long each : due) {
            assertTrue(each == 5300 || !pace.maySend(each - 1, 60), "too early " + each);
            assertTrue(pace.maySend(each, 60), "late " + each);
            assertEquals(0, pace.nanosUntilNext(each));
            pace.recordSent(60);
        }
    }

    @Test
    void aReplayCanBeFaster() {
        Pace pace = new ReplayPace(new long[] {0, 1000}, 4, 0);
        pace.recordSent(60);
        assertEquals(250, pace.nanosUntilNext(0));
        assertFalse(pace.maySend(249, 60));
        assertTrue(pace.maySend(250, 60));
    }
}
