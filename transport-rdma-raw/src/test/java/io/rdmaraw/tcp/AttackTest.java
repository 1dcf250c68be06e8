package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.Dialogue.established;
import static io.rdmaraw.tcp.Dialogue.plain;
import static io.rdmaraw.tcp.TcpState.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.wire.IcmpErrorKind;
import io.rdmaraw.wire.SipHash;

import org.junit.jupiter.api.Test;

/** Invalid, old and forged segments: RST rules, RFC 5961, PAWS, SYN cookies, ICMP. */
class AttackTest {
    @Test
    void onlyExactResetEndsTheConnection() {
        Dialogue d = established(plain().initialReceiveBufferBytes(10_000));
        d.hears("R 0").saysNothing().state(ESTABLISHED);
        d.hears("R 20000").saysNothing().state(ESTABLISHED);
        d.hears("R 2").says("A 1 ack 1").state(ESTABLISHED);
        d.after(200).hears("R 9999").says("A 1 ack 1").state(ESTABLISHED);
        d.hears("R 1").saysNothing().state(CLOSED).heard("closed RESET_BY_PEER");
    }

    @Test
    void resetEndsEveryState() {
        Dialogue finWait1 = established(plain());
        finWait1.c.shutdownOutput();
        finWait1.says("FA 1 ack 1").hears("R 1").saysNothing().heard("closed RESET_BY_PEER");

        Dialogue finWait2 = established(plain());
        finWait2.c.shutdownOutput();
        finWait2.says("FA 1 ack 1").hears("A 1 ack 2").hears("R 1").heard("closed RESET_BY_PEER");

        Dialogue closeWait = established(plain());
        closeWait.hears("FA 1 ack 1").says("A 1 ack 2").hears("R 2").heard("peerFinished", "closed RESET_BY_PEER");

        Dialogue lastAck = established(plain());
        lastAck.hears("FA 1 ack 1").c.close();
        lastAck.says("FA 1 ack 2").hears("R 2").heard("peerFinished", "closed FINISHED");
    }

    @Test
    void synInConnectionIsChallenged() {
        Dialogue d = established(plain());
        d.hears("S 1").says("A 1 ack 1").state(ESTABLISHED);
        d.after(200).hears("S 500000").says("A 1 ack 1").state(ESTABLISHED);
        d.after(200).hears("SA 0 ack 1").says("A 1 ack 1").state(ESTABLISHED);
    }

    @Test
    void challengeAcksAreRateLimited() {
        Dialogue d = established(plain());
        d.hears("S 1").hears("S 2").hears("S 3").says("A 1 ack 1");
        d.after(50).hears("S 1").saysNothing();
        d.after(60).hears("S 1").says("A 1 ack 1");
        assertEquals(5, d.engine.counters().rejectedSegments);
    }

    @Test
    void acksOfUnsentOrOldDataAreChallenged() {
        Dialogue d = established(plain(), "SA 0 ack 1 win 5000 mss 1000");
        d.hears("PA 1 len 10 ack 100").says("A 1 ack 1");
        assertEquals(0, d.events.received.size());
        d.after(200).hears("PA 1 len 10 ack -4998").says("A 1 ack 11");
        d.after(200).hears("PA 11 len 10 ack -5000").hears("A 11 ack -5000").says("A 1 ack 11");
        assertEquals(10, d.events.received.size());
    }

    @Test
    void segmentsWithoutAckAreIgnored() {
        Dialogue d = established(plain());
        d.hears("P 1 len 10").saysNothing();
        d.hears("F 1").saysNothing().state(ESTABLISHED);
        assertEquals(0, d.events.received.size());
    }

    @Test
    void pawsDropsOldTimestampsButNotMissingOnes() {
        Dialogue d = established(TcpConfig.builder(), "SA 0 ack 1 mss 1000 sackOK ts 1000/0");
        d.hears("PA 1 len 10 ack 1 ts 1005/0").says("A 1 ack 11");
        d.hears("PA 11 len 10 ack 1 ts 1004/0").says("A 1 ack 11");
        assertEquals(10, d.events.received.size());
        assertEquals(1, d.engine.counters().pawsDrops);
        d.hears("PA 11 len 10 ack 1").says("A 1 ack 21");
        d.hears("R 21 ts 1/0").heard("closed RESET_BY_PEER");
    }

