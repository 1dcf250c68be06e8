package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.TcpState.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.congestion.Bbr;
import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.CongestionWindow;
import io.rdmaraw.tcp.congestion.Dctcp;
import io.rdmaraw.tcp.congestion.NewReno;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * RFC 9768. The ACE field is written as its flags: e is 4, C is 2, E is 1. Both ends start counting at 5, which
 * is Ee. 6 is Ce, 7 is ECe, and 0 is no flag.
 */
class AccurateEcnTest {
    private static TcpConfig.Builder accurate() {
        return Dialogue.plain().ecn(TcpConfig.EcnMode.ACCURATE);
    }

    /** Returns a connection opened by us, without quick ACKs. */
    private static Dialogue client(TcpConfig.Builder config) {
        Dialogue d = new Dialogue(config).connect().says("SECe 0").after(10);
        d.hears("SAC 0 ack 1 mss 1000 sackOK").says("AC 1 ack 1 ect");
        d.heard("connected");
        return d.withoutQuickAcks();
    }

    /** Returns a connection opened by the peer, without quick ACKs. */
    private static Dialogue server(TcpConfig.Builder config) {
        Dialogue d = new Dialogue(config).listen(8);
        d.hears("SECe 0 mss 1000 sackOK").says("SAC 0 ack 1").after(10).hears("AC 1 ack 1").heard("accepted");
        return d.withoutQuickAcks();
    }

    private static Dialogue sends(Dialogue d, int segments) {
        int first = d.c.sndNxt - Dialogue.ISS;
        d.send(1000 * segments);
        String[] all = new String[segments];
        for (int i = 0; i < segments; i++) {
            all[i] = (i == segments - 1 ? "P" : "") + "AEe " + (first + 1000 * i) + " len 1000 ack 1 ect";
        }
        return d.says(all);
    }

    private static long echoed(Dialogue d) {
        return d.engine.counters().congestionMarksEchoed;
    }

    // ---- negotiation (section 3.1) ----

    /** Table 2: the meaning of a SYN-ACK, the ACK that answers it, and the first data segment. */
    @ParameterizedTest
    @CsvSource({
            "SAC,   AC 1 ack 1, PAEe 1 len 10 ack 1 ect",
            "SAEC,  AC 1 ack 1, PAEe 1 len 10 ack 1",
            "SAe,   AC 1 ack 1, PAEe 1 len 10 ack 1",
            "SACe,  AC 1 ack 1, PAEe 1 len 10 ack 1",
            "SAEe,  AC 1 ack 1, PAEe 1 len 10 ack 1 ect",
            "SAE,   A 1 ack 1,  PA 1 len 10 ack 1 ect",
            "SA,    A 1 ack 1,  PA 1 len 10 ack 1",
            "SAECe, A 1 ack 1,  PA 1 len 10 ack 1"})
    void synAckSelectsFeedback(String synAck, String ack, String data) {
        Dialogue d = new Dialogue(accurate()).connect().says("SECe 0").after(10);
        d.hears(synAck + " 0 ack 1 mss 1000").says(ack).send(10).says(data);
        boolean marked = synAck.equals("SACe");
        assertEquals(marked ? 1 : 0, d.engine.counters().ecnReductions, "the SYN had a mark");
        assertEquals(marked ? 7000 : 10_000, d.c.congestionWindowBytes());
    }

    /** Table 2 and section 3.1.3: the SYN-ACK of a listener that accepts accurate feedback. */
    @ParameterizedTest
    @CsvSource({
            "SECe 0,     SAC 0 ack 1",
            "SECe 0 ect, SAe 0 ack 1",
            "SECe 0 ce,  SACe 0 ack 1",
            "SE 0,       SAC 0 ack 1",
            "SC 0,       SAC 0 ack 1",
            "Se 0,       SAC 0 ack 1",
            "SEe 0,      SAC 0 ack 1",
            "SCe 0,      SAC 0 ack 1",
            "SEC 0,      SAE 0 ack 1",
            "S 0,        SA 0 ack 1"})
    void synSelectsFeedbackOfListener(String syn, String synAck) {
        for (TcpConfig.EcnMode mode : new TcpConfig.EcnMode[] {TcpConfig.EcnMode.ACCURATE,
                TcpConfig.EcnMode.ACCURATE_PASSIVE}) {
            new Dialogue(Dialogue.plain().ecn(mode)).listen(8).hears(syn + " mss 1000").says(synAck);
        }
    }

