package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.congestion.Bbr;
import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.CongestionControls;
import io.rdmaraw.tcp.congestion.CongestionWindow;
import io.rdmaraw.tcp.congestion.Cubic;
import io.rdmaraw.tcp.congestion.Dctcp;
import io.rdmaraw.tcp.congestion.NewReno;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Window growth, compared with the formulas of the RFCs. */
class CongestionTest {
    private static final int MSS = 1000;

    /** A sender that always fills its window, simulated one round trip at a time. */
    private static final class Sender implements CongestionWindow {
        final CongestionControl control;
        long rttNanos;
        int cwnd;
        int ssthresh = CongestionControl.UNBOUNDED;
        long now;
        int seq = -5000;
        boolean alternativeBackoff;

        Sender(CongestionControl control, int segments, long rttMillis) {
            this.control = control;
            cwnd = segments * MSS;
            rttNanos = rttMillis * 1_000_000;
        }

        void round() {
            int segments = cwnd / MSS;
            int next = seq + segments * MSS;
            for (int i = 0; i < segments; i++) {
                now += rttNanos / segments;
                control.onRttSample(this, rttNanos, seq + (i + 1) * MSS, next + i * MSS);
                cwnd = control.onAcked(this, MSS, now);
            }
            seq = next;
        }

        void congestion() {
            ssthresh = control.onCongestion(this, cwnd, now);
            cwnd = ssthresh;
        }

        @Override
        public int congestionWindowBytes() {
            return cwnd;
        }

        @Override
        public int slowStartThresholdBytes() {
            return ssthresh;
        }

        @Override
        public int segmentBytes() {
            return MSS;
        }

        @Override
        public long smoothedRttNanos() {
            return rttNanos;
        }

        @Override
        public boolean alternativeBackoff() {
            return alternativeBackoff;
        }

        @Override
        public void endSlowStart() {
            ssthresh = cwnd;
        }
    }

    @Test
    void newRenoDoublesThenAddsOneSegmentPerRoundTrip() {
        Sender s = new Sender(new NewReno(), 10, 50);
        s.round();
        assertEquals(20_000, s.cwnd);
        s.congestion();
        assertEquals(10_000, s.cwnd);
        for (int i = 1; i <= 5; i++) {
            s.round();
            assertEquals(10_000 + i * MSS, s.cwnd, MSS);
        }
    }

    @Test
    void newRenoNeverFallsBelowTwoSegments() {
        assertEquals(2 * MSS, new NewReno().onCongestion(new Sender(null, 1, 1), 1000, 0));
        assertEquals(2 * MSS, new Cubic().onCongestion(new Sender(null, 1, 1), 1000, 0));
    }

    @Test
    void slowStartGrowthPerAckIsLimited() {
        Sender s = new Sender(new NewReno(), 10, 50);
        assertEquals(10_000 + 8 * MSS, s.control.onAcked(s, 100 * MSS, 0));
    }

    @Test
    void cubicReturnsToTheOldWindowAfterKSeconds() {
        // RFC 9438 section 4.2: W_max 1000, beta 0.7, K = cbrt(300 / 0.4) = 9.09 s; RTT 100 ms
        Sender s = new Sender(new Cubic(), 1000, 100);
        s.congestion();
        assertEquals(700_000, s.cwnd);
        long start = s.now;
        while (s.now - start < 4_540_000_000L) {
            s.round();
        }
        // Half way, the curve has 1000 - 0.4 * 4.54^3 = 962 segments.
        assertEquals(962, s.cwnd / MSS, 15);
        while (s.now - start < 9_090_000_000L) {
            s.round();
        }
        assertEquals(1000, s.cwnd / MSS, 10);
        while (s.now - start < 14_090_000_000L) {
            s.round();
        }
        // Convex beyond: 1000 + 0.4 * 5^3 = 1050
        assertEquals(1050, s.cwnd / MSS, 15);
    }

    @Test
    void cubicIsNoSlowerThanRenoOnShortPaths() {
        Sender s = new Sender(new Cubic(), 100, 1);
        s.congestion();
        long start = s.now;
        int rounds = 0;
        while (s.cwnd < 100 * MSS && rounds < 1000) {
            s.round();
            rounds++;
        }
        // RFC 9438 section 4.3: 30 segments at 0.53 per round trip
        assertEquals(57, rounds, 8);
        assertTrue(s.now - start < 100_000_000);
    }