    @Test
    void wrappedTimestampsAreAccepted() {
        Dialogue d = established(TcpConfig.builder(), "SA 0 ack 1 mss 1000 ts -2/0");
        d.hears("PA 1 len 10 ack 1 ts -1/0").says("A 1 ack 11");
        d.hears("PA 11 len 10 ack 1 ts 3/0").says("A 1 ack 21");
        // RFC 7323 section 5.5: the timestamp clock may have wrapped after 24 days without a segment.
        d.after(25L * 86_400_000).hears("PA 21 len 10 ack 1 ts -5/0").says("A 1 ack 31");
    }

    @Test
    void echoedTimestampIsOfEarliestUnacknowledgedSegment() {
        Dialogue d = established(TcpConfig.builder(), "SA 0 ack 1 mss 1000 sackOK ts 1000/0").withoutQuickAcks();
        d.hears("A 1 len 1000 ack 1 ts 1010/0").hears("A 1001 len 1000 ack 1 ts 1020/0");
        assertEquals(1010, d.c.tsRecent);
        d.after(1);
        // Out of order: not echoed (RFC 7323 section 4.3)
        d.hears("A 3001 len 1000 ack 1 ts 1030/0");
        assertEquals(1010, d.c.tsRecent);
    }

    // ---- SYN cookies ----

    private static Segment syn(int port) {
        return new Segment().source(0, Dialogue.THERE, port).destination(0, Dialogue.HERE, Dialogue.PORT)
                .flags(TcpFlags.SYN).seq(77).mss(1400).window(5000).windowScale(5).sackPermitted(true);
    }

    @Test
    void fullBacklogIsAnsweredWithCookies() {
        Dialogue d = new Dialogue(TcpConfig.builder()).listen(1);
        d.hears("S 0 mss 1000").says("SA 0 ack 1");
        Segment answer = new Segment();
        d.engine.onSegment(syn(6000).timestamps(500, 0), d.now);
        d.engine.pollSegment(d.now, answer);
        assertEquals(TcpFlags.SYN | TcpFlags.ACK, answer.flags);
        assertEquals(1, d.engine.connectionCount());
        Segment ack = new Segment().source(0, Dialogue.THERE, 6000).destination(0, Dialogue.HERE, Dialogue.PORT)
                .flags(TcpFlags.ACK).seq(78).ack(answer.seq + 1).window(100).timestamps(510, answer.tsValue);
        d.now += 60_000_000_000L;
        d.engine.onSegment(ack, d.now);
        d.heard("accepted");
        TcpConnection c = d.events.accepted;
        assertEquals(1400 - 12, c.segmentBytes());
        assertEquals(100 << 5, c.sendWindowBytes());
        assertEquals(true, c.is(Tcb.SACK));
        assertEquals(answer.seq + 1, c.sndNxt());
        c.send(io.netty.buffer.Unpooled.wrappedBuffer(new byte[10]));
        Segment data = new Segment();
        d.engine.pollSegment(d.now, data);
        assertEquals(10, data.payloadLength());
        assertEquals(78, data.ack);
    }

    /** The send time of a SYN cookie is not stored, so the ACK that returns it gives no RTT sample. */
    @Test
    void connectionFromCookieHasNoRttSample() {
        Dialogue d = new Dialogue(TcpConfig.builder().synCookies(TcpConfig.SynCookieMode.ALWAYS)).listen(1);
        Segment answer = new Segment();
        d.engine.onSegment(syn(6000).timestamps(500, 0), d.now);
        d.engine.pollSegment(d.now, answer);
        d.now += 30_000_000L;
        d.engine.onSegment(new Segment().source(0, Dialogue.THERE, 6000)
                .destination(0, Dialogue.HERE, Dialogue.PORT).flags(TcpFlags.ACK).seq(78).ack(answer.seq + 1)
                .window(100).timestamps(510, answer.tsValue), d.now);
        TcpConnection c = d.events.accepted;
        assertEquals(0, c.srttNanos);
        assertEquals(Tcb.NEVER, c.minRttNanos);
        assertEquals(1_000_000_000, c.rtoNanos);
        c.send(io.netty.buffer.Unpooled.wrappedBuffer(new byte[10]));
        assertEquals(true, d.engine.pollSegment(d.now, answer));
        assertEquals(false, d.engine.pollSegment(d.now, answer));
        // RFC 6298 (2.1): no retransmission during the first second.
        assertEquals(Tcb.RetransmitTimer.RTO, c.retransmitTimer);
        assertEquals(d.now + 1_000_000_000L, c.retransmitDeadlineNanos);
        d.now += 50_000_000L;
        d.engine.onSegment(new Segment().source(0, Dialogue.THERE, 6000)
                .destination(0, Dialogue.HERE, Dialogue.PORT).flags(TcpFlags.ACK).seq(78).ack(c.sndNxt())
                .window(100).timestamps(560, c.timestamp(d.now - 50_000_000L)), d.now);
        assertEquals(50_000_000L, c.srttNanos);
        assertEquals(50_000_000L, c.minRttNanos);
    }

