package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Engines of one host, such as the loops of a process, share one clock, so peers cannot distinguish them. */
class TcpSecretsTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int ENGINES = 8;

    private final TcpSecrets secrets = new TcpSecrets(new SplittableRandom(1));
    private final Recorder events = new Recorder();
    private final Segment out = new Segment();
    private long now = 1000 * SECOND;

    private TcpEngine engine(int seed) {
        return new TcpEngine(TcpConfig.builder().secrets(secrets).build(), events, new SplittableRandom(seed), now);
    }

    /** A server that closed first keeps the last sequence numbers and timestamps in TIME-WAIT (RFC 6191). */
    @Test
    void isnAndTimestampIncreaseAcrossEngines() {
        int isn = 0;
        int timestamp = 0;
        for (int i = 0; i < ENGINES; i++) {
            TcpEngine engine = engine(i);
            engine.connect(now, 0, Dialogue.HERE, 4000, 0, Dialogue.THERE, 80, null, 0, null);
            assertTrue(engine.pollSegment(now, out));
            if (i > 0) {
                assertEquals(SECOND / 4_000, out.seq - isn);
                assertEquals(1000, out.tsValue - timestamp);
            }
            isn = out.seq;
            timestamp = out.tsValue;
            now += SECOND;
        }
    }

    private static Segment fromClient(int port, int flags, int seq) {
        return new Segment().source(0, Dialogue.THERE, port).destination(0, Dialogue.HERE, Dialogue.PORT).flags(flags)
                .seq(seq).mss(1400).window(5000);
    }

    /** The loops that serve a port may change between the SYN and the ACK. */
    @Test
    void cookieIsAcceptedByAnotherEngine() {
        TcpEngine flooded = engine(1);
        TcpEngine other = engine(2);
        flooded.listen(0, 0, Dialogue.PORT, 1, null);
        other.listen(0, 0, Dialogue.PORT, 1, null);
        flooded.onSegment(fromClient(5000, TcpFlags.SYN, 77), now);
        assertTrue(flooded.pollSegment(now, out));
        flooded.onSegment(fromClient(6000, TcpFlags.SYN, 77), now);
        assertTrue(flooded.pollSegment(now, out));
        assertEquals(1, flooded.counters().synCookiesSent);
        now += 60 * SECOND;
        other.onSegment(fromClient(6000, TcpFlags.ACK, 78).ack(out.seq + 1), now);
        assertEquals(1, other.counters().synCookiesAccepted);
        assertEquals(1, other.connectionCount());
        assertFalse(other.pollSegment(now, out));
    }

    /** ACKs are not checked for cookies unless a valid cookie may have been sent. */
    @Test
    void cookiesAreExpectedOnlyAfterOneWasSent() {
        TcpEngine server = engine(1);
        server.listen(0, 0, Dialogue.PORT, 1, null);
        server.onSegment(fromClient(6000, TcpFlags.ACK, 78).ack(5), now);
        assertTrue(server.pollSegment(now, out));
        assertEquals(TcpFlags.RST, out.flags);
        assertEquals(0, server.counters().synCookiesRejected);
        secrets.onCookieSent(now);
        assertTrue(secrets.mayExpectCookie(now + 128 * SECOND));
        assertFalse(secrets.mayExpectCookie(now + 130 * SECOND));
    }

    @Test
    void enginesWithOwnSecretsDiffer() {
        TcpConfig alone = TcpConfig.builder().build();
        int[] timestamps = new int[2];
        for (int i = 0; i < 2; i++) {
            TcpEngine engine = new TcpEngine(alone, events, new SplittableRandom(i), now);
            engine.connect(now, 0, Dialogue.HERE, 4000, 0, Dialogue.THERE, 80, null, 0, null);
            assertTrue(engine.pollSegment(now, out));
            timestamps[i] = out.tsValue;
        }
        assertFalse(timestamps[0] == timestamps[1]);
    }
}
