package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The option of RFC 9768 section 3.2.3. It is written as its counters in the order ECT(1), CE, ECT(0). See
 * {@link AccurateEcnTest} for the flags.
 */
class AccEcnOptionTest {
    private static TcpConfig.Builder accurate() {
        return Dialogue.plain().ecn(TcpConfig.EcnMode.ACCURATE);
    }

    /** Returns a connection opened by us to a peer that sends the option, without quick ACKs. */
    private static Dialogue client(TcpConfig.Builder config) {
        Dialogue d = new Dialogue(config).connect().says("SECe 0 option none").after(10);
        d.hears("SAC 0 ack 1 mss 1012 sackOK option 1/0/1").says("AC 1 ack 1 option 1/0/1 ect").heard("connected");
        return d.withoutQuickAcks();
    }

    /** Returns a connection opened by a peer that sends the option, without quick ACKs. */
    private static Dialogue server(TcpConfig.Builder config, String options) {
        Dialogue d = new Dialogue(config).listen(8);
        d.hears("SECe 0 mss 1012 sackOK" + options).says("SAC 0 ack 1 option 1/0/1").after(10);
        d.hears("AC 1 ack 1 option 1/0/1").heard("accepted");
        return d.withoutQuickAcks();
    }

    private static Dialogue server() {
        return server(accurate(), "");
    }

    /** Sends full segments of 1000 bytes. */
    private static Dialogue sends(Dialogue d, int segments) {
        int first = d.c.sndNxt - Dialogue.ISS;
        d.send(1000 * segments);
        String[] all = new String[segments];
        for (int i = 0; i < segments; i++) {
            all[i] = (i == segments - 1 ? "P" : "") + "AEe " + (first + 1000 * i) + " len 1000 ack 1 option 1/0/1 ect";
        }
        return d.says(all);
    }

    // ---- sending ----

    /** Section 3.2.3.2.1: the option follows once the peer has sent one. */
    @Test
    void segmentsCarryTheOptionOfThePeer() {
        Dialogue d = server();
        sends(d, 2).after(10).hears("AEe 1 ack 2001");
        d.c.close();
        d.says("FAEe 2001 ack 1 option 1/0/1 ect");
        sends(client(accurate()), 1);
        Dialogue none = new Dialogue(accurate()).listen(8).hears("SECe 0 mss 1000 sackOK");
        none.says("SAC 0 ack 1 option 1/0/1").hears("AC 1 ack 1").send(10);
        none.says("PAEe 1 len 10 ack 1 option none ect").after(10).hears("AEe 1 ack 11 option empty").send(10);
        none.says("PAEe 11 len 10 ack 1 option 1/0/1 ect");
        Dialogue off = new Dialogue(accurate().accEcnOption(false)).listen(8).hears("SECe 0 mss 1000 sackOK");
        off.says("SAC 0 ack 1 option none").hears("AC 1 ack 1 option 1/0/1").send(10);
        off.says("PAEe 1 len 10 ack 1 option none ect");
        Dialogue classic = new Dialogue(accurate()).listen(8).hears("SEC 0 mss 1000").says("SAE 0 ack 1 option none");
        classic.hears("A 1 ack 1 option 1/0/1").send(10).says("PA 1 len 10 ack 1 option none ect");
    }

    /** Section 3.2.3.2.2: the path may have dropped the SYN-ACK because of its option. */
    @Test
    void retransmittedSynAckHasNoOption() {
        Dialogue d = new Dialogue(accurate()).listen(8).hears("SECe 0 mss 1000").says("SAC 0 ack 1 option 1/0/1");
        d.waits(1100);
        d.says("SAC 0 ack 1 option none").hears("AC 1 ack 1 option 1/0/1").send(10);
        d.says("PAEe 1 len 10 ack 1 option 1/0/1 ect");
    }

    /** The client may detect the option in a SYN-ACK that arrives again. */
    @Test
    void repeatedSynAckShowsTheOption() {
        Dialogue d = new Dialogue(accurate()).connect().says("SECe 0").after(10);
        d.hears("SAC 0 ack 1 mss 1000 sackOK").says("AC 1 ack 1 option none ect");
        d.after(10).hears("SAC 0 ack 1 mss 1000 sackOK option 1/0/1 ect").says("Ae 1 ack 1 option 1/0/1 ect");
    }

    /** Section 3.2.2.1 also applies if the SYN-ACK has fallen back. */
    @Test
    void repeatedSynAckWithoutFlagsIsEchoed() {
        client(accurate()).after(10).hears("SA 0 ack 1 mss 1012 sackOK").says("AC 1 ack 1 option 1/0/1 ect");
    }

    @Test
    void synCookieHasTheOption() {
        Dialogue d = new Dialogue(accurate().synCookies(TcpConfig.SynCookieMode.ALWAYS)).listen(8);
        Segment out = new Segment();
        d.engine.onSegment(new Segment().source(0, Dialogue.THERE, 6000).destination(0, Dialogue.HERE, Dialogue.PORT)
                .flags(AccurateEcn.ACE_FLAGS | TcpFlags.SYN).window(10_000).mss(1000), d.now);
        assertTrue(d.engine.pollSegment(d.now, out));
        assertEquals(7, out.accEcnCounters);
        assertEquals("1/0/1", out.accEcnEct1Bytes + "/" + out.accEcnCeBytes + "/" + out.accEcnEct0Bytes);
    }

