package io.rdmaraw.tcp.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.congestion.Bbr.State;
import org.junit.jupiter.api.Test;

/** BBR's reaction to samples of a path: draft-ietf-ccwg-bbr section 5.3, one round at a time. */
class BbrTest {
    private static final int MSS = 1_000;
    private static final long MILLI = 1_000_000L;
    private static final long RTT = 10 * MILLI;
    /** Bytes per second; 100,000 bytes per round trip. */
    private static final long BANDWIDTH = 10_000_000;
    private static final int PRODUCT = 100_000;

    private final Bbr bbr = new Bbr();
    private final RateSample sample = new RateSample();
    private final LostSegment lost = new LostSegment();
    private long now = 1_000 * MILLI;
    private long delivered;
    private boolean appLimited;
    private int cwnd = 10 * MSS;

    private final CongestionWindow window = new CongestionWindow() {
        @Override
        public int congestionWindowBytes() {
            return cwnd;
        }

        @Override
        public int slowStartThresholdBytes() {
            return CongestionControl.UNBOUNDED;
        }

        @Override
        public int segmentBytes() {
            return MSS;
        }

        @Override
        public long smoothedRttNanos() {
            return RTT;
        }

        @Override
        public boolean alternativeBackoff() {
            return true;
        }

        @Override
        public void endSlowStart() {
            throw new AssertionError("BBR has no slow start");
        }
    };

    /** Simulates a round trip in which data arrives at {@code rate}. */
    private void round(long rate, long inFlight) {
        round(rate, inFlight, RTT);
    }

    private void round(long rate, long inFlight, long rtt) {
        now += RTT;
        sample.reset();
        sample.priorDeliveredBytes = delivered;
        long brought = BbrModel.bytes(rate, RTT);
        sample.newlyDeliveredBytes = brought;
        sample.deliveredBytes = brought;
        sample.flightAtSendBytes = inFlight;
        delivered += brought;
        sample.totalDeliveredBytes = delivered;
        sample.deliveryRate = rate;
        sample.rttNanos = rtt;
        sample.appLimited = appLimited;
        sample.inFlightBytes = inFlight;
        sample.selectiveAcks = true;
        cwnd = bbr.onRateSample(window, sample, now);
    }

    private void lose(long flightAtSend, long lostSinceSent) {
        lost.startSeq += 2 * MSS;
        lost.lengthBytes = MSS;
        lost.flightAtSendBytes = flightAtSend;
        lost.lostSinceSentBytes = lostSinceSent;
        lost.appLimited = false;
        lost.totalDeliveredBytes = delivered;
        lost.selectiveAcks = true;
        bbr.onSegmentLost(window, lost, now);
    }

    private void untilBandwidthIsFound() {
        for (long rate = BANDWIDTH / 8; rate < BANDWIDTH; rate *= 2) {
            round(rate, PRODUCT);
            assertEquals(State.STARTUP, bbr.state());
        }
        for (int i = 0; i < 4; i++) {
            round(BANDWIDTH, 2 * PRODUCT);
        }
    }

    private void untilCruising() {
        untilBandwidthIsFound();
        round(BANDWIDTH, PRODUCT);
        round(BANDWIDTH, PRODUCT);
        assertEquals(State.PROBE_CRUISE, bbr.state());
    }

    private void untilProbing() {
        untilCruising();
        for (int i = 0; i < 100 && bbr.state() != State.PROBE_UP; i++) {
            round(BANDWIDTH, PRODUCT);
        }
        assertEquals(State.PROBE_UP, bbr.state());
    }

    @Test
    void startupEndsAfterThreeRoundsWithoutGrowth() {
        untilBandwidthIsFound();
        assertEquals(State.DRAIN, bbr.state());
        assertEquals(0.5 * BANDWIDTH * 0.99, bbr.pacingRate(), BANDWIDTH * 0.01);
    }

    @Test
    void startupContinuesWhileApplicationLimited() {
        appLimited = true;
        for (int i = 0; i < 10; i++) {
            round(BANDWIDTH, PRODUCT);
        }
        assertEquals(State.STARTUP, bbr.state());
    }

    @Test
    void drainEndsWhenQueueIsEmpty() {
        untilBandwidthIsFound();
        round(BANDWIDTH, 2 * PRODUCT);
        assertEquals(State.DRAIN, bbr.state());
        round(BANDWIDTH, PRODUCT);
        assertTrue(bbr.isProbeBw(), bbr.state().toString());
    }

    @Test
    void drainEndsAfterThreeRounds() {
        untilBandwidthIsFound();
        for (int i = 0; i < 4; i++) {
            round(BANDWIDTH, 2 * PRODUCT);
        }
        assertTrue(bbr.isProbeBw(), bbr.state().toString());
    }