    @Test
    void cubicConvergesFastBelowLastMaximum() {
        Sender s = new Sender(new Cubic(), 1000, 100);
        s.congestion();
        s.congestion();
        assertEquals(490_000, s.cwnd, 1);
        // Fast convergence: W_max is 700 * 0.85 = 595, so K = cbrt(105 / 0.4) = 6.4 s.
        long start = s.now;
        while (s.now - start < 6_400_000_000L) {
            s.round();
        }
        assertEquals(595, s.cwnd / MSS, 10);
    }

    @Test
    void cubicContinuesItsCurveAfterUndo() {
        Sender s = new Sender(new Cubic(), 1000, 100);
        s.congestion();
        for (int i = 0; i < 20; i++) {
            s.round();
        }
        int cwnd = s.cwnd;
        int ssthresh = s.ssthresh;
        s.congestion();
        s.cwnd = cwnd;
        s.ssthresh = ssthresh;
        s.control.onUndo();
        s.round();
        // One step along the old curve, not a new curve from a lower maximum.
        assertTrue(s.cwnd > cwnd && s.cwnd < cwnd * 1.02, cwnd + " to " + s.cwnd);
        while (s.now < 9_200_000_000L) {
            s.round();
        }
        assertEquals(1000, s.cwnd / MSS, 12);
    }

    /** RFC 9438 section 4.3: alpha stays below 1 up to the window before the reduction that was not undone. */
    @Test
    void cubicIsNoFasterThanRenoAfterUndo() {
        Sender s = new Sender(new Cubic(), 100, 1);
        s.congestion();
        while (s.cwnd < 80 * MSS) {
            s.round();
        }
        int cwnd = s.cwnd;
        int ssthresh = s.ssthresh;
        s.congestion();
        s.cwnd = cwnd;
        s.ssthresh = ssthresh;
        s.control.onUndo();
        int rounds = 0;
        while (s.cwnd < 98 * MSS) {
            s.round();
            rounds++;
        }
        // 18 segments at 0.53 per round trip
        assertEquals(34, rounds, 4);
    }

    /** RFC 9438 section 4.8: the window before the timeout no longer describes the path. */
    @Test
    void cubicStartsNewCurveAfterTimeout() {
        Sender s = new Sender(new Cubic(), 1000, 100);
        s.congestion();
        s.control.onTimeout(s.now);
        // Slow start has reached the threshold of 700: K is 0 and W_max 700.
        long start = s.now;
        s.round();
        while (s.now - start < 5_000_000_000L) {
            s.round();
        }
        // 700 + 0.4 * 5^3 = 750, where the curve to the old maximum has 1000 - 0.4 * 4.09^3 = 973
        assertEquals(750, s.cwnd / MSS, 15);

        Sender undone = new Sender(new Cubic(), 1000, 100);
        undone.congestion();
        undone.round();
        undone.control.onCongestion(undone, undone.cwnd, undone.now);
        undone.control.onTimeout(undone.now);
        undone.control.onUndo();
        while (undone.now < 9_200_000_000L) {
            undone.round();
        }
        assertEquals(1000, undone.cwnd / MSS, 12);
    }

    /** The slow start after a timeout may end with a loss, which shows the present capacity of the path. */
    @Test
    void cubicUsesMaximumOfSlowStartAfterTimeout() {
        Sender s = new Sender(new Cubic(), 1000, 100);
        s.congestion();
        s.control.onTimeout(s.now);
        s.cwnd = 1000 * MSS;
        s.congestion();
        long start = s.now;
        while (s.now - start < 5_000_000_000L) {
            s.round();
        }
        assertEquals(973, s.cwnd / MSS, 15);
    }

    /** RFC 6928 section 2: ten segments, but at most 14,600 bytes, and at least two segments. */
    @Test
    void initialWindowIsLimitedInBytes() {
        int[][] mssAndWindow = {{536, 5360}, {1460, 14_600}, {1461, 9 * 1461}, {4000, 3 * 4000}, {8960, 2 * 8960}};
        for (int[] expected : mssAndWindow) {
            Dialogue d = Dialogue.established(Dialogue.plain().mtuBytes(9000),
                    "SA 0 ack 1 win 65535 mss " + expected[0] + " sackOK");
            assertEquals(expected[1], d.c.congestionWindowBytes());
        }
    }