    /** Each codepoint has its counter. Pure ACKs have no payload. */
    @Test
    void payloadIsCountedByCodepoint() {
        Dialogue d = server();
        d.hears("AEe 1 len 10 ack 1 ect").saysNothing();
        d.hears("AEe 11 len 20 ack 1 ect1").saysNothing();
        d.hears("AEe 31 len 30 ack 1 ce").says("ACe 1 ack 61 option 21/30/11 ect");
        d.hears("AEe 61 len 40 ack 1").hears("AEe 101 len 50 ack 1 ect").hears("AEe 151 ack 1 ect1").saysNothing();
        d.hears("AEe 151 len 10 ack 1 ce").says("AECe 1 ack 161 option 21/40/61 ect");
    }

    /** Section 3.2.3.3: a counter that has grown displaces the third and fourth SACK block, but not the second. */
    @Test
    void optionSharesTheSpaceWithSack() {
        Dialogue d = server();
        d.hears("AEe 101 len 10 ack 1 ect1").says("AEe 1 ack 1 sack 101-111 option 11/0/1 ect");
        d.hears("AEe 201 len 10 ack 1 ect").hears("AEe 301 len 10 ack 1 ect").hears("AEe 401 len 10 ack 1 ect");
        d.says("AEe 1 ack 1 sack 401-411,301-311,201-211 option 11/0/31 ect");
        d.hears("AEe 501 len 10 ack 1").says("AEe 1 ack 1 sack 501-511,401-411,301-311,201-211 option none ect");
        int echo = 0;
        Dialogue timed = server(accurate().timestamps(true), " ts 100/" + echo);
        timed.hears("AEe 101 len 10 ack 1 ts 101/0 ect").says("AEe 1 ack 1 sack 101-111 option 1/0/11 ect");
        timed.hears("AEe 201 len 10 ack 1 ts 101/0 ce").says("ACe 1 ack 1 sack 201-211,101-111 option 1/10 ect");
        timed.hears("AEe 301 len 10 ack 1 ts 101/0 ce").says("AECe 1 ack 1 sack 301-311,201-211 option 1/20 ect");
        // The other order begins with the counter of ECT(0).
        timed.hears("AEe 401 len 10 ack 1 ts 101/0 ect");
        timed.says("AECe 1 ack 1 sack 401-411,301-311 option -/20/21 ect");
        timed.hears("AEe 501 len 10 ack 1 ts 101/0 ect").hears("AEe 601 len 10 ack 1 ts 101/0 ect1");
        timed.says("AECe 1 ack 1 sack 601-611,501-511,401-411 option none ect");
    }

    /** The payload is smaller by the option, and by the SACK blocks beside it. */
    @Test
    void segmentsKeepTheirSize() {
        Dialogue d = server();
        d.hears("AEe 101 len 10 ack 1 ect").says("AEe 1 ack 1 sack 101-111 option 1/0/11 ect").send(1976);
        d.says("AEe 1 len 988 ack 1 sack 101-111 option 1/0/11 ect",
                "PAEe 989 len 988 ack 1 sack 101-111 option 1/0/11 ect");
    }

    /** Section 3.2.3.2.2: the ACK that reported the duplicate was lost, perhaps because of the option. */
    @Test
    void optionIsNotSentAfterLossOfAckWithDuplicate() {
        Dialogue d = server();
        d.hears("AEe 1 len 10 ack 1 ect").after(50).says("AEe 1 ack 11 option 1/0/11 ect");
        d.hears("AEe 1 len 10 ack 1 ect").says("AEe 1 ack 11 sack 1-11 option 1/0/11 ect");
        d.hears("AEe 1 len 10 ack 1 ect").says("AEe 1 ack 11 sack 1-11 option none");
        d.send(10).says("PAEe 1 len 10 ack 11 option none ect");
    }

    /** A keepalive with a byte repeats it although its ACK has arrived. */
    @Test
    void keepAliveDoesNotDisableTheOption() {
        Dialogue d = server();
        d.hears("AEe 1 len 10 ack 1 ect").after(50).says("AEe 1 ack 11 option 1/0/11 ect");
        for (int i = 0; i < 3; i++) {
            d.hears("AEe 10 len 1 ack 1").says("AEe 1 ack 11 sack 10-11 option 1/0/11 ect");
        }
    }

    /** After two timeouts, the path is assumed to drop ECT. Only new data has it from then on. */
    @Test
    void timeoutsDisableEctOfRetransmissionsAndAcks() {
        Dialogue d = sends(server(), 1);
        d.waits(1000);
        d.says("PAEe 1 len 1000 ack 1 ect").waits(2000);
        d.says("PAEe 1 len 1000 ack 1 ect").waits(4000);
        d.says("PAEe 1 len 1000 ack 1").hears("AEe 1 ack 1001").send(10).says("PAEe 1001 len 10 ack 1 ect");
        d.waits(4000);
        d.says("PAEe 1001 len 10 ack 1").hears("AEe 1 len 10 ack 1011").after(50).says("AEe 1011 ack 11");
    }