    @ParameterizedTest
    @EnumSource(TcpConfig.EcnMode.class)
    void eachModeOffersItsFeedback(TcpConfig.EcnMode mode) {
        new Dialogue(Dialogue.plain().ecn(mode)).connect().says(switch (mode) {
            case OFF, PASSIVE, ACCURATE_PASSIVE -> "S 0";
            case ACTIVE -> "SEC 0";
            case ACCURATE -> "SECe 0";
        });
        new Dialogue(Dialogue.plain().ecn(mode)).listen(8).hears("SECe 0 mss 1000").says(switch (mode) {
            case OFF -> "SA 0 ack 1";
            case PASSIVE, ACTIVE -> "SAE 0 ack 1";
            case ACCURATE, ACCURATE_PASSIVE -> "SAC 0 ack 1";
        });
    }

    /** As on Linux: a control that counts marks offers classic ECN if accurate feedback is not offered. */
    @Test
    void dctcpOffersEcnUnlessItIsOff() {
        new Dialogue(accurate().congestionControl(Dctcp::new)).connect().says("SECe 0");
        new Dialogue(Dialogue.plain().ecn(TcpConfig.EcnMode.ACCURATE_PASSIVE).congestionControl(Dctcp::new)).connect()
                .says("SEC 0");
    }

    /** Table 4: the last ACK of the handshake reports the IP-ECN codepoint of the SYN-ACK to the server. */
    @ParameterizedTest
    @CsvSource({"AC, ect, 0, true", "AE, ect, 0, true", "AEe, ect, 0, true", "AECe, ect, 0, true",
            "AEC, '', 0, true", "Ae, '', 0, true", "ACe, '', 1, true", "A, '', 0, false"})
    void lastAckOfHandshakeEchoesSynAck(String flags, String ect, int reductions, boolean believed) {
        Dialogue d = new Dialogue(accurate()).listen(8);
        d.hears("SECe 0 mss 1000 sackOK").says("SAC 0 ack 1").hears(flags + " 1 ack 1").heard("accepted");
        assertEquals(reductions, d.engine.counters().ecnReductions);
        d.send(10).says(("PAEe 1 len 10 ack 1 " + ect).strip());
        // The next mark is the first or the second one.
        boolean had = flags.equals("ACe");
        d.after(10).hears(had ? "AECe 1 ack 11" : "ACe 1 ack 11");
        assertEquals(believed ? 1 : 0, echoed(d));
        assertEquals(reductions + (believed ? 1 : 0), d.engine.counters().ecnReductions);
        // Marks from the peer are counted, whatever feedback it gives.
        d.c.quickAcks = 0;
        d.hears("AEe 1 len 10 ack 11 ce").says(("ACe 11 ack 11 " + ect).strip());
    }

    /** The IP-ECN codepoint of the SYN-ACK is echoed in a separate ACK before data. A mark on it counts once. */
    @ParameterizedTest
    @CsvSource({"'', AC 1 ack 1, PAEe", "ect, Ae 1 ack 1, PAEe", "ce, ACe 1 ack 1, PACe"})
    void ackOfSynAckEchoesItsCodepoint(String ecn, String ack, String data) {
        Dialogue d = new Dialogue(accurate()).connect();
        d.send(10).says("SECe 0").after(10);
        d.hears(("SAC 0 ack 1 mss 1000 " + ecn).strip()).says(ack, data + " 1 len 10 ack 1 ect");
        // The ACK was lost. The handshake uses the latest SYN-ACK, but its mark does not count again.
        d.after(200).hears("SAC 0 ack 1 mss 1000 ce");
        d.says("ACe 11 ack 1").hears("SAC 0 ack 1 mss 1000 ce").saysNothing();
        d.hears("AEe 1 ack 11").send(10).says("PACe 11 len 10 ack 1 ect");
    }

    /** The path drops ECT, and the client has no data of its own, so no timeout shows it. */
    @Test
    void secondRepeatedSynAckDisablesEctOfAcks() {
        Dialogue d = client(accurate());
        d.after(1000).hears("SAC 0 ack 1 mss 1000 sackOK").says("AC 1 ack 1 ect");
        d.after(2000).hears("SAC 0 ack 1 mss 1000 sackOK").says("AC 1 ack 1");
        d.hears("AEe 1 len 10 ack 1").after(50).says("AEe 1 ack 11").send(10).says("PAEe 1 len 10 ack 11 ect");
    }