    /**
     * If the backlog overflows, most half-open connections belong to a flood. A real client retransmits its SYN.
     */
    @Test
    void synAcksAreNotRetransmittedWhileBacklogOverflows() {
        Dialogue d = new Dialogue(TcpConfig.builder()).listen(1);
        d.hears("S 0 mss 1000").says("SA 0 ack 1");
        Segment cookie = new Segment();
        d.after(900);
        d.engine.onSegment(syn(6000), d.now);
        d.engine.pollSegment(d.now, cookie);
        d.after(200).saysNothing();
        assertEquals(1, d.engine.counters().synAcksWithheld);
        d.hears("S 0 mss 1000").says("SA 0 ack 1");
        d.after(2100).says("SA 0 ack 1").hears("A 1 ack 1").heard("accepted");
        assertEquals(1, d.engine.counters().synAcksWithheld);
    }

    @Test
    void forgedAndOldCookiesAreReset() {
        Dialogue d = new Dialogue(TcpConfig.builder().synCookies(TcpConfig.SynCookieMode.ALWAYS)).listen(1);
        Segment out = new Segment();
        d.engine.onSegment(syn(6000), d.now);
        d.engine.pollSegment(d.now, out);
        int cookie = out.seq;
        // RFC 4987: without timestamps, options cannot be encoded.
        assertEquals(false, out.sackPermitted);
        for (int flip = 0; flip < 32; flip++) {
            Segment forged = new Segment().source(0, Dialogue.THERE, 6000).destination(0, Dialogue.HERE, Dialogue.PORT)
                    .flags(TcpFlags.ACK).seq(78).ack((cookie ^ 1 << flip) + 1);
            d.engine.onSegment(forged, d.now);
            d.engine.pollSegment(d.now, out);
            assertEquals(TcpFlags.RST, out.flags, "bit " + flip);
        }
        // Data that arrives before the ACK is not answered with RST, because the ACK will open the connection.
        Segment data = new Segment().source(0, Dialogue.THERE, 6000).destination(0, Dialogue.HERE, Dialogue.PORT)
                .flags(TcpFlags.ACK).seq(88).ack(cookie + 1)
                .payload(io.netty.buffer.Unpooled.wrappedBuffer(new byte[5]), 0, 5);
        d.engine.onSegment(data, d.now);
        assertEquals(false, d.engine.pollSegment(d.now, out));
        d.now += 130_000_000_000L;
        d.engine.onSegment(data, d.now);
        assertEquals(true, d.engine.pollSegment(d.now, out));
        assertEquals(TcpFlags.RST, out.flags);
        d.engine.onSegment(new Segment().source(0, Dialogue.THERE, 6000)
                .destination(0, Dialogue.HERE, Dialogue.PORT).flags(TcpFlags.ACK).seq(78).ack(cookie + 1), d.now);
        assertEquals(0, d.engine.connectionCount());
        assertEquals(35, d.engine.counters().synCookiesRejected);
    }

    // ---- ICMP ----

    private static void icmp(Dialogue d, IcmpErrorKind error, int seq, int mtu) {
        d.engine.onIcmp(error, 0, Dialogue.HERE, 4000, 0, Dialogue.THERE, Dialogue.PEER_PORT, Dialogue.ISS + seq, mtu,
                d.now);
    }

