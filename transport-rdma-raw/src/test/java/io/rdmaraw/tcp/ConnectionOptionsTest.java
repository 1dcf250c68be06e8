package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import org.junit.jupiter.api.Test;

/** The socket options of tcp(7), except those for keepalive and timeouts. */
class ConnectionOptionsTest {
    // ---- TCP_CORK ----

    @Test
    void corkHoldsBackPartialSegment() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.cork(true);
        d.send(100).saysNothing();
        d.send(1500).says("PA 1 len 1000 ack 1");
        d.hears("A 1 ack 1001").saysNothing();
        d.c.cork(false);
        d.says("PA 1001 len 600 ack 1");
    }

    @Test
    void corkEndsAfter200Milliseconds() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.cork(true);
        d.send(100).saysNothing();
        assertEquals(200, d.waits(1_000), 2);
        d.says("PA 1 len 100 ack 1").hears("A 1 ack 101");
        assertEquals(0, d.c.info().backoff(), "no timeout was the peer's");
        d.send(100);
        assertEquals(200, d.waits(1_000), 2);
    }

    @Test
    void dataFromPeerDoesNotProlongCork() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.cork(true);
        d.send(100).after(150).hears("PA 1 ack 1 len 10").says("A 1 ack 11");
        assertEquals(50, d.waits(1_000), 2);
        d.says("PA 1 len 100 ack 11");
    }

    @Test
    void shutdownOutputEndsCork() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.cork(true);
        d.send(100).saysNothing();
        d.c.shutdownOutput();
        d.says("FPA 1 len 100 ack 1");
    }

    /** As packetdrill's sockopt_cork_nodelay requires of Linux. */
    @Test
    void settingNoDelaySendsCorkedData() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.cork(true);
        d.send(100).saysNothing();
        d.c.noDelay(true);
        d.says("PA 1 len 100 ack 1").send(100).saysNothing();
    }

    /** A closed window is probed as without the option. */
    @Test
    void corkedDataStillProbesClosedWindow() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.hears("A 1 ack 1 win 0");
        d.c.cork(true);
        d.send(100);
        d.waits(1_000);
        d.says("A 0 ack 1").hears("A 1 ack 1 win 1000").saysNothing();
        d.waits(1_000);
        d.says("PA 1 len 100 ack 1");
    }

    @Test
    void tailLossProbeDoesNotSendCorkedData() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.cork(true);
        d.send(1100).says("A 1 len 1000 ack 1");
        d.waits(1_000);
        d.says("A 1 len 1000 ack 1");
    }

    // ---- TCP_QUICKACK ----

    @Test
    void quickAckDisablesDelayedAcks() {
        Dialogue d = Dialogue.established(Dialogue.plain()).withoutQuickAcks();
        d.hears("PA 1 ack 1 len 10").saysNothing();
        d.c.quickAck(true);
        d.says("A 1 ack 11");
        for (int i = 0; i < 40; i++) {
            d.after(3_000).hears("PA " + (11 + i) + " ack 1 len 1").says("A 1 ack " + (12 + i));
        }
    }

    @Test
    void clearingQuickAckDelaysFirstAcks() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.quickAck(false);
        d.hears("PA 1 ack 1 len 10").saysNothing();
        assertEquals(40, d.waits(100), 2);
        d.says("A 1 ack 11");
    }

    // ---- TCP_MAXSEG ----

    @Test
    void maxSegmentIsAnnouncedInSynAndObserved() {
        Dialogue d = new Dialogue(Dialogue.plain()).connect();
        d.c.maxSegmentBytes(500);
        d.says("S 0 mss 500").after(10).hears("SA 0 ack 1 win 65535 mss 1000").says("A 1 ack 1");
        d.send(1200).says("A 1 len 500 ack 1", "A 501 len 500 ack 1", "PA 1001 len 200 ack 1");
    }

    @Test
    void smallerMssOfPeerIsObserved() {
        Dialogue d = new Dialogue(Dialogue.plain()).connect();
        d.c.maxSegmentBytes(500);
        d.says("S 0 mss 500").hears("SA 0 ack 1 win 65535 mss 300").says("A 1 ack 1");
        d.send(600).says("A 1 len 300 ack 1", "PA 301 len 300 ack 1");
        d.c.maxSegmentBytes(100);
        d.send(300).says("PA 601 len 300 ack 1");
        assertThrows(IllegalArgumentException.class, () -> d.c.maxSegmentBytes(87));
        assertThrows(IllegalArgumentException.class, () -> d.c.maxSegmentBytes(32_768));
    }

    @Test
    void maxSegmentOfListenerAppliesToConnections() {
        Dialogue d = new Dialogue(Dialogue.plain());
        listener(d).maxSegmentBytes(500);
        d.hears("S 0 win 65535 mss 1000").says("SA 0 ack 1 mss 500").hears("A 1 ack 1").heard("accepted");
        d.send(600).says("A 1 len 500 ack 1", "PA 501 len 100 ack 1");
    }

    @Test
    void synCookieAnnouncesMaxSegment() {
        Dialogue d = new Dialogue(Dialogue.plain().synCookies(TcpConfig.SynCookieMode.ALWAYS));
        listener(d).maxSegmentBytes(500);
        d.hears("S 0 win 65535 mss 1000");
        d.says("SA " + (d.engine.synCookies.cookie(syn(d), d.now) - Dialogue.ISS) + " ack 1 mss 500");
    }

    private static Segment syn(Dialogue d) {
        Segment s = new Segment();
        s.clear().source(0, Dialogue.THERE, Dialogue.PEER_PORT).destination(0, Dialogue.HERE, Dialogue.PORT);
        s.seq = Dialogue.IRS;
        s.mss = 1000;
        return s;
    }

    /** A connection gets its channel's buffer after the SYN-ACK, which has fixed the scale by then. */
    @Test
    void aListenersReceiveBufferDecidesTheWindowScale() {
        Dialogue d = new Dialogue(Dialogue.plain());
        listener(d).receiveBufferBytes(32 << 20);
        d.hears("S 0 mss 1000 ws 0").says("SA 0 ack 1 win 65535 ws 10").hears("A 1 ack 1").heard("accepted");
        d.hears("A 1 len 10 ack 1").says("A 1 ack 11 win 32768");
    }

    private static TcpListener listener(Dialogue d) {
        return d.engine.listen(0, 0, Dialogue.PORT, 8, "listener");
    }

    // ---- TCP_LINGER2 ----

    @Test
    void finWait2TimeOfConnectionApplies() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.finWait2Millis(5_000);
        d.c.close();
        d.says("FA 1 ack 1").hears("A 1 ack 2").state(TcpState.FIN_WAIT_2);
        d.after(4_990).state(TcpState.FIN_WAIT_2).after(20).state(TcpState.CLOSED).saysNothing();
    }

    @Test
    void negativeFinWait2TimeResetsAtOnce() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.finWait2Millis(-1);
        d.c.close();
        d.says("FA 1 ack 1").hears("A 1 ack 2").says("RA 2 ack 1").state(TcpState.CLOSED);
    }

    @Test
    void negativeFinWait2TimeResetsOnLateClose() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.finWait2Millis(-5);
        d.c.shutdownOutput();
        d.says("FA 1 ack 1").hears("A 1 ack 2").saysNothing().state(TcpState.FIN_WAIT_2);
        d.c.close();
        d.says("RA 2 ack 1").state(TcpState.CLOSED);
    }

    // ---- TCP_NOTSENT_LOWAT ----

    @Test
    void notSentLowIsReportedAfterAck() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        assertEquals(Integer.MAX_VALUE, d.c.notSentRoom());
        d.c.notSentLowWaterBytes(2_000);
        assertEquals(2_000, d.c.notSentRoom());
        d.send(12_000);
        assertEquals(0, d.c.notSentRoom());
        d.after(0);
        assertEquals(2_000, d.c.unsentBytes(), "the congestion window");
        assertTrue(d.c.awaitsNotSentLow());
        d.hears("A 1 ack 2001").after(0).heard("notSentLow");
        assertFalse(d.c.awaitsNotSentLow());
        assertEquals(0, d.c.unsentBytes());
    }

    /** Data within the windows is sent at once, so the notification needs no ACK. */
    @Test
    void notSentLowIsReportedOnTransmission() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.notSentLowWaterBytes(2_000);
        d.send(3_000);
        assertEquals(0, d.c.notSentRoom());
        d.after(0).heard("notSentLow");
    }

    /** A polled segment keeps its payload until the next call of the engine, even if the connection has ended. */
    @Test
    void userMayAbortWithinNotSentLow() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.notSentLowWaterBytes(2_000);
        ByteBuf buffer = Unpooled.buffer(3_000).writeZero(3_000);
        d.c.send(buffer);
        assertEquals(0, d.c.notSentRoom());
        d.events.whenNotSentIsLow = TcpConnection::abort;
        d.events.events.clear();
        Segment out = new Segment();
        while (d.events.events.isEmpty() && d.engine.pollSegment(d.now, out)) {
            assertTrue(out.sliceBuffer(0).refCnt() > 0, out.toString());
            if (d.events.events.isEmpty()) {
                out.releasePayload();
            }
        }
        assertEquals(1, buffer.refCnt());
        out.releasePayload();
        assertEquals(0, buffer.refCnt());
        d.says("RA 3001 ack 1").state(TcpState.CLOSED);
    }

    /** The segment was sent, and the connection no longer belongs to this engine. */
    @Test
    void userMayMoveConnectionWithinNotSentLow() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.notSentLowWaterBytes(100);
        d.send(200);
        assertEquals(0, d.c.notSentRoom());
        d.events.whenNotSentIsLow = d.engine::release;
        Segment out = new Segment();
        assertTrue(d.engine.pollSegment(d.now, out));
        assertEquals(200, out.payloadLength());
        out.releasePayload();
        assertFalse(d.engine.pollSegment(d.now, out));
        d.engine.adopt(d.c, d.now);
        d.hears("A 1 ack 201").saysNothing();
        d.assertReleased();
    }

    @Test
    void notSentLowNeedsHalfOfLimitSent() {
        Dialogue d = Dialogue.established(Dialogue.plain(), "SA 0 ack 1 win 2000 mss 1000");
        d.c.notSentLowWaterBytes(2_000);
        d.send(4_000);
        assertEquals(0, d.c.notSentRoom());
        d.hears("A 1 ack 1 win 3000").after(0).heard();
        d.hears("A 1 ack 1 win 4000").after(0).heard("notSentLow");
    }

    @Test
    void notSentRoomIsAtLeastOneSegment() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.notSentLowWaterBytes(1);
        assertEquals(1_000, d.c.notSentRoom());
        d.send(10);
        assertEquals(0, d.c.notSentRoom());
        d.c.notSentLowWaterBytes(0);
        d.heard("notSentLow");
        assertThrows(IllegalArgumentException.class, () -> d.c.notSentLowWaterBytes(-1));
    }

    // ---- TCP_DEFER_ACCEPT ----

    @Test
    void deferredAcceptHappensOnData() {
        Dialogue d = deferring(3);
        d.hears("A 1 ack 1").saysNothing().heard();
        assertNull(d.c);
        d.hears("PA 1 ack 1 len 100").heard("accepted").says("A 1 ack 101");
        assertEquals(100, d.events.received.size());
        assertEquals(1, d.engine.counters().acceptsDeferred);
    }

    @Test
    void deferredAcceptGivesNoRttSample() {
        Dialogue d = deferring(3);
        d.after(10).hears("A 1 ack 1").after(900).hears("PA 1 ack 1 len 100").heard("accepted");
        assertEquals(0, d.c.info().smoothedRttNanos());
    }

    /**
     * As on Linux: shortly before the time is over, the SYN-ACK is retransmitted, and its answer opens the
     * connection.
     */
    @Test
    void deferredAcceptEndsWithoutData() {
        Dialogue d = deferring(3);
        d.hears("A 1 ack 1");
        assertEquals(3_000, d.waits(10_000), 4, "the second time that it is due");
        d.says("SA 0 ack 1").heard();
        d.hears("A 1 ack 1").heard("accepted");
    }

    @Test
    void unansweredSynAckTimesOutWithDeferAccept() {
        Dialogue d = new Dialogue(Dialogue.plain().synAckRetries(2));
        listener(d).deferAccept(60);
        d.hears("S 0 win 65535 mss 1000").says("SA 0 ack 1");
        d.after(1_010).says("SA 0 ack 1").after(2_010).says("SA 0 ack 1").after(4_010).saysNothing();
        assertEquals(0, d.engine.connectionCount());
    }

    @Test
    void deferAcceptTimeExceedsSynAckRetries() {
        Dialogue d = new Dialogue(Dialogue.plain().synAckRetries(2));
        listener(d).deferAccept(60);
        d.hears("S 0 win 65535 mss 1000").says("SA 0 ack 1").hears("A 1 ack 1");
        d.after(25_000).saysNothing();
        assertEquals(1, d.engine.connectionCount());
        d.hears("PA 1 ack 1 len 100").heard("accepted");
    }

    @Test
    void deferredAcceptHappensOnFin() {
        Dialogue d = deferring(3);
        d.hears("FA 1 ack 1").heard("accepted", "peerFinished");
    }

    /** A client that has answered a SYN-ACK is not a forged address, and it considers itself connected. */
    @Test
    void deferredSynAckIsRetransmittedDuringFlood() {
        Dialogue d = new Dialogue(Dialogue.plain());
        TcpListener listener = listener(d);
        listener.deferAccept(3);
        d.hears("S 0 win 65535 mss 1000").says("SA 0 ack 1").hears("A 1 ack 1").after(2_000).saysNothing();
        listener.lastOverflowNanos = d.now;
        d.after(1_010).says("SA 0 ack 1").hears("A 1 ack 1").heard("accepted");
    }

    @Test
    void connectionFromCookieIsAcceptedAtOnce() {
        Dialogue d = new Dialogue(Dialogue.plain().synCookies(TcpConfig.SynCookieMode.ALWAYS));
        listener(d).deferAccept(3);
        int cookie = d.engine.synCookies.cookie(syn(d), d.now) - Dialogue.ISS;
        d.hears("S 0 win 65535 mss 1000").says("SA " + cookie + " ack 1").hears("A 1 ack " + (cookie + 1));
        d.heard("accepted");
    }

    private static Dialogue deferring(int seconds) {
        Dialogue d = new Dialogue(Dialogue.plain());
        listener(d).deferAccept(seconds);
        return d.hears("S 0 win 65535 mss 1000").says("SA 0 ack 1");
    }
}