    /** The path drops ECT, so the ACK that reported the duplicate was lost. */
    @Test
    void lostAckWithDuplicateDisablesEctOfAcks() {
        Dialogue d = server(accurate());
        d.hears("AEe 1 len 10 ack 1").after(50).says("AEe 1 ack 11 ect");
        d.hears("AEe 1 len 10 ack 1").says("AEe 1 ack 11 sack 1-11 ect");
        d.hears("AEe 1 len 10 ack 1").says("AEe 1 ack 11 sack 1-11");
        d.hears("AEe 11 len 10 ack 1").after(50).says("AEe 1 ack 21").send(10).says("PAEe 1 len 10 ack 21 ect");
    }

    /** Keepalive does not count timeouts. */
    @Test
    void unansweredKeepAliveProbesDisableEct() {
        Dialogue d = server(accurate());
        d.c.keepAlive(true);
        d.waits(8_000_000);
        d.says("AEe 0 ack 1 ect").waits(80_000);
        d.says("AEe 0 ack 1 ect").waits(80_000);
        d.says("AEe 0 ack 1").hears("AEe 1 ack 1").send(10).says("PAEe 1 len 10 ack 1 ect");
    }

    /** Section 3.2.2.1: an ACK that echoes the handshake has no SACK blocks. */
    @Test
    void dataAfterSynAckIsSackedInSecondAck() {
        Dialogue d = new Dialogue(accurate()).connect().says("SECe 0").after(10);
        d.hears("SAC 0 ack 1 mss 1000 sackOK").hears("AEe 101 len 100 ack 1 ce");
        d.says("AC 1 ack 1 ect", "ACe 1 ack 1 sack 101-201 ect");
    }

    /**
     * Section 3.1.4.1: the first two SYNs offer accurate feedback, later ones do not. The answer may be for
     * either.
     */
    @Test
    void firstTwoSynsOfferAccurateFeedback() {
        Dialogue d = new Dialogue(accurate()).connect().says("SECe 0");
        d.waits(1100);
        d.says("SECe 0").waits(2100);
        d.says("S 0").waits(4100);
        d.says("S 0").hears("SAC 0 ack 1 mss 1000").says("AC 1 ack 1").send(10).says("PAEe 1 len 10 ack 1 ect");
        Dialogue plain = new Dialogue(accurate()).connect().says("SECe 0");
        plain.waits(1100);
        plain.says("SECe 0").hears("SAE 0 ack 1 mss 1000").says("A 1 ack 1").send(10).says("PA 1 len 10 ack 1 ect");
    }

    /** RFC 3168 section 6.1.1.1: only the first SYN offers ECN. */
    @Test
    void onlyFirstSynOffersClassicFeedback() {
        Dialogue d = new Dialogue(Dialogue.plain().ecn(TcpConfig.EcnMode.ACTIVE)).connect().says("SEC 0");
        d.waits(1100);
        d.says("S 0").hears("SAE 0 ack 1 mss 1000").says("A 1 ack 1").send(10).says("PA 1 len 10 ack 1");
    }

    /** Sections 3.2.3.2.2 and 3.1.5: the client may have read the last SYN-ACK as a refusal. */
    @Test
    void thirdSynAckFallsBack() {
        Dialogue d = new Dialogue(accurate()).listen(8).hears("SECe 0 mss 1000").says("SAC 0 ack 1");
        d.waits(1100);
        d.says("SAC 0 ack 1").waits(2100);
        d.says("SA 0 ack 1").hears("AC 1 ack 1").heard("accepted");
        d.c.quickAcks = 0;
        d.send(10).says("PAEe 1 len 10 ack 1");
        // Marks are still counted in both directions.
        d.hears("ACe 1 ack 11").hears("ACe 1 len 10 ack 11 ce").says("ACe 11 ack 11");
        assertEquals(1, echoed(d));
    }