    @Test
    void icmpErrorEndsConnectionAttemptOnly() {
        Dialogue d = new Dialogue(plain()).connect();
        d.says("S 0");
        icmp(d, IcmpErrorKind.PORT_UNREACHABLE, 1, 0);
        d.state(SYN_SENT);
        icmp(d, IcmpErrorKind.TIME_EXCEEDED, 0, 0);
        d.state(SYN_SENT).heard("softError TIME_EXCEEDED");
        icmp(d, IcmpErrorKind.PORT_UNREACHABLE, 0, 0);
        d.heard("closed REFUSED");

        Dialogue open = established(plain());
        open.send(10).says("PA 1 len 10 ack 1");
        icmp(open, IcmpErrorKind.PORT_UNREACHABLE, 11, 0);
        open.heard();
        icmp(open, IcmpErrorKind.PORT_UNREACHABLE, 1, 0);
        open.heard("softError PORT_UNREACHABLE").state(ESTABLISHED);

        Dialogue unreachable = new Dialogue(plain()).connect();
        unreachable.says("S 0");
        icmp(unreachable, IcmpErrorKind.HOST_UNREACHABLE, 0, 0);
        unreachable.heard("closed UNREACHABLE");
    }

    @Test
    void packetTooBigSplitsSegmentsInFlight() {
        Dialogue d = established(plain(), "SA 0 ack 1 mss 1460 sackOK");
        d.send(2920).says("A 1 len 1460 ack 1", "PA 1461 len 1460 ack 1");
        int cwnd = d.c.congestionWindowBytes();
        icmp(d, IcmpErrorKind.PACKET_TOO_BIG, 5000, 1000);
        d.saysNothing();
        icmp(d, IcmpErrorKind.PACKET_TOO_BIG, 1, 1000);
        d.says("A 1 len 960 ack 1", "A 961 len 500 ack 1", "A 1461 len 960 ack 1", "PA 2421 len 500 ack 1");
        assertEquals(1000, d.c.pathMtuBytes());
        d.hears("A 1 ack 2921");
        assertEquals(true, d.c.congestionWindowBytes() >= cwnd);
        // A message with a larger MTU has no effect. RFC 1191 section 6.3: the link MTU is tried again after ten
        // minutes.
        d.send(3000).says("A 2921 len 960 ack 1", "A 3881 len 960 ack 1", "A 4841 len 960 ack 1",
                "PA 5801 len 120 ack 1");
        icmp(d, IcmpErrorKind.PACKET_TOO_BIG, 2921, 1200);
        d.saysNothing().hears("A 1 ack 5921").after(601_000).send(1460).says("PA 5921 len 1460 ack 1");
    }

    @Test
    void nextHopMtuOfZeroSelectsNextPlateau() {
        Dialogue d = established(plain(), "SA 0 ack 1 mss 1460");
        d.send(10).says("PA 1 len 10 ack 1");
        icmp(d, IcmpErrorKind.PACKET_TOO_BIG, 1, 0);
        assertEquals(1492, d.c.pathMtuBytes());
        icmp(d, IcmpErrorKind.PACKET_TOO_BIG, 1, 68);
        assertEquals(552, d.c.pathMtuBytes());
        Dialogue narrow = established(plain().minPathMtuBytes(296), "SA 0 ack 1 mss 1460");
        narrow.send(10).says("PA 1 len 10 ack 1");
        icmp(narrow, IcmpErrorKind.PACKET_TOO_BIG, 1, 68);
        assertEquals(296, narrow.c.pathMtuBytes());
    }