    // ---- reading ----

    private static long marked(Dialogue d) {
        return d.c.info().deliveredMarkedBytes();
    }

    @Test
    void reportedBytesReplaceTheEstimate() {
        Dialogue d = client(accurate());
        sends(d, 2).after(10).hears("ACe 1 ack 2001 option 1/400/1601");
        assertEquals(400, marked(d));
        sends(d, 2).after(10).hears("AECe 1 ack 4001");
        assertEquals(1400, marked(d), "an estimate");
        sends(d, 2).after(10).hears("A 1 ack 6001 option 1/2000/4001");
        assertEquals(2000, marked(d), "the report includes the estimated bytes");
        sends(d, 1).after(10).hears("AE 1 ack 7001 option 1/1999/4001");
        assertEquals(3000, marked(d), "a count that has shrunk is no report");
    }

    /** A marked ACK has no payload and says nothing about the path of the data. */
    @Test
    void marksOfAcksDoNotReduceTheWindow() {
        Dialogue d = sends(client(accurate()), 2).after(10).hears("ACe 1 ack 1001 option 1/0/1001");
        d.hears("AECe 1 ack 2001 option 1/0/2001");
        assertEquals(0, marked(d));
        assertEquals(2, d.engine.counters().congestionMarksEchoed);
        sends(d, 1).after(10).hears("AECe 1 ack 3001 option 1/0/3001");
        assertEquals(0, d.engine.counters().ecnReductions);
    }

    /** Section 3.2.3.2.1: a SYN must not have the option. */
    @Test
    void optionOfSynIsIgnored() {
        Dialogue d = new Dialogue(accurate()).listen(8).hears("SECe 0 mss 1012 sackOK option 1/0/1");
        d.says("SAC 0 ack 1 option 1/0/1").hears("AC 1 ack 1").send(10);
        d.says("PAEe 1 len 10 ack 1 option none ect");
    }

    /** A peer may report more than was sent. */
    @Test
    void excessiveReportsAreLimited() {
        Dialogue d = client(accurate());
        for (int i = 1; i <= 400; i++) {
            sends(d, 1).after(10).hears("AEe 1 ack " + (1 + 1000 * i) + " option 1/" + ((8_000_000L * i) & 0xFF_FFFF)
                    + "/1");
        }
        d.send(1000).after(10).hears("ACe 1 ack 401001 option 1/" + ((8_000_000L * 400 + 1000) & 0xFF_FFFF) + "/1");
        assertEquals(1 << 30, marked(d));
        d = client(accurate());
        AccEcnOption option = AccurateEcn.of(d.c).option;
        for (int i = 0; i < 3; i++) {
            option.takeMarkedBytes(false, 1 << 30);
        }
        assertEquals(0, option.takeMarkedBytes(true, 0));
    }

    /** Appendix A.2.2: the report decides whether the field has wrapped while ACKs were lost. */
    @ParameterizedTest
    @CsvSource({"1/0/10001, 1", "1/1012/8989, 1", "1/1013/8988, 9", "1/9000/1001, 9", "empty, 9"})
    void reportShowsWhetherTheFieldHasWrapped(String option, int marks) {
        Dialogue d = client(accurate().initialWindowSegments(40));
        sends(d, 1).after(10).hears("AEe 1 ack 1001 option 1/0/1001");
        sends(d, 10).after(10).hears("ACe 1 ack 11001 option " + option);
        assertEquals(marks, d.engine.counters().congestionMarksEchoed);
    }

    /** Section 3.2.3.2.4: the path clears the counters. The flags remain, and so does our option. */
    @ParameterizedTest
    @ValueSource(strings = {"0/0/1", "1/0/0", "0/0"})
    void clearedCountersAreIgnored(String option) {
        Dialogue d = new Dialogue(accurate()).listen(8).hears("SECe 0 mss 1012 sackOK").says("SAC 0 ack 1").after(10);
        d.hears("AC 1 ack 1 option " + option);
        sends(d.withoutQuickAcks(), 1).after(10).hears("ACe 1 ack 1001 option 1/5/1");
        assertEquals(1000, marked(d));
    }

    /** Section 3.2.3.2.3: the counters of an option that comes so late may have wrapped. */
    @Test
    void lateOptionIsIgnored() {
        Dialogue d = new Dialogue(accurate()).connect().says("SECe 0").after(10);
        d.hears("SAC 0 ack 1 mss 1000 sackOK").says("AC 1 ack 1 ect");
        d.c.iss -= 1 << 23;
        d.send(1000).says("PAEe 1 len 1000 ack 1 ect").after(10).hears("AEe 1 ack 1001");
        d.send(1000).says("PAEe 1001 len 1000 ack 1 ect").after(10).hears("ACe 1 ack 2001 option 1/5/1");
        assertEquals(1000, marked(d));
    }
}
