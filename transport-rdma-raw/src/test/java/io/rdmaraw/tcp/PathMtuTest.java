package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.Dialogue.established;
import static io.rdmaraw.tcp.Dialogue.plain;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.segment.Segment;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Paths that drop large packets without an ICMP message, and lossy paths that look the same. */
class PathMtuTest {
    private static final long SECOND = 1_000_000_000L;
    private static final String SYN_ACK = "SA 0 ack 1 mss 1460 sackOK";
    private static final int SEEDS = 200;

    /** Returns a connection after the third timeout, which reduces segments to 1240 bytes. */
    private static Dialogue suspicious(TcpConfig.Builder config) {
        return suspicious(config, SYN_ACK, 1460);
    }

    private static Dialogue suspicious(TcpConfig.Builder config, String synAck, int bytes) {
        Dialogue d = established(config, synAck);
        d.send(bytes).says(last(1, bytes));
        d.after(212).says(last(1, bytes));
        d.after(212).says(last(1, bytes));
        d.after(422).says(last(1, bytes));
        assertEquals(0, d.engine.counters().pathMtuBlackHoles);
        d.after(842);
        return d;
    }

    /**
     * As {@link #suspicious}, but the data in flight was delivered and an RTT sample taken. The congestion window
     * is not a limit.
     */
    private static Dialogue suspiciousAndIdle() {
        Dialogue d = suspicious(plain()).says("A 1 len 1240 ack 1");
        d.hears("A 1 ack 1241").says("PA 1241 len 220 ack 1").hears("A 1 ack 1461");
        measure(d, 1461);
        d.c.cwnd = 1 << 16;
        return d;
    }

    /** Sends 100 bytes without loss. The RTT sample ends the backoff of the timeout. */
    private static void measure(Dialogue d, int from) {
        d.send(100).says(last(from, 100)).after(10).hears("A 1 ack " + (from + 100));
        assertEquals(0, d.c.backoff);
    }

    /** The MTU towards the peer does not limit packets from the peer (RFC 9293 section 3.7.1). */
    @Test
    void knownPathMtuLimitsSentSegmentsOnly() {
        Dialogue d = new Dialogue(plain()).connect();
        d.c.limitPathMtu(1280);
        d.says("S 0 mss 1460").after(10).hears(SYN_ACK).says("A 1 ack 1");
        d.send(2000).says("A 1 len 1240 ack 1", "PA 1241 len 760 ack 1").after(10).hears("A 1 ack 2001");
        assertEquals(0, d.engine.counters().pathMtuReductions, "no router said so of this connection");
        d.after(10 * 60 * 1000);
        d.send(1460).says("PA 2001 len 1460 ack 1");
    }

    /** The minimum path MTU may exceed the MTU of the link. */
    @Test
    void minimumPathMtuDoesNotExceedLinkMtu() {
        Dialogue d = new Dialogue(plain().mtuBytes(1000).minPathMtuBytes(1280)).connect();
        d.c.limitPathMtu(900);
        assertEquals(1000, d.c.pathMtuBytes());
    }

    @Test
    void linkMtuLimitsAnnouncedMss() {
        Dialogue d = new Dialogue(plain()).connect();
        d.c.limitMtu(1280);
        d.says("S 0 mss 1240");
    }

    @Test
    void blackHoleIsDetectedByTimeouts() {
        Dialogue d = suspicious(plain()).says("A 1 len 1240 ack 1");
        assertEquals(1, d.engine.counters().pathMtuBlackHoles);
        d.hears("A 1 ack 1241").says("PA 1241 len 220 ack 1");
    }

    @Test
    void blackHoleDetectionCanBeDisabled() {
        Dialogue d = suspicious(plain().blackHoleTimeouts(0)).says("PA 1 len 1460 ack 1");
        d.after(2_000).says("PA 1 len 1460 ack 1");
        assertEquals(0, d.engine.counters().pathMtuBlackHoles);
        assertEquals(1500, d.c.pathMtuBytes());
    }

    @Test
    void deliveredProbeEndsSuspicion() {
        Dialogue d = suspiciousAndIdle();
        d.send(3000).says(data(1561, 1460), data(3021, 1240), last(4261, 300));
        d.hears("A 1 ack 3021");
        assertEquals(1, d.engine.counters().pathMtuFalseAlarms);
        d.hears("A 1 ack 4561").send(1460).says("PA 4561 len 1460 ack 1");
    }

    /**
     * The data of a probe is resent in small segments. After three lost probes, the reduced MTU is kept for ten
     * minutes.
     */
    @Test
    void lostProbesConfirmSuspicion() {
        Dialogue d = suspiciousAndIdle();
        int next = 1561;
        for (int probe = 0; probe < 3; probe++) {
            next = loseProbe(d, next);
        }
        d.send(3000).says(data(next, 1240), data(next + 1240, 1240), last(next + 2480, 520));
        next += 3000;
        d.hears("A 1 ack " + next);
        assertEquals(0, d.engine.counters().pathMtuFalseAlarms);
        d.after(601_000);
        next = loseProbe(d, next);
        d.send(3000).says(data(next, 1460), data(next + 1460, 1240), last(next + 2700, 300));
    }

    /** The ten minutes count from the last probe, even if it was sent late. */
    @Test
    void reducedMtuIsKeptTenMinutesAfterLastProbe() {
        Dialogue d = suspiciousAndIdle();
        d.after(590_000);
        int next = 1561;
        for (int probe = 0; probe < 3; probe++) {
            next = loseProbe(d, next);
        }
        d.after(20_000);
        d.c.cwnd = 1 << 16;
        d.send(3000).says(data(next, 1240), data(next + 1240, 1240), last(next + 2480, 520));
    }