    /** Section 3.1.5: a repeated SYN without the offer stops the use of ECT. */
    @Test
    void repeatedSynWithoutOfferStopsEct() {
        Dialogue d = new Dialogue(accurate()).listen(8).hears("SECe 0 mss 1000").says("SAC 0 ack 1");
        d.hears("SECe 0 ce mss 1000").says("SACe 0 ack 1").after(100);
        d.hears("S 0 mss 1000").says("SAC 0 ack 1").hears("AC 1 ack 1").send(10).says("PAEe 1 len 10 ack 1");
        Dialogue none = new Dialogue(accurate()).listen(8).hears("S 0 mss 1000").says("SA 0 ack 1");
        none.hears("SECe 0 mss 1000").says("SA 0 ack 1").hears("AC 1 ack 1").send(10).says("PA 1 len 10 ack 1");
    }

    /** Section 3.1.5: the two ends might disagree about the negotiated feedback. */
    @ParameterizedTest
    @ValueSource(strings = {"SECe 0,SAC 0 ack 1,SEC 0", "SEC 0,SAE 0 ack 1,SECe 0"})
    void synsWithDifferentOffersResetTheHandshake(String texts) {
        String[] text = texts.split(",");
        Dialogue d = new Dialogue(accurate()).listen(8).hears(text[0] + " mss 1000").says(text[1]);
        d.hears(text[2] + " mss 1000").says("RA 1 ack 1");
        assertEquals(0, d.engine.connectionCount());
        // A server without accurate feedback does not distinguish the two.
        Dialogue passive = new Dialogue(Dialogue.plain()).listen(8).hears("SEC 0 mss 1000").says("SAE 0 ack 1");
        passive.hears("SECe 0 mss 1000").says("SAE 0 ack 1");
    }

    /** Section 3.1.2: in a simultaneous open, each end answers as a listener. */
    @Test
    void simultaneousOpenAgreesAsAListenerWould() {
        Dialogue d = new Dialogue(accurate()).connect().says("SECe 0");
        d.hears("SECe 0 mss 1000 ect").says("SAe 0 ack 1").hears("SAC 0 ack 1 mss 1000").state(ESTABLISHED);
        d.send(10).says("PAEe 1 len 10 ack 1 ect").after(10).hears("ACe 1 ack 11");
        assertEquals(1, echoed(d));
        Dialogue classic = new Dialogue(accurate()).connect().says("SECe 0");
        classic.hears("SEC 0 mss 1000").says("SA 0 ack 1").hears("SA 0 ack 1 mss 1000").send(10);
        classic.says("PA 1 len 10 ack 1");
    }

    /** A server that waits for data knows that the client has received its SYN-ACK. */
    @Test
    void deferredAcceptKeepsAccurateFeedback() {
        Dialogue d = new Dialogue(accurate());
        d.engine.listen(0, 0, Dialogue.PORT, 8, "listener").deferAccept(10);
        d.hears("SECe 0 mss 1000").says("SAC 0 ack 1").hears("AC 1 ack 1").after(8000).saysNothing();
        d.hears("PAEe 1 len 10 ack 1").says("AEe 1 ack 11").heard("accepted");
        d.send(10).says("PAEe 1 len 10 ack 11 ect");
        d = new Dialogue(accurate());
        d.engine.listen(0, 0, Dialogue.PORT, 8, "listener").deferAccept(2);
        d.hears("SECe 0 mss 1000").says("SAC 0 ack 1").hears("AC 1 ack 1").waits(20_000);
        d.says("SAC 0 ack 1").hears("AC 1 ack 1").heard("accepted").send(10).says("PAEe 1 len 10 ack 1 ect");
    }

    // ---- SYN cookies (section 5.1) ----

    /** Opens a connection by a SYN cookie. Returns the first data segment that it sends. */
    private static Segment byCookie(TcpConfig.Builder config, boolean timestamps, int synFlags, int ackFlags,
            int dataBytes) {
        Dialogue d = new Dialogue(config.timestamps(true).synCookies(TcpConfig.SynCookieMode.ALWAYS)).listen(8);
        Segment in = fromPeer(TcpFlags.SYN | synFlags).seq(77).mss(1000);
        if (timestamps) {
            in.timestamps(500, 0);
        }
        Segment out = new Segment();
        d.engine.onSegment(in, d.now);
        assertTrue(d.engine.pollSegment(d.now, out));
        assertEquals(AccurateEcn.offeredFeedback(in) == Ecn.Feedback.ACCURATE ? TcpFlags.CWR
                : synFlags == 0 || !timestamps ? 0 : TcpFlags.ECE, out.flags & AccurateEcn.ACE_FLAGS);
        Segment ack = fromPeer(TcpFlags.ACK | ackFlags).seq(78).ack(out.seq + 1);
        if (timestamps) {
            ack.timestamps(510, out.tsValue);
        }
        if (dataBytes > 0) {
            ack.payload(Unpooled.wrappedBuffer(new byte[dataBytes]), 0, dataBytes);
        }
        d.engine.onSegment(ack, d.now);
        d.events.accepted.send(Unpooled.wrappedBuffer(new byte[10]));
        assertTrue(d.engine.pollSegment(d.now, out));
        return out;
    }