    /**
     * RFC 5927 section 7.2: a single forged message must not force the whole flight to be resent in small
     * segments.
     */
    @Test
    void messageThatContradictsDeliveryWaitsForTimeout() {
        Dialogue d = established(plain(), "SA 0 ack 1 mss 1460 sackOK");
        d.send(1460).says("PA 1 len 1460 ack 1").hears("A 1 ack 1461");
        d.send(2920).says("A 1461 len 1460 ack 1", "PA 2921 len 1460 ack 1");
        icmp(d, IcmpErrorKind.PACKET_TOO_BIG, 1461, 552);
        d.saysNothing();
        assertEquals(1500, d.c.pathMtuBytes());
        assertEquals(1, d.engine.counters().pathMtuReductionsDeferred);
        // The quoted data arrives, so the message was wrong and is discarded.
        d.hears("A 1 ack 2921").after(50);
        d.after(1000);
        assertEquals(1500, d.c.pathMtuBytes());
        assertEquals(0, d.engine.counters().pathMtuReductions);

        Dialogue narrowed = established(plain(), "SA 0 ack 1 mss 1460 sackOK");
        narrowed.send(1460).says("PA 1 len 1460 ack 1").hears("A 1 ack 1461");
        narrowed.send(2920).says("A 1461 len 1460 ack 1", "PA 2921 len 1460 ack 1");
        icmp(narrowed, IcmpErrorKind.PACKET_TOO_BIG, 2921, 800);
        icmp(narrowed, IcmpErrorKind.PACKET_TOO_BIG, 1461, 1000);
        narrowed.saysNothing().after(230);
        assertEquals(800, narrowed.c.pathMtuBytes());
        assertEquals(1, narrowed.engine.counters().pathMtuReductions);
        narrowed.events.events.clear();
        // On the narrower path, messages that do not contradict delivered segments are applied at once again.
        narrowed.hears("A 1 ack 4381");
        assertEquals(0, narrowed.c.queuedBytes());
        narrowed.send(700).after(0);
        icmp(narrowed, IcmpErrorKind.PACKET_TOO_BIG, 4381, 799);
        assertEquals(800, narrowed.c.pathMtuBytes());
    }

    /**
     * Splitting into smaller segments may exceed the limit of segments in flight. New data waits then;
     * retransmissions continue.
     */
    @Test
    void splitSegmentsBeyondFlightLimitAreRetransmitted() {
        TcpLimits limits = TcpLimits.builder().maxSegmentsInFlight(64).build();
        Dialogue d = established(plain().limits(limits), "SA 0 ack 1 mss 1460 ws 8 sackOK");
        d.c.cwnd = 1 << 20;
        d.send(1460).says("PA 1 len 1460 ack 1").hears("A 1 ack 1461").send(200 * 1460).after(0);
        icmp(d, IcmpErrorKind.PACKET_TOO_BIG, 1461, 552);
        d.after(300);
        assertEquals(552, d.c.pathMtuBytes());
        int before = d.c.retransmittedSegments;
        d.hears("A 1 ack 1973").after(0);
        assertEquals(true, d.c.retransmittedSegments > before);
    }

    @Test
    void impossibleMtuIsIgnored() {
        Dialogue d = established(plain(), "SA 0 ack 1 mss 1460 sackOK");
        d.send(1460).says("PA 1 len 1460 ack 1");
        icmp(d, IcmpErrorKind.PACKET_TOO_BIG, 1, 0x80000000);
        icmp(d, IcmpErrorKind.PACKET_TOO_BIG, 1, -1);
        d.saysNothing();
        assertEquals(1500, d.c.pathMtuBytes());
        assertEquals(2, d.engine.counters().icmpIgnored);
    }

    /** RFC 8201 section 4: messages with an MTU below 1280 must be discarded. */
    @Test
    void ipv6PathMtuNeverFallsBelow1280() {
        long high = 0x2001_0db8_0000_0000L;
        Recorder events = new Recorder();
        TcpEngine engine = new TcpEngine(TcpConfig.DEFAULT, events, new java.util.SplittableRandom(1), 0);
        TcpConnection c = engine.connect(0, high, 1, 4000, high, 2, 80, null, 0, null);
        Segment syn = new Segment();
        assertEquals(true, engine.pollSegment(0, syn));
        for (int mtu : new int[] {0, 68, 1279}) {
            engine.onIcmp(IcmpErrorKind.PACKET_TOO_BIG, high, 1, 4000, high, 2, 80, syn.seq, mtu, 0);
            assertEquals(1500, c.pathMtuBytes());
        }
        assertEquals(3, engine.counters().icmpIgnored);
        engine.onIcmp(IcmpErrorKind.PACKET_TOO_BIG, high, 1, 4000, high, 2, 80, syn.seq, 1280, 0);
        assertEquals(1280, c.pathMtuBytes());
    }

    @Test
    void initialSequenceNumbersDifferByConnectionAndTime() {
        InitialSequence isn = new InitialSequence(new SipHash(1, 2), null);
        int first = isn.isn(0, 1, 2, 0, 3, 4, 0);
        assertNotEquals(first, isn.isn(0, 1, 2, 0, 3, 5, 0));
        assertEquals(250, isn.isn(0, 1, 2, 0, 3, 4, 1_000_000) - first);
    }
}