    /**
     * A segment of a link with an MTU of 9000 equals many small ones, so it must fit into the window even with
     * nothing in flight.
     */
    @Test
    void probeStaysWithinCongestionWindow() {
        Dialogue d = suspicious(plain().mtuBytes(9000), "SA 0 ack 1 mss 8960 sackOK", 1300).says(data(1, 1240));
        d.hears("A 1 ack 1241").says(last(1241, 60)).hears("A 1 ack 1301");
        measure(d, 1301);
        assertTrue(d.c.cwnd >= 2 * 1240 && d.c.cwnd < 4 * 1240, d.c.cwnd + "");
        d.c.cwnd = 3 * 1240;
        d.send(20_000).says(data(1401, 1240), data(2641, 1240), data(3881, 1240));
        d.c.cwnd = 1 << 16;
        d.after(10).hears("A 1 ack 5121").says(data(5121, 8960), data(14081, 1240), data(15321, 1240),
                data(16561, 1240), data(17801, 1240), data(19041, 1240), last(20281, 1120));
    }

    /** A lost probe may cost a timeout, which is long after backoff. */
    @Test
    void probeWaitsForEndOfBackoff() {
        Dialogue d = suspicious(plain()).says(data(1, 1240));
        d.hears("A 1 ack 1241").says(last(1241, 220)).hears("A 1 ack 1461");
        assertTrue(d.c.backoff > 0);
        d.c.cwnd = 1 << 16;
        d.send(2700).says(data(1461, 1240), data(2701, 1240), last(3941, 220));
        d.after(10).hears("A 1 ack 4161").send(3000).says(data(4161, 1460), data(5621, 1240), last(6861, 300));
    }

    private static int loseProbe(Dialogue d, int from) {
        d.c.cwnd = 1 << 16;
        d.send(3000).says(data(from, 1460), data(from + 1460, 1240), last(from + 2700, 300));
        String arrived = " sack " + (from + 1460) + "-" + (from + 3000);
        d.after(10).hears("A 1 ack " + from + arrived);
        d.after(20).says(data(from, 1240)).hears("A 1 ack " + (from + 1240) + arrived).says(data(from + 1240, 220));
        d.after(10).hears("A 1 ack " + (from + 3000));
        return from + 3000;
    }

    private static String data(int from, int length) {
        return "A " + from + " len " + length + " ack 1";
    }

    private static String last(int from, int length) {
        return "P" + data(from, length);
    }

    @Test
    void heavyLossReducesMtuOnlyTemporarily() {
        long suspicions = 0;
        int stillSmall = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            TwoEnds ends = new TwoEnds(TcpConfig.DEFAULT, TcpConfig.DEFAULT, seed);
            TcpConnection c = connect(ends);
            int mss = c.sndMss;
            ends.loss = 0.2;
            send(ends, c, 200_000, seed);
            suspicions += ends.client.counters().pathMtuBlackHoles;
            ends.loss = 0;
            send(ends, c, 100_000, -seed);
            stillSmall += c.sndMss < mss ? 1 : 0;
        }
        assertTrue(suspicions > SEEDS / 2, suspicions + " suspicions");
        // Occasionally, three probes in a row are lost.
        assertTrue(stillSmall <= suspicions / 50, stillSmall + " of " + suspicions);
    }

    @Test
    void blackHoleKeepsSegmentsSmall() {
        TwoEnds ends = new TwoEnds(TcpConfig.DEFAULT, TcpConfig.DEFAULT, 1);
        TcpConnection c = connect(ends);
        ends.maxPayloadBytes = 1300;
        send(ends, c, 300_000, 1);
        assertEquals(1, ends.client.counters().pathMtuBlackHoles);
        assertEquals(0, ends.client.counters().pathMtuFalseAlarms);
        assertEquals(0, c.extras.mtuProbesLeft);
        assertEquals(1228, c.sndMss);
    }

    private static TcpConnection connect(TwoEnds ends) {
        TcpConnection c = ends.connect();
        ends.run(SECOND);
        return c;
    }

    /** Sends random bytes and returns when all are acknowledged. */
    private static void send(TwoEnds ends, TcpConnection c, int bytes, long seed) {
        byte[] content = new byte[bytes];
        new Random(seed).nextBytes(content);
        ends.serverEvents.received.reset();
        c.send(ends.buffer(content));
        for (int i = 0; i < 6000 && c.queuedBytes() > 0; i++) {
            ends.run(SECOND / 10);
        }
        assertArrayEquals(content, ends.serverEvents.received.toByteArray());
    }

    /** Options must leave room for data; otherwise the engine would send empty segments for ever. */
    @Test
    void minimumPathMtuLeavesRoomForData() {
        Dialogue d = established(TcpConfig.builder().minPathMtuBytes(68),
                "SA 0 ack 1 win 65535 mss 1460 ws 0 sackOK ts 1/0");
        d.c.limitPathMtu(68);
        for (int hole = 0; hole < 4; hole++) {
            d.hears("A " + (101 + 200 * hole) + " len 100 ack 1 ts 2/0");
        }
        d.after(0);
        d.send(40);
        Segment out = new Segment();
        int payloadBytes = 0;
        for (int count = 0; payloadBytes < 40; count++) {
            assertTrue(count < 10 && d.engine.pollSegment(d.now, out));
            assertTrue(out.payloadLength() >= 8, "eight bytes beside all options");
            payloadBytes += out.payloadLength();
            out.releasePayload();
        }
    }
}