    private static Segment fromPeer(int flags) {
        return new Segment().source(0, Dialogue.THERE, 6000).destination(0, Dialogue.HERE, Dialogue.PORT).flags(flags)
                .window(10_000);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void cookieKeepsNegotiatedFeedback(boolean timestamps) {
        int five = TcpFlags.AE | TcpFlags.ECE;
        for (int dataBytes : new int[] {0, 10}) {
            Segment data = byCookie(accurate(), timestamps, AccurateEcn.ACE_FLAGS, dataBytes > 0 ? five : TcpFlags.CWR,
                    dataBytes);
            assertEquals(five, data.flags & AccurateEcn.ACE_FLAGS, "after " + dataBytes);
            assertEquals(Segment.ECN_ECT0, data.ecn);
        }
        int classic = TcpFlags.CWR | TcpFlags.ECE;
        Segment data = byCookie(accurate(), timestamps, classic, 0, 0);
        assertEquals(0, data.flags & AccurateEcn.ACE_FLAGS);
        assertEquals(timestamps ? Segment.ECN_ECT0 : Segment.ECN_NOT_ECT, data.ecn);
        data = byCookie(accurate(), timestamps, 0, 0, 0);
        assertEquals(0, data.flags & AccurateEcn.ACE_FLAGS);
        assertEquals(Segment.ECN_NOT_ECT, data.ecn);
        // The client uses classic ECN, and its ACK reports a mark on the SYN-ACK.
        data = byCookie(accurate(), timestamps, 0, TcpFlags.ECE, 0);
        assertEquals(0, data.flags & AccurateEcn.ACE_FLAGS);
        assertEquals(Segment.ECN_NOT_ECT, data.ecn);
    }

    @Test
    void serverWithoutAccurateFeedbackIgnoresAckFlags() {
        Segment data = byCookie(Dialogue.plain().ecn(TcpConfig.EcnMode.OFF), false, 0, TcpFlags.AE | TcpFlags.CWR, 0);
        assertEquals(0, data.flags & AccurateEcn.ACE_FLAGS);
        data = byCookie(Dialogue.plain(), false, 0, AccurateEcn.ACE_FLAGS, 0);
        assertEquals(0, data.flags & AccurateEcn.ACE_FLAGS);
        assertEquals(Segment.ECN_NOT_ECT, data.ecn);
    }

    // ---- the receiver (section 3.2.2) ----

    /** Section 3.2.2.5.1: the first mark causes an ACK, then every second one, or every third one without data. */
    @Test
    void marksCauseAcks() {
        Dialogue d = server(accurate());
        d.hears("PAEe 1 len 10 ack 1 ect").saysNothing();
        d.hears("PAEe 11 len 10 ack 1 ce").says("ACe 1 ack 21 ect");
        d.hears("PAEe 21 len 10 ack 1 ce").saysNothing();
        d.hears("PAEe 31 len 10 ack 1 ce").says("A 1 ack 41 ect");
        d.hears("PAEe 41 len 10 ack 1 ce").saysNothing();
        d.hears("PAEe 51 len 10 ack 1 ect").saysNothing();
        d.hears("PAEe 61 len 10 ack 1 ce").says("AC 1 ack 71 ect");
        d.hears("AEe 71 ack 1 ce").hears("AEe 71 ack 1 ce").saysNothing();
        d.hears("AEe 71 ack 1 ce").says("AEe 1 ack 71 ect");
        assertEquals(8, d.engine.counters().congestionMarksIn);
    }

    /** Data, retransmissions, ACKs and FINs all carry the present count. */
    @Test
    void everySegmentCarriesTheCount() {
        Dialogue d = client(accurate());
        d.send(1000).says("PAEe 1 len 1000 ack 1 ect");
        d.hears("AEe 1 len 10 ack 1 ce").says("ACe 1001 ack 11 ect");
        d.send(1000).says("PACe 1001 len 1000 ack 11 ect");
        d.hears("AEe 11 len 10 ack 1 ce").hears("AEe 21 len 10 ack 1 ce").says("A 2001 ack 31 ect");
        // A retransmission, an ACK and a FIN.
        assertTrue(d.waits(1000) < 1000);
        d.says("PA 1001 len 1000 ack 31 ect").hears("AEe 31 ack 2001");
        d.hears("FAEe 31 ack 2001 ce").says("AE 2001 ack 32 ect");
        d.c.close();
        d.says("FAE 2001 ack 32 ect");
    }

    /** A run of merged frames has as many marks as segments. */
    @Test
    void eachMergedFrameCountsAsMarked() {
        Dialogue d = server(accurate());
        d.hears("AEe 1 len 4000 of 1000 ack 1 ce").says("AE 1 ack 4001 ect");
        assertEquals(4, d.engine.counters().congestionMarksIn);
    }

    /** With more than seven marks per ACK, the field would wrap. */
    @Test
    void burstOfMarksIsReportedInSeveralAcks() {
        Dialogue d = server(accurate());
        for (int i = 0; i < 10; i++) {
            d.hears("AEe " + (1 + 100 * i) + " len 100 ack 1 ce");
        }
        d.says("Ae 1 ack 701 ect", "AECe 1 ack 1001 ect");
    }

    /** A probe of the closed window is not acceptable, although its ACK field is used. */
    @Test
    void marksOfProbesOfClosedWindowDoNotCount() {
        Dialogue d = server(accurate());
        d.c.rcvAdv = d.c.rcvNxt;
        d.hears("AEe 1 len 1 ack 1 ce");
        assertEquals(0, d.engine.counters().congestionMarksIn);
    }

    /** Duplicates and segments outside the window are not acceptable. */
    @Test
    void marksOfUnacceptableSegmentsDoNotCount() {
        Dialogue d = server(accurate());
        d.hears("AEe 1 len 100 ack 1 ce").says("ACe 1 ack 101 ect");
        d.hears("AEe 1 len 100 ack 1 ce").says("ACe 1 ack 101 sack 1-101 ect");
        d.hears("AEe 9000001 len 100 ack 1 ce").says("ACe 1 ack 101 ect");
        assertEquals(1, d.engine.counters().congestionMarksIn);
    }

    // ---- the sender ----

    @Test
    void counterWrapsAround() {
        Dialogue d = client(accurate());
        String[] flags = {"ACe", "AECe", "A", "AE", "AC", "AEC", "Ae", "AEe", "ACe"};
        for (int i = 0; i < flags.length; i++) {
            sends(d, 1).after(10).hears(flags[i] + " 1 ack " + (1 + 1000 * i));
            assertEquals(i, echoed(d), "acknowledges no new data");
            d.hears(flags[i] + " 1 ack " + (1001 + 1000 * i));
            assertEquals(i + 1, echoed(d));
        }
    }

    /** Appendix A.2.1: if ACKs are lost, the field may have wrapped. A peer that thins its ACKs has lost none. */
    @Test
    void lostAcksAreAssumedMarked() {
        Dialogue d = client(accurate().initialWindowSegments(40));
        sends(d, 1).after(10).hears("AEe 1 ack 1001");
        sends(d, 7).after(10).hears("AECe 1 ack 8001");
        assertEquals(2, echoed(d));
        sends(d, 9).after(10).hears("AE 1 ack 17001");
        assertEquals(4, echoed(d), "with 9 segments and 2 marks there can't be 10");
        sends(d, 10).after(10).hears("AEC 1 ack 27001");
        assertEquals(14, echoed(d), "with 10 there may have been");
        Dialogue thinned = client(accurate().initialWindowSegments(40));
        for (int i = 0; i < 4; i++) {
            sends(thinned, 10).after(10).hears("AEe 1 ack " + (10_001 + 10_000 * i));
        }
        assertEquals(0, echoed(thinned));
    }

    /** Section 3.2.2.5.2: the counter is reliable even if the number of segments is incomplete. */
    @Test
    void moreMarksThanSegmentsAreAccepted() {
        Dialogue d = client(accurate());
        sends(d, 2).after(10).hears("AEe 1 ack 1001").hears("A 1 ack 2001");
        assertEquals(3, echoed(d));
    }

    /** Appendix A.1. */
    @Test
    void supersededAcksAreIgnored() {
        Dialogue d = client(accurate());
        sends(d, 4).after(10).hears("ACe 1 ack 3001").hears("AEe 1 ack 1001").hears("AEe 1 ack 3001");
        assertEquals(1, echoed(d));
        d.hears("AECe 1 ack 3001 sack 3501-4001");
        assertEquals(1, echoed(d), "a part of a segment is no news");
        d.hears("AECe 1 ack 4001");
        assertEquals(2, echoed(d));
        Dialogue timed = new Dialogue(accurate().timestamps(true)).connect().says("SECe 0").after(10);
        int echo = timed.c.timestamp(timed.now - 10_000_000);
        timed.hears("SAC 0 ack 1 mss 1012 ts 100/" + echo).says("AC 1 ack 1");
        sends(timed, 2).after(10).hears("ACe 1 ack 1001 ts 120/" + echo);
        timed.hears("AECe 1 ack 1001 ts 121/" + echo);
        assertEquals(2, echoed(timed), "later, though it acknowledges nothing");
        timed.hears("ACe 1 ack 1001 ts 121/" + echo);
        assertEquals(2, echoed(timed));
        // Out of order, so PAWS does not record its timestamp.
        timed.hears("A 101 len 10 ack 1001 ts 125/" + echo).hears("AECe 1 ack 1001 ts 122/" + echo);
        assertEquals(3, echoed(timed));
    }

    /** Section 3.2.2.4. */
    @Test
    void clearedFieldIsIgnored() {
        Dialogue d = client(accurate());
        sends(d, 1).after(10).hears("A 1 ack 1001");
        d.send(1000).says("PAEe 1001 len 1000 ack 1");
        d.after(10).hears("A 1 ack 2001").hears("AE 1 len 10 ack 2001 ce").says("ACe 2001 ack 11");
        assertEquals(0, echoed(d));
        assertEquals(0, d.engine.counters().ecnReductions);
    }

    // ---- congestion response ----

    /** With nothing in flight, only ACKs can be marked. They say nothing about the path of the data. */
    @Test
    void marksWhileIdleDoNotReduceTheWindow() {
        Dialogue d = new Dialogue(accurate().timestamps(true)).connect().says("SECe 0").after(10);
        int echo = d.c.timestamp(d.now - 10_000_000);
        d.hears("SAC 0 ack 1 mss 1012 ts 100/" + echo).says("AC 1 ack 1");
        sends(d, 1).after(10).hears("AEe 1 ack 1001 ts 120/" + echo).hears("ACe 1 ack 1001 ts 121/" + echo);
        assertEquals(1, echoed(d));
        sends(d, 1).after(10).hears("ACe 1 ack 2001 ts 140/" + echo);
        assertEquals(0, d.engine.counters().ecnReductions);
        assertEquals(0, d.c.info().deliveredMarkedBytes());
    }

    @ParameterizedTest
    @CsvSource({"false, 7000", "true, 7000"})
    void marksReduceTheWindowOncePerRoundTrip(boolean alternativeBackoff, int window) {
        Dialogue d = client(accurate().alternativeBackoff(alternativeBackoff));
        sends(d, 6).after(10).hears("ACe 1 ack 1001");
        assertEquals(window, d.c.congestionWindowBytes(), "slow start: as for a loss");
        d.send(1000).says("PAEe 6001 len 1000 ack 1 ect");
        d.hears("AECe 1 ack 2001").hears("AE 1 ack 6001");
        assertEquals(4, echoed(d));
        assertEquals(1, d.engine.counters().ecnReductions, "sent before the reduction");
        int before = d.c.congestionWindowBytes();
        d.after(10).hears("AC 1 ack 7001");
        assertEquals(2, d.engine.counters().ecnReductions);
        assertEquals(before * (alternativeBackoff ? 0.85 : 0.7), d.c.congestionWindowBytes(), 1);
        d.send(10).says("PAEe 7001 len 10 ack 1 ect");
    }

    @Test
    void marksHalveTheWindowOfReno() {
        Dialogue d = client(accurate().congestionControl(NewReno::new));
        sends(d, 6).after(10).hears("ACe 1 ack 1001");
        assertEquals(5000, d.c.congestionWindowBytes(), "half of the window");
    }

    /** The loss already reduced the window. A mark on data sent since then is answered after recovery. */
    @Test
    void markInRecoveryIsAnsweredAfterwards() {
        Dialogue d = client(accurate());
        sends(d, 8).after(10).hears("ACe 1 ack 1 sack 1001-8001");
        d.says("AEe 1 len 1000 ack 1 ect");
        assertEquals(1, d.engine.counters().fastRecoveries);
        d.after(10).hears("AECe 1 ack 8001");
        assertEquals(2, echoed(d));
        assertEquals(0, d.engine.counters().ecnReductions);
        sends(d, 1).after(10).hears("A 1 ack 9001");
        assertEquals(1, d.engine.counters().ecnReductions);
    }

    /** RFC 4015 section 3.2: a mark is itself a sign of congestion. */
    @Test
    void markPreventsUndo() {
        for (String flags : new String[] {"AEe", "ACe"}) {
            Dialogue d = client(accurate());
            sends(d, 5).after(10).hears("AEe 1 ack 1 sack 1001-5001").says("AEe 1 len 1000 ack 1 ect");
            d.hears(flags + " 1 ack 5001 sack 1-1001");
            assertEquals(flags.equals("AEe") ? 1 : 0, d.engine.counters().spuriousRecoveries, flags);
        }
    }

    /** NewReno that records the reported marks. */
    private static final class Counting implements CongestionControl {
        final List<String> told = new ArrayList<>();
        private final NewReno reno = new NewReno();

        @Override
        public boolean countsMarks() {
            return true;
        }

        @Override
        public void onMarksEchoed(int ackedBytes, int markedBytes, int ackedSeq, int nextSeq) {
            told.add(markedBytes + " of " + ackedBytes);
        }

        @Override
        public int onAcked(CongestionWindow window, int ackedBytes, long nowNanos) {
            return reno.onAcked(window, ackedBytes, nowNanos);
        }

        @Override
        public int onCongestion(CongestionWindow window, int flightBytes, long nowNanos) {
            return reno.onCongestion(window, flightBytes, nowNanos);
        }

        @Override
        public String name() {
            return "counting";
        }
    }

    @Test
    void markedBytesAreReportedToDctcp() {
        Counting control = new Counting();
        Dialogue d = client(accurate().congestionControl(() -> control));
        sends(d, 8).after(10).hears("ACe 1 ack 2001").hears("A 1 ack 6001").hears("A 1 ack 8001");
        assertEquals(List.of("1000 of 2000", "2000 of 4000", "0 of 2000"), control.told);
        control.told.clear();
        // Data first reported by SACK counts when it is acknowledged.
        d = client(accurate().congestionControl(() -> control));
        sends(d, 3).after(10).hears("ACe 1 ack 1 sack 1001-2001").hears("ACe 1 ack 3001");
        assertEquals(List.of("1000 of 3000"), control.told);
    }

    @Test
    void marksAreReportedToBbr() {
        Dialogue d = client(accurate().congestionControl(Bbr::new));
        d.send(6000).says("AEe 1 len 1000 ack 1 ect", "AEe 1001 len 1000 ack 1 ect", "AEe 2001 len 1000 ack 1 ect",
                "AEe 3001 len 1000 ack 1 ect", "AEe 4001 len 1000 ack 1 ect", "PAEe 5001 len 1000 ack 1 ect");
        d.after(10).hears("ACe 1 ack 1001");
        assertEquals(1, d.engine.counters().ecnReductions);
    }

    /** A device sets CWR in the first segment only, but here it is a part of the count (section 3.3.4). */
    @Test
    void noOffloadWhileFieldContainsCwr() {
        Dialogue d = client(accurate().segmentationBytes(65_400));
        d.send(2000).says("PAEe 1 len 2000 ack 1 ect");
        d.hears("AEe 1 len 10 ack 1 ce").send(2000);
        d.says("ACe 2001 len 1000 ack 11 ect", "PACe 3001 len 1000 ack 11 ect");
    }

    @Test
    void infoReportsEcn() {
        Dialogue d = client(accurate());
        assertTrue(d.c.info().ecn());
        assertFalse(d.c.is(Tcb.CWR_PENDING | Tcb.ECE_PENDING));
        sends(d, 1).after(10).hears("ACe 1 ack 1001");
        assertEquals(1000, d.c.info().deliveredMarkedBytes());
        assertFalse(d.c.is(Tcb.CWR_PENDING | Tcb.ECE_PENDING));
    }
}
