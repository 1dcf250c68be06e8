package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.Dialogue.established;
import static io.rdmaraw.tcp.Dialogue.plain;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;

/** Paths that drop large packets in silence, and those that only seem to. */
class PathMtuTest {
    private static final long SECOND = 1_000_000_000L;
    private static final String SYN_ACK = "SA 0 ack 1 mss 1460 sackOK";
    private static final int SEEDS = 200;

    /** Up to the third timeout, which makes segments of 1240 bytes. */
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
     * The same, what was in flight has arrived, and so has what was measured after it; the congestion window is no
     * hindrance.
     */
    private static Dialogue suspiciousAndIdle() {
        Dialogue d = suspicious(plain()).says("A 1 len 1240 ack 1");
        d.hears("A 1 ack 1241").says("PA 1241 len 220 ack 1").hears("A 1 ack 1461");
        measure(d, 1461);
        d.c.cwnd = 1 << 16;
        return d;
    }

    /** 100 bytes that are sent once: what is known of the round trip time ends the backoff of the timeout. */
    private static void measure(Dialogue d, int from) {
        d.send(100).says(last(from, 100)).after(10).hears("A 1 ack " + (from + 100));
        assertEquals(0, d.c.backoff);
    }

    /** What the path to the peer carries says nothing of what may come from there (RFC 9293 section 3.7.1). */
    @Test
    void aPathThatIsKnownToBeNarrowBoundsWhatIsSentAlone() {
        Dialogue d = new Dialogue(plain()).connect();
        d.c.limitPathMtu(1280);
        d.says("S 0 mss 1460").after(10).hears(SYN_ACK).says("A 1 ack 1");
        d.send(2000).says("A 1 len 1240 ack 1", "PA 1241 len 760 ack 1").after(10).hears("A 1 ack 2001");
        assertEquals(0, d.engine.counters().pathMtuReductions, "no router said so of this connection");
        d.after(10 * 60 * 1000);
        d.send(1460).says("PA 2001 len 1460 ack 1");
    }

    /** What no path is taken to fall short of may be more than the link carries. */
    @Test
    void aNarrowPathDoesNotWidenTheLink() {
        Dialogue d = new Dialogue(plain().mtuBytes(1000).minPathMtuBytes(1280)).connect();
        d.c.limitPathMtu(900);
        assertEquals(1000, d.c.pathMtuBytes());
    }

    @Test
    void aLinkThatIsNarrowBoundsWhatComesToo() {
        Dialogue d = new Dialogue(plain()).connect();
        d.c.limitMtu(1280);
        d.says("S 0 mss 1240");
    }

    @Test
    void aBlackHoleIsFoundByTimeouts() {
        Dialogue d = suspicious(plain()).says("A 1 len 1240 ack 1");
        assertEquals(1, d.engine.counters().pathMtuBlackHoles);
        d.hears("A 1 ack 1241").says("PA 1241 len 220 ack 1");
    }

    @Test
    void itIsNotLookedForWhereThatIsOff() {
        Dialogue d = suspicious(plain().blackHoleTimeouts(0)).says("PA 1 len 1460 ack 1");
        d.after(2_000).says("PA 1 len 1460 ack 1");
        assertEquals(0, d.engine.counters().pathMtuBlackHoles);
        assertEquals(1500, d.c.pathMtuBytes());
    }

    @Test
    void aLargeSegmentThatArrivesEndsTheSuspicion() {
        Dialogue d = suspiciousAndIdle();
        d.send(3000).says(data(1561, 1460), data(3021, 1240), last(4261, 300));
        d.hears("A 1 ack 3021");
        assertEquals(1, d.engine.counters().pathMtuFalseAlarms);
        d.hears("A 1 ack 4561").send(1460).says("PA 4561 len 1460 ack 1");
    }

    /** What a probe carried goes again in small segments; three probes, and the path is believed for ten minutes. */
    @Test
    void lostProbesConfirmTheSuspicion() {
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

    /** Probes that went out late are no reason to send the next ones early. */
    @Test
    void aPathIsBelievedForTenMinutesAfterTheLastProbe() {
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

    /** A link's segment of 9000 bytes is many small ones: with nothing outstanding too it waits for the window. */
    @Test
    void aProbeStaysWithinTheCongestionWindow() {
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

    /** A lost probe may cost a timeout, and one that is backed off is long. */
    @Test
    void aProbeWaitsUntilTheTimeoutIsNotBackedOff() {
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
    void muchLossCostsASegmentsSizeOnlyForAWhile() {
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
        // Three probes are lost in a row now and then.
        assertTrue(stillSmall <= suspicions / 50, stillSmall + " of " + suspicions);
    }

    @Test
    void aBlackHoleKeepsSegmentsSmall() {
        TwoEnds ends = new TwoEnds(TcpConfig.DEFAULT, TcpConfig.DEFAULT, 1);
        TcpConnection c = connect(ends);
        ends.mostPayloadBytes = 1300;
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

    /** Comes back when all has arrived. */
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
}
