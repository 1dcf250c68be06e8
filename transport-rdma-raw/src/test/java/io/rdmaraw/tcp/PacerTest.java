package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** The rate limit of a connection (SO_MAX_PACING_RATE): the data it holds back, and for how long. */
class PacerTest {
    /** At 10 bytes per second, the next segment would be sent after five minutes. */
    private static Dialogue held() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.maxPacingRate(10);
        d.send(8000).says("A 1 len 1000 ack 1", "A 1001 len 1000 ack 1", "A 2001 len 1000 ack 1",
                "A 3001 len 1000 ack 1", "A 4001 len 1000 ack 1");
        return d.after(10).hears("A 1 ack 5001").saysNothing();
    }

    /** Returns a connection that has sent five segments, so that its bucket is empty. */
    private static Dialogue afterABurst(long bytesPerSecond) {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.maxPacingRate(bytesPerSecond);
        return d.send(5000).says("A 1 len 1000 ack 1", "A 1001 len 1000 ack 1", "A 2001 len 1000 ack 1",
                "A 3001 len 1000 ack 1", "PA 4001 len 1000 ack 1");
    }

    @Test
    void higherLimitAppliesAtOnce() {
        Dialogue d = held();
        d.c.maxPacingRate(1_000_000);
        d.after(10).says("A 5001 len 1000 ack 1", "A 6001 len 1000 ack 1", "PA 7001 len 1000 ack 1");
    }

    /** As on Linux (tcp_pacing_delay): if the pacer holds back the retransmission, the path is not to blame. */
    @Test
    void timeoutOfDataHeldByPacerStartsAtTransmission() {
        Dialogue d = afterABurst(1_000);
        d.after(10).hears("A 1 ack 1 sack 1001-5001").saysNothing();
        assertEquals(2_990, d.waits(10_000), 50, "the bucket is empty");
        d.says("A 1 len 1000 ack 1");
        assertEquals(0, d.engine.counters().tailLossProbes + d.engine.counters().retransmissionTimeouts);
    }

    /** RFC 6298 section 5.6: the next timeout counts from the retransmission, not from the previous timeout. */
    @Test
    void secondTimeoutCountsFromRetransmission() {
        Dialogue d = afterABurst(7_000);
        d.waits(100);
        d.says("PA 4001 len 1000 ack 1");
        assertEquals(549, d.waits(1_000), 10, "the timeout came at 210, the bucket is empty until now");
        d.says("A 1 len 1000 ack 1");
        assertEquals(420, d.waits(1_000), 10, "twice the first timeout");
        d.says("A 1 len 1000 ack 1");
    }

    /** At the previous rate, the retransmission would be sent minutes later, and the timeout counted from then. */
    @Test
    void timeoutCountsFromRetransmissionAfterLimitIsRaised() {
        Dialogue d = afterABurst(10);
        d.waits(100);
        d.says("PA 4001 len 1000 ack 1").after(1_000).saysNothing();
        assertEquals(1, d.engine.counters().retransmissionTimeouts);
        d.c.maxPacingRate(0);
        d.says("A 1 len 1000 ack 1");
        assertEquals(420, d.waits(1_000), 10, "twice the first timeout");
        d.says("A 1 len 1000 ack 1");
    }

    /** A burst has at least two segments. Their size is unknown before the handshake. */
    @Test
    void limitSetBeforeHandshakeAllowsSameBursts() {
        Dialogue d = new Dialogue(Dialogue.plain()).connect();
        d.c.maxPacingRate(1_000);
        d.says("S 0").after(10).hears("SA 0 ack 1 win 65535 mss 1000 ws 0 sackOK").says("A 1 ack 1");
        d.send(8000).says("A 1 len 1000 ack 1", "A 1001 len 1000 ack 1", "A 2001 len 1000 ack 1",
                "A 3001 len 1000 ack 1", "A 4001 len 1000 ack 1");
    }

    @Test
    void removedLimitReleasesData() {
        Dialogue d = held();
        d.c.maxPacingRate(0);
        d.says("A 5001 len 1000 ack 1", "A 6001 len 1000 ack 1", "PA 7001 len 1000 ack 1");
    }
}