    /** An idle time is reported once, when it ends, regardless of the number of polls. */
    @Test
    void idleTimeIsReportedOnce() {
        List<Long> told = new ArrayList<>();
        NewReno control = new NewReno();
        CongestionControl listening = (CongestionControl) Proxy.newProxyInstance(getClass().getClassLoader(),
                new Class<?>[] {CongestionControl.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("onIdle")) {
                        told.add((long) arguments[0] / 1_000_000);
                    }
                    return method.invoke(control, arguments);
                });
        Dialogue d = Dialogue.established(Dialogue.plain().congestionControl(() -> listening),
                "SA 0 ack 1 win 2000 mss 1000");
        d.send(1000).says("PA 1 len 1000 ack 1").hears("A 1 ack 1001 win 100");
        d.after(3000);
        // The window is too small for the queued data and was larger before, so silly window avoidance waits.
        d.send(1000).saysNothing();
        d.hears("A 1 ack 1001 win 110").saysNothing();
        d.hears("A 1 ack 1001 win 120").saysNothing();
        assertEquals(List.of(), told);
        d.hears("A 1 ack 1001 win 1000").says("PA 1001 len 1000 ack 1");
        assertEquals(List.of(3000L), told);
    }

    /** RFC 8511 section 3. */
    @Test
    void alternativeBackoffReducesLessForMark() {
        for (CongestionControl.Factory factory : List.<CongestionControl.Factory>of(NewReno::new, Cubic::new)) {
            boolean reno = factory.create() instanceof NewReno;
            Sender s = new Sender(factory.create(), 100, 100);
            // As after every reduction, the window equals the threshold.
            s.ssthresh = 100 * MSS;
            assertEquals(reno ? 50_000 : 70_000, s.control.onEcnMark(s, s.cwnd, s.now), "not wanted");
            s.alternativeBackoff = true;
            assertEquals(reno ? 80_000 : 85_000, s.control.onEcnMark(s, s.cwnd, s.now));
            assertEquals(reno ? 80_000 : 85_000, s.control.onEcnMark(s, 0, s.now), "all is acknowledged");
            assertEquals(reno ? 50_000 : 70_000, s.control.onCongestion(s, s.cwnd, s.now), "a loss");
            s.cwnd = 2 * MSS;
            s.ssthresh = 2 * MSS;
            assertEquals(2 * MSS, s.control.onEcnMark(s, s.cwnd, s.now), "no less than two segments");
            s.cwnd = 100 * MSS;
            s.ssthresh = CongestionControl.UNBOUNDED;
            assertEquals(reno ? 50_000 : 70_000, s.control.onEcnMark(s, s.cwnd, s.now), "in slow start");
        }
    }

    /** CUBIC's curve leads from the window after the mark back to the window before it. */
    @Test
    void cubicRecoversSoonerWithAlternativeBackoff() {
        int asLoss = roundsToReturn(false);
        int less = roundsToReturn(true);
        assertTrue(less < asLoss, less + " rounds, and " + asLoss + " as after a loss");
    }

    /** RFC 9438 section 4.7: fast convergence lowers the maximum, independent of the factor used for a mark. */
    @Test
    void cubicConvergesFastAfterMark() {
        Sender s = new Sender(new Cubic(), 400, 100);
        s.alternativeBackoff = true;
        s.ssthresh = 400 * MSS;
        s.cwnd = s.ssthresh = s.control.onEcnMark(s, s.cwnd, s.now);
        s.cwnd = s.ssthresh = s.control.onEcnMark(s, s.cwnd, s.now);
        assertEquals(289_000, s.cwnd);
        // The new maximum is (1 + 0.85) / 2 of 340 segments: K is cbrt((314.5 - 289) / 0.4), 4 s.
        for (int i = 0; i < 40; i++) {
            s.round();
        }
        assertEquals(314_500, s.cwnd, 2 * MSS);
    }

    @Test
    void alternativeBackoffAppliesToConnection() {
        for (boolean wanted : new boolean[]{false, true}) {
            Dialogue d = Dialogue.established(Dialogue.plain().ecn(TcpConfig.EcnMode.ACTIVE)
                    .alternativeBackoff(wanted), "SAE 0 ack 1 mss 1000");
            // Section 3 applies to congestion avoidance; a first mark ends slow start.
            d.send(2000).says("A 1 len 1000 ack 1 ect", "PA 1001 len 1000 ack 1 ect");
            d.after(10).hears("AE 1 ack 2001");
            assertEquals(7000, d.c.congestionWindowBytes());
            d.send(2000).says("AC 2001 len 1000 ack 1 ect", "PA 3001 len 1000 ack 1 ect");
            d.after(10).hears("AE 1 ack 4001");
            assertEquals(wanted ? 5950 : 4900, d.c.congestionWindowBytes(), 1);
        }
    }

    private static int roundsToReturn(boolean alternativeBackoff) {
        Sender s = new Sender(new Cubic(), 400, 100);
        s.alternativeBackoff = alternativeBackoff;
        s.ssthresh = 100 * MSS;
        s.ssthresh = s.control.onEcnMark(s, s.cwnd, s.now);
        s.cwnd = s.ssthresh;
        int rounds = 0;
        while (s.cwnd < 400 * MSS) {
            s.round();
            rounds++;
        }
        return rounds;
    }

    /**
     * RFC 8257 section 3.3: alpha starts at 1 and moves by 1/16 of the difference to the marked share of a
     * window.
     */
    @Test
    void dctcpReducesInProportionToMarks() {
        Sender s = new Sender(new Dctcp(), 100, 1);
        s.ssthresh = 1;
        assertEquals(50_000, s.control.onEcnMark(s, s.cwnd, s.now));
        // DCTCP.WindowEnd is initialized to SND.UNA, so the first ACK ends a window.
        s.control.onMarksEchoed(MSS, 0, s.seq, s.seq + 99 * MSS);
        double alpha = 15.0 / 16;
        assertEquals(100_000 * (1 - alpha / 2), s.control.onEcnMark(s, s.cwnd, s.now), 1);
        for (int round = 0; round < 100; round++) {
            // A tenth of each window is marked.
            for (int i = 1; i <= 100; i++) {
                int acked = s.seq + i * MSS;
                s.control.onMarksEchoed(MSS, i <= 10 ? MSS : 0, acked, s.seq + 199 * MSS);
            }
            s.seq += 100 * MSS;
            alpha += (0.1 - alpha) / 16;
            assertEquals(100_000 * (1 - alpha / 2), s.control.onEcnMark(s, s.cwnd, s.now), 1, "round " + round);
        }
        assertEquals(95_000, s.control.onEcnMark(s, s.cwnd, s.now), 200);
        assertEquals(50_000, s.control.onCongestion(s, s.cwnd, s.now), "section 3.4: a loss halves");
        s.cwnd = 2 * MSS;
        assertEquals(2 * MSS, s.control.onEcnMark(s, s.cwnd, s.now));
    }

    /**
     * RFC 8257 section 3.2: when the mark changes, earlier data is acknowledged with the old flag, then the new
     * data at once.
     */
    @Test
    void dctcpEchoesEachChangeOfMark() {
        Dialogue d = new Dialogue(Dialogue.plain().congestionControl(Dctcp::new)).connect();
        d.says("SEC 0").after(10).hears("SAE 0 ack 1 win 65535 mss 1000 ws 0 sackOK").says("A 1 ack 1");
        d.withoutQuickAcks();
        d.hears("A 1 ack 1 len 100 ect").saysNothing();
        d.hears("A 101 ack 1 len 100 ce").says("A 1 ack 101", "AE 1 ack 201");
        d.hears("A 201 ack 1 len 100 ce").saysNothing();
        d.hears("A 301 ack 1 len 100 ect").says("AE 1 ack 301", "A 1 ack 401");
        d.hears("A 401 ack 1 len 100 ce").hears("A 501 ack 1").says("AE 1 ack 501");
    }

    @Test
    void controlThatCountsMarksOffersEcn() {
        new Dialogue(Dialogue.plain().congestionControl(Dctcp::new).ecn(TcpConfig.EcnMode.OFF)).connect().says("S 0");
        Dialogue d = new Dialogue(Dialogue.plain()).connect();
        d.c.congestionControl("dctcp");
        d.says("SEC 0");
        assertEquals("dctcp", d.c.info().congestionControl());
    }

    @Test
    void algorithmsHaveTheirNames() {
        assertEquals(List.of("bbr", "cubic", "dctcp", "reno"), CongestionControls.names());
        for (String name : CongestionControls.names()) {
            assertEquals(name, CongestionControls.named(name).create().name());
        }
        assertEquals("There is no congestion control named \"vegas\", there are bbr, cubic, dctcp, reno",
                assertThrows(IllegalArgumentException.class, () -> CongestionControls.named("vegas")).getMessage());
    }

    /** BBR has no threshold. The control that replaces it during recovery must not use that as its window. */
    @Test
    void algorithmChangeInRecoveryKeepsWindow() {
        Dialogue d = Dialogue.established(Dialogue.plain().congestionControl(Bbr::new));
        d.send(4000).says("A 1 len 1000 ack 1", "A 1001 len 1000 ack 1", "A 2001 len 1000 ack 1",
                "PA 3001 len 1000 ack 1");
        d.after(10).hears("A 1 ack 1 sack 1001-4001").says("A 1 len 1000 ack 1");
        int window = d.c.congestionWindowBytes();
        d.c.congestionControl("cubic");
        d.after(10).hears("A 1 ack 4001").saysNothing();
        assertTrue(d.c.congestionWindowBytes() <= window, d.c.congestionWindowBytes() + " bytes");
    }

    /**
     * RFC 5682 section 3.1 step 2b: BBR's minimum window is four segments, but a possibly spurious timeout allows
     * two.
     */
    @Test
    void bbrSendsTwoNewSegmentsAfterATimeout() {
        Dialogue d = Dialogue.established(Dialogue.plain().congestionControl(Bbr::new));
        d.send(4000).says("A 1 len 1000 ack 1", "A 1001 len 1000 ack 1", "A 2001 len 1000 ack 1",
                "PA 3001 len 1000 ack 1");
        d.after(24).says("PA 3001 len 1000 ack 1").after(212).says("A 1 len 1000 ack 1");
        d.send(6000).after(10).hears("A 1 ack 1001").says("A 4001 len 1000 ack 1", "A 5001 len 1000 ack 1");
    }

    /** The pacer is removed while nothing is in flight, so that no ACK makes the connection ready. */
    @Test
    void dataHeldByPacerIsSentWhenPacerIsRemoved() {
        Dialogue d = new Dialogue(Dialogue.plain().congestionControl(Bbr::new)).connect().says("S 0");
        d.after(900).hears("SA 0 ack 1 win 65535 mss 1000 sackOK").says("A 1 ack 1");
        d.send(1000).says("PA 1 len 1000 ack 1").after(900).hears("A 1 ack 1001");
        d.send(8000).says("A 1001 len 1000 ack 1", "A 2001 len 1000 ack 1", "A 3001 len 1000 ack 1",
                "A 4001 len 1000 ack 1", "A 5001 len 1000 ack 1");
        d.after(50).hears("A 1 ack 6001").saysNothing();
        d.c.congestionControl("cubic");
        d.after(0).says("A 6001 len 1000 ack 1", "A 7001 len 1000 ack 1", "PA 8001 len 1000 ack 1");
    }

    /** As on Linux: the window describes the path, so it is kept when the algorithm changes. */
    @Test
    void algorithmChangeKeepsWindow() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        int window = d.c.congestionWindowBytes();
        CongestionControl before = d.c.congestion;
        d.c.congestionControl("cubic");
        assertSame(before, d.c.congestion, "the same is left alone");
        d.c.congestionControl("reno");
        assertEquals("reno", d.c.info().congestionControl());
        assertEquals(window, d.c.congestionWindowBytes());
        assertThrows(IllegalArgumentException.class, () -> d.c.congestionControl("vegas"));
    }

    @Test
    void hyStartLeavesSlowStartWhenTheRttRises() {
        Sender s = new Sender(new Cubic(), 10, 50);
        s.round();
        s.round();
        assertEquals(40_000, s.cwnd);
        s.rttNanos += 10_000_000;
        s.round();
        // RFC 9406 section 4.2: after eight samples, conservative slow start grows by a quarter; it ends after
        // five rounds.
        int before = s.cwnd;
        s.round();
        assertEquals(before * 1.25, s.cwnd, before * 0.05);
        for (int i = 0; i < 5; i++) {
            s.round();
        }
        assertTrue(s.ssthresh < CongestionControl.UNBOUNDED, "still in slow start");
        int after = s.cwnd;
        s.round();
        assertTrue(s.cwnd < after * 1.1);
    }

    @Test
    void hyStartReturnsToSlowStartAfterSpuriousRise() {
        Sender s = new Sender(new Cubic(), 10, 50);
        s.round();
        s.round();
        s.rttNanos += 10_000_000;
        s.round();
        s.rttNanos -= 10_000_000;
        s.round();
        int before = s.cwnd;
        s.round();
        assertEquals(2 * before, s.cwnd, before * 0.1);
        assertEquals(CongestionControl.UNBOUNDED, s.ssthresh);
    }
}