    @Test
    void windowIsTwoProductsWhileCruising() {
        untilCruising();
        for (int i = 0; i < 12; i++) {
            round(BANDWIDTH, PRODUCT);
        }
        assertTrue(cwnd >= 2 * PRODUCT - MSS && cwnd <= 3 * PRODUCT, cwnd + " bytes");
        assertEquals(BANDWIDTH * 0.99, bbr.pacingRate(), BANDWIDTH * 0.01);
    }

    @Test
    void probesAfterRenoRounds() {
        untilProbing();
        assertEquals(1.25 * BANDWIDTH * 0.99, bbr.pacingRate(), BANDWIDTH * 0.01);
        // The bandwidth does not grow, so the plateau ends the probe.
        for (int i = 0; i < 4; i++) {
            round(BANDWIDTH, 5 * PRODUCT / 4);
        }
        assertEquals(State.PROBE_DOWN, bbr.state());
    }

    @Test
    void highLossEndsProbeAndLimitsInflight() {
        untilProbing();
        lose(5 * PRODUCT / 4, MSS);
        assertEquals(State.PROBE_UP, bbr.state(), "less than 2 % is lost");
        lose(5 * PRODUCT / 4, 4 * MSS);
        assertEquals(State.PROBE_DOWN, bbr.state());
        assertTrue(bbr.bounds.inflightLongTerm <= 5 * PRODUCT / 4, bbr.bounds.inflightLongTerm + " bytes");
        assertTrue(bbr.bounds.inflightLongTerm >= PRODUCT, bbr.bounds.inflightLongTerm + " bytes");
        round(BANDWIDTH, PRODUCT);
        assertTrue(cwnd <= bbr.bounds.inflightLongTerm, cwnd + " bytes");
    }

    @Test
    void spuriousLossReturnsToProbe() {
        untilProbing();
        lose(5 * PRODUCT / 4, 4 * MSS);
        bbr.onCongestion(window, 5 * PRODUCT / 4, now);
        bbr.onUndo();
        bbr.onRecoveryEnd();
        assertEquals(State.PROBE_REFILL, bbr.state());
        assertEquals(BbrBounds.NONE, bbr.bounds.inflightLongTerm);
    }

    /** Draft section 5.5.11: the state is saved when the recovery starts, not again in its later round trips. */
    @Test
    void spuriousRecoveryOfSeveralRoundsRestoresTheBoundsBeforeIt() {
        untilCruising();
        lose(PRODUCT, MSS);
        bbr.onCongestion(window, PRODUCT, now);
        for (int i = 0; i < 4; i++) {
            round(BANDWIDTH / 2, PRODUCT / 2);
            lose(PRODUCT, MSS);
        }
        assertTrue(bbr.bounds.bwShortTerm < BANDWIDTH, bbr.bounds.bwShortTerm + " bytes per second");
        assertTrue(bbr.bounds.inflightShortTerm < BbrBounds.NONE);
        bbr.onUndo();
        bbr.onRecoveryEnd();
        assertEquals(BbrBounds.NONE, bbr.bounds.bwShortTerm);
        assertEquals(BbrBounds.NONE, bbr.bounds.inflightShortTerm);
    }

    @Test
    void lossWhileCruisingSetsShortTermBounds() {
        untilCruising();
        long before = cwnd;
        lose(PRODUCT, MSS);
        round(BANDWIDTH / 2, PRODUCT / 2);
        round(BANDWIDTH / 2, PRODUCT / 2);
        assertTrue(bbr.bounds.inflightShortTerm >= 0.7 * before - 1, bbr.bounds.inflightShortTerm + " bytes");
        assertTrue(cwnd <= bbr.bounds.inflightShortTerm, cwnd + " bytes");
        assertEquals(BbrBounds.NONE, bbr.bounds.inflightLongTerm);
    }

    @Test
    void probeRttReducesWindow() {
        untilCruising();
        long begin = now;
        while (bbr.state() != State.PROBE_RTT) {
            round(BANDWIDTH, PRODUCT, RTT + MILLI);
            assertTrue(now - begin < 6_000 * MILLI, "every five seconds");
        }
        round(BANDWIDTH, PRODUCT, RTT + MILLI);
        assertTrue(cwnd <= PRODUCT / 2 + MSS, cwnd + " bytes");
        begin = now;
        while (bbr.state() == State.PROBE_RTT) {
            round(BANDWIDTH / 2, PRODUCT / 2);
        }
        assertTrue(now - begin >= 200 * MILLI && now - begin <= 240 * MILLI, (now - begin) + " ns");
        assertTrue(cwnd > PRODUCT, "the window is what it was: " + cwnd);
    }

    @Test
    void reducedBandwidthIsAdoptedAfterTwoCycles() {
        untilCruising();
        for (int i = 0; i < 1_000; i++) {
            round(BANDWIDTH / 4, Math.min(cwnd, PRODUCT));
        }
        assertEquals(BANDWIDTH / 4, bbr.model.maxBw());
    }
}
