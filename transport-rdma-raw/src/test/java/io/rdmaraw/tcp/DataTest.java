package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.Dialogue.established;
import static io.rdmaraw.tcp.Dialogue.plain;
import static io.rdmaraw.tcp.TcpState.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.tcp.send.SendState;
import org.junit.jupiter.api.Test;

/** Data transfer without loss: windows, ACKs, small segments, probes. */
class DataTest {
    private static final String NO_SACK = "SA 0 ack 1 win 65535 mss 1000 ws 0";

    /** A state of the pool keeps nothing of its last connection. */
    @Test
    void sendStateIsResetWithoutFlight() {
        SendState state = new SendState();
        state.maxFlightBytes = 10_000;
        state.reset(1);
        assertEquals(0, state.maxFlightBytes);
        state.maxFlightBytes = 10_000;
        state.resume();
        assertEquals(0, state.maxFlightBytes);
    }

    // ---- receiving ----

    @Test
    void acksAreDelayedAfterFirstSegments() {
        Dialogue d = established(plain());
        int seq = 1;
        for (int i = 0; i < 16; i++, seq += 10) {
            d.hears("PA " + seq + " len 10 ack 1");
            if (i < 15) {
                d.says("A 1 ack " + (seq + 10));
            }
        }
        d.saysNothing();
        assertEquals(40, d.waits(1000), 2);
        d.says("A 1 ack " + seq);
    }

    @Test
    void everySecondFullSegmentIsAcknowledged() {
        Dialogue d = established(plain()).withoutQuickAcks();
        d.hears("A 1 len 1460 ack 1").saysNothing();
        d.hears("A 1461 len 1460 ack 1").says("A 1 ack 2921");
        d.hears("A 2921 len 1460 ack 1").saysNothing();
        d.after(50).says("A 1 ack 4381");
    }

    @Test
    void burstIsAcknowledgedOnce() {
        Dialogue d = established(plain());
        d.hears("A 1 len 1000 ack 1").hears("A 1001 len 1000 ack 1").hears("A 2001 len 1000 ack 1")
                .says("A 1 ack 3001");
    }

    @Test
    void dataCarriesDelayedAck() {
        Dialogue d = established(plain()).withoutQuickAcks();
        d.hears("PA 1 len 10 ack 1").send(20).says("PA 1 len 20 ack 11");
        d.after(60).saysNothing();
    }

    @Test
    void outOfOrderDataIsReportedAndDeliveredWhenTheGapCloses() {
        Dialogue d = established(plain());
        d.hears("A 101 len 100 ack 1").says("A 1 ack 1 sack 101-201");
        d.hears("A 301 len 100 ack 1").says("A 1 ack 1 sack 301-401,101-201");
        d.hears("A 501 len 100 ack 1").says("A 1 ack 1 sack 501-601,301-401,101-201");
        // RFC 2018 section 4: the block that grew last comes first.
        d.hears("A 201 len 50 ack 1").says("A 1 ack 1 sack 101-251,501-601,301-401");
        assertEquals(350, d.c.outOfOrderBytes());
        d.hears("A 1 len 100 ack 1").says("A 1 ack 251 sack 501-601,301-401");
        assertEquals(250, d.events.received.size());
        // The segment covers both gaps and the held range between them.
        // RFC 2883 section 4.2: the held range is a duplicate.
        d.hears("A 251 len 400 ack 1").says("A 1 ack 651 sack 301-401");
        assertEquals(650, d.events.received.size());
        assertEquals(0, d.c.outOfOrderBytes());
    }

    @Test
    void duplicatesAreReportedByDsack() {
        Dialogue d = established(plain());
        d.hears("A 1 len 100 ack 1").says("A 1 ack 101");
        d.hears("A 1 len 100 ack 1").says("A 1 ack 101 sack 1-101");
        d.hears("A 51 len 100 ack 1").says("A 1 ack 151 sack 51-101");
        d.hears("A 301 len 100 ack 1").says("A 1 ack 151 sack 301-401");
        // RFC 2883 section 4.2: a duplicate within the following block
        d.hears("A 301 len 50 ack 1").says("A 1 ack 151 sack 301-351,301-401");
        assertEquals(150, d.events.received.size());
    }

    /** RFC 2883 section 4.2. */
    @Test
    void partialDuplicateIsReported() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.hears("A 101 len 100 ack 1").says("A 1 ack 1 sack 101-201");
        d.hears("A 301 len 100 ack 1").says("A 1 ack 1 sack 301-401,101-201");
        d.hears("A 151 len 200 ack 1").says("A 1 ack 1 sack 151-201,101-401");
        d.hears("A 51 len 400 ack 1").says("A 1 ack 1 sack 101-401,51-451");
        assertEquals(0, d.engine.counters().duplicateSegments);
        d.hears("A 1 len 100 ack 1").says("A 1 ack 451 sack 51-101");
    }

    @Test
    void outOfOrderSegmentsCauseDuplicateAcksWithoutSack() {
        Dialogue d = established(plain(), NO_SACK);
        d.hears("A 101 len 100 ack 1").hears("A 201 len 100 ack 1").hears("A 301 len 100 ack 1");
        d.says("A 1 ack 1", "A 1 ack 1", "A 1 ack 1");
    }

    @Test
    void segmentsBeyondWindowAreCutOrDropped() {
        Dialogue d = established(plain().initialReceiveBufferBytes(4096));
        d.events.readAtOnce = false;
        d.hears("A 1 len 4000 ack 1").says("A 1 ack 4001 win 96");
        d.hears("FA 4001 len 200 ack 1").says("A 1 ack 4097 win 0").state(ESTABLISHED);
        d.hears("A 4097 len 1 ack 1").says("A 1 ack 4097 win 0");
        assertEquals(4096, d.events.received.size());
        // A closed window still accepts ACKs.
        d.send(10).says("PA 1 len 10 ack 4097");
        d.hears("A 4097 ack 11");
        assertEquals(10, d.events.ackedBytes);
    }

    @Test
    void bothKindsOfWindowProbesAreAnswered() {
        Dialogue d = established(plain().initialReceiveBufferBytes(2048));
        d.events.readAtOnce = false;
        d.hears("A 1 len 2048 ack 1").says("A 1 ack 2049 win 0");
        d.after(200).hears("A 2049 len 1 ack 1").says("A 1 ack 2049 win 0");
        d.after(200).hears("A 2048 ack 1").says("A 1 ack 2049 win 0");
        d.after(200).hears("A 2048 len 1 ack 1").says("A 1 ack 2049 win 0 sack 2048-2049");
        d.c.reportRead(2048);
        d.says("A 1 ack 2049 win 2048");
    }

    @Test
    void windowOpensInLargeSteps() {
        Dialogue d = established(plain().initialReceiveBufferBytes(8192));
        d.events.readAtOnce = false;
        d.hears("A 1 len 8000 ack 1").says("A 1 ack 8001 win 192");
        // RFC 9293 section 3.8.6.2.2: neither a full segment nor half the buffer was read.
        d.c.reportRead(1000);
        d.saysNothing();
        d.hears("A 8001 len 1 ack 1").says("A 1 ack 8002 win 191");
        d.c.reportRead(4000);
        d.says("A 1 ack 8002 win 5191");
        assertThrows(IllegalArgumentException.class, () -> d.c.reportRead(4000));
    }

    @Test
    void noWindowUpdateIfFieldCannotGrow() {
        // Without window scaling, the peer sees only 64 of 256 KiB.
        Dialogue d = established(plain(), "SA 0 ack 1 mss 1000 sackOK").withoutQuickAcks();
        d.hears("A 1 len 1000 ack 1").saysNothing();
        d.hears("A 1001 len 1000 ack 1").says("A 1 ack 2001 win 65535");
    }

    @Test
    void changedReceiveBufferNeverRetractsWindow() {
        Dialogue d = established(plain().initialReceiveBufferBytes(8000));
        d.c.receiveBufferBytes(20_000);
        d.says("A 1 ack 1 win 20000");
        d.c.receiveBufferBytes(4000);
        d.saysNothing().hears("A 1 len 1000 ack 1").says("A 1 ack 1001 win 19000");
        assertThrows(IllegalArgumentException.class, () -> d.c.receiveBufferBytes(100));
        assertThrows(IllegalArgumentException.class, () -> d.c.dscp(64));
    }

    /**
     * RFC 7323 section 2.4: the field expresses the edge in units, so the edge that the peer computes may vary
     * within one unit. It must neither move back nor, by repeated rounding up, move beyond the end of the buffer.
     */
    @Test
    void rightEdgeVariesWithinOneUnit() {
        for (int bits = 16; bits <= 30; bits++) {
            assertEdgeStays((1 << bits) - (bits & 1));
        }
    }

    /**
     * Checks that the edge in segments varies within a unit and that the edge stored by the connection never
     * moves back.
     */
    private static void assertEdgeStays(int bufferBytes) {
        int bufferEnd = 1 + bufferBytes;
        Dialogue d = established(plain().initialReceiveBufferBytes(bufferBytes), "SA 0 ack 1 mss 1000 ws 7");
        int unit = 1 << d.c.rcvWndShift;
        assertTrue(bufferBytes >> d.c.rcvWndShift >= 1 << 15, "the least scale that will do: " + d.c.rcvWndShift);
        d.events.readAtOnce = false;
        int edge = 0;
        int kept = d.c.rcvAdv();
        int seq = 1;
        for (int i = 0; i < 400; i++) {
            d.hears("A " + seq + " len " + (i % 13 + 1) + " ack 1");
            seq += i % 13 + 1;
            d.after(50);
            assertTrue(d.edge > edge - unit, "edge moved back from " + edge + " to " + d.edge + " at " + i);
            assertTrue(d.edge < bufferEnd + unit, "edge at " + d.edge + " is past the buffer's end at " + bufferEnd);
            edge = Math.max(edge, d.edge);
            assertTrue(d.c.rcvAdv() - kept >= 0, "what was offered was taken back at " + i);
            kept = d.c.rcvAdv();
        }
    }

    @Test
    void outOfOrderMemoryIsLimited() {
        Dialogue d = established(plain().maxOutOfOrderBytes(2000));
        d.hears("A 101 len 600 ack 1").says("A 1 ack 1 sack 101-701");
        d.hears("A 801 len 600 ack 1").says("A 1 ack 1 sack 801-1401,101-701");
        d.hears("A 2001 len 600 ack 1").says("A 1 ack 1 sack 801-1401,101-701");
        assertEquals(1, d.engine.counters().receiveMemoryDrops);
        d.hears("A 1 len 100 ack 1").says("A 1 ack 701 sack 801-1401");
    }

    @Test
    void urgentByteIsLeftOutOfTheStream() {
        Dialogue d = established(plain());
        urgent(d, 1, "abc!de", 4);
        d.says("A 1 ack 7");
        assertEquals("abcde", received(d));
        // A pointer beyond the segment; the urgent byte arrives in a later one.
        urgent(d, 7, "f", 3);
        d.says("A 1 ack 8");
        urgent(d, 8, "g!h", 0);
        d.says("A 1 ack 11");
        assertEquals("abcdefgh", received(d));
    }

    @Test
    void urgentByteAfterGapIsLeftOut() {
        Dialogue d = established(plain());
        urgent(d, 3, "!c", 1);
        d.says("A 1 ack 1 sack 3-5");
        urgent(d, 1, "ab", 0);
        d.says("A 1 ack 5");
        assertEquals("abc", received(d));
    }

    /** @param pointer 0 for a segment without URG */
    private static void urgent(Dialogue d, int seq, String text, int pointer) {
        byte[] payload = text.getBytes(java.nio.charset.StandardCharsets.US_ASCII);
        d.engine.onSegment(new Segment().source(0, Dialogue.THERE, Dialogue.PEER_PORT)
                .destination(0, Dialogue.HERE, 4000).seq(Dialogue.IRS + seq).ack(Dialogue.ISS + 1).window(1000)
                .flags(TcpFlags.ACK | (pointer > 0 ? TcpFlags.URG : 0)).urgentPointer(pointer)
                .payload(io.netty.buffer.Unpooled.wrappedBuffer(payload), 0, payload.length), d.now);
    }

    private static String received(Dialogue d) {
        return d.events.received.toString(java.nio.charset.StandardCharsets.US_ASCII);
    }

    // ---- sending ----

    @Test
    void sendsFullSegmentsWithinWindows() {
        Dialogue d = established(plain(), "SA 0 ack 1 win 2500 mss 1000 sackOK");
        d.send(5000).says("A 1 len 1000 ack 1", "A 1001 len 1000 ack 1");
        // Half of the largest window is sent only if nothing is outstanding.
        d.hears("A 1 ack 1001 win 2500").says("A 2001 len 1000 ack 1");
        d.hears("A 1 ack 3001 win 2500").says("A 3001 len 1000 ack 1", "PA 4001 len 1000 ack 1");
        d.hears("A 1 ack 5001 win 2500").saysNothing();
        assertEquals(5000, d.events.ackedBytes);
        d.assertReleased();
    }

    @Test
    void tinyWindowIsUsedAfterOverrideTimeout() {
        Dialogue d = established(plain(), "SA 0 ack 1 win 100 mss 1000");
        d.send(250).says("A 1 len 100 ack 1");
        d.hears("A 1 ack 101 win 30").saysNothing();
        // RFC 9293 section 3.8.6.2.1 (4): the override timeout
        assertEquals(209, d.waits(1000), 3);
        d.says("A 101 len 30 ack 1");
        d.hears("A 1 ack 131 win 50").says("A 131 len 50 ack 1");
    }

    /** One segment alone would wait for the peer's delayed acknowledgement. */
    @Test
    void aWindowOfOneSegmentIsUsedInHalves() {
        Dialogue d = established(plain(), "SA 0 ack 1 win 1000 mss 1000");
        d.send(3000).says("A 1 len 500 ack 1", "A 501 len 500 ack 1");
        d.hears("A 1 ack 1001 win 2000").says("A 1001 len 1000 ack 1", "PA 2001 len 1000 ack 1");
    }

    @Test
    void nagleHoldsSmallSegmentsWhileDataIsOutstanding() {
        Dialogue d = established(plain().noDelay(false));
        d.send(10).says("PA 1 len 10 ack 1");
        d.send(10).send(10).saysNothing();
        d.hears("A 1 ack 11").says("PA 11 len 20 ack 1");
        d.send(1500).says("A 31 len 1000 ack 1");
        d.c.noDelay(true);
        d.says("PA 1031 len 500 ack 1");
    }

    /** The peer delays its acknowledgement, and a response would wait for it. */
    @Test
    void nagleSendsTheTailOfALargeWriteAtOnce() {
        Dialogue d = established(plain().noDelay(false));
        d.send(1500).says("A 1 len 1000 ack 1", "PA 1001 len 500 ack 1");
        d.send(500).saysNothing();
        d.hears("A 1 ack 1001").saysNothing();
        d.hears("A 1 ack 1501").says("PA 1501 len 500 ack 1");
        d.send(2000).says("A 2001 len 1000 ack 1", "PA 3001 len 1000 ack 1").send(10).saysNothing();
        d.hears("A 1 ack 2001").says("PA 4001 len 10 ack 1");
    }

    /** After 2 GiB without a small segment, the end of the last one seems to be ahead. */
    @Test
    void nagleForgetsASmallSegmentBeforeTheSequenceNumbersWrapped() {
        Dialogue d = established(plain().noDelay(false));
        d.send(1000).says("PA 1 len 1000 ack 1");
        d.c.sendState.smallEndSeq = d.c.sndNxt + (1 << 30);
        d.send(500).says("PA 1001 len 500 ack 1");
    }

    @Test
    void noDelaySendsSmallSegmentsAtOnce() {
        Dialogue d = established(plain());
        d.send(10).says("PA 1 len 10 ack 1").send(10).says("PA 11 len 10 ack 1");
    }

    @Test
    void closedWindowIsProbedWhilePeerAnswers() {
        Dialogue d = established(plain().maxTimeouts(3), "SA 0 ack 1 win 1000 mss 1000");
        d.send(2000).says("A 1 len 500 ack 1", "A 501 len 500 ack 1");
        d.hears("A 1 ack 1001 win 0").saysNothing();
        long expected = 209;
        for (int i = 0; i < 8; i++) {
            assertEquals(expected, d.waits(200_000), 2 + expected / 50);
            d.says("A 1000 ack 1");
            d.hears("A 1 ack 1001 win 0").saysNothing();
            expected *= 2;
        }
        d.hears("A 1 ack 1001 win 1000").says("A 1001 len 500 ack 1", "PA 1501 len 500 ack 1");
    }

    @Test
    void closedWindowWithoutAnswersTimesOut() {
        Dialogue d = established(plain().maxTimeouts(3), "SA 0 ack 1 win 1000 mss 1000");
        d.send(2000).says("A 1 len 500 ack 1", "A 501 len 500 ack 1").hears("A 1 ack 1001 win 0");
        d.after(20_000).says("A 1000 ack 1", "A 1000 ack 1", "A 1000 ack 1").heard("closed TIMED_OUT");
        d.assertReleased();
    }

    @Test
    void finWaitsForTheWindow() {
        Dialogue d = established(plain(), "SA 0 ack 1 win 1000 mss 1000");
        d.send(1000);
        d.c.shutdownOutput();
        d.says("A 1 len 500 ack 1", "PA 501 len 500 ack 1");
        d.hears("A 1 ack 1001 win 0").saysNothing();
        d.after(212).says("A 1000 ack 1");
        d.hears("A 1 ack 1001 win 10").says("FA 1001 ack 1");
    }

    @Test
    void staleSegmentsDontChangeTheWindow() {
        Dialogue d = established(plain());
        d.hears("A 1 len 10 ack 1 win 3000").says("A 1 ack 11");
        d.hears("A 11 len 10 ack 1 win 5000").says("A 1 ack 21");
        assertEquals(5000, d.c.sendWindowBytes());
        d.hears("A 5 len 20 ack 1 win 77").says("A 1 ack 25 sack 5-21");
        assertEquals(5000, d.c.sendWindowBytes());
    }

    @Test
    void manySmallBuffersFillOneSegmentUpToTheSliceLimit() {
        Dialogue d = established(plain().maxSlices(3).noDelay(false));
        d.send(1);
        for (int i = 0; i < 7; i++) {
            d.send(10);
        }
        // Nothing was outstanding, so everything is sent.
        d.says("PA 1 len 21 ack 1", "PA 22 len 30 ack 1", "PA 52 len 20 ack 1");
        d.send(10).saysNothing();
        d.hears("A 1 ack 72").says("PA 72 len 10 ack 1");
    }

    @Test
    void slowStartGrowsToTwiceTheDataInFlightDuringTheRoundTrip() {
        Dialogue d = established(plain());
        d.send(9000).after(10);
        for (int acknowledged = 2000; acknowledged <= 8000; acknowledged += 2000) {
            d.hears("A 1 ack " + (1 + acknowledged));
            assertEquals(10_000 + acknowledged, d.c.congestionWindowBytes());
        }
        d.hears("A 1 ack 9001");
        assertEquals(18_000, d.c.congestionWindowBytes());
        // In the next round trip 9 of 18 segments are in flight.
        d.send(9000).after(10).hears("A 1 ack 11001").hears("A 1 ack 18001");
        assertEquals(18_000, d.c.congestionWindowBytes());
    }

    @Test
    void segmentWithTheEndOfAWriteHasPshAlsoIfMoreDataFollows() {
        Dialogue d = established(plain());
        d.send(1500).send(1500);
        d.says("A 1 len 1000 ack 1", "PA 1001 len 1000 ack 1", "PA 2001 len 1000 ack 1");
    }

    @Test
    void dataThatIsNotPushedHasNoPsh() {
        Dialogue d = established(plain());
        d.c.send(Unpooled.wrappedBuffer(new byte[100]));
        d.says("A 1 len 100 ack 1");
    }

    @Test
    void restOfSegmentBeyondSliceLimitFollowsAtOnce() {
        Dialogue d = established(plain().maxSlices(3).noDelay(false), "SA 0 ack 1 win 2000 mss 1000 ws 0 sackOK");
        for (int i = 0; i < 10; i++) {
            d.send(10);
        }
        d.says("PA 1 len 30 ack 1", "PA 31 len 30 ack 1", "PA 61 len 30 ack 1", "PA 91 len 10 ack 1");
        for (int i = 0; i < 5; i++) {
            d.send(10);
        }
        d.hears("A 1 ack 31 win 2000").saysNothing();
        d.hears("A 1 ack 101 win 2000").says("PA 101 len 30 ack 1", "PA 131 len 20 ack 1");
    }

    @Test
    void congestionWindowRestartsAfterIdleTime() {
        Dialogue d = established(plain());
        for (int i = 0; i < 5; i++) {
            d.send(d.c.congestionWindowBytes());
            d.after(10);
            int end = d.c.sndNxt() - Dialogue.ISS;
            d.hears("A 1 ack " + end + " win 65535").after(1);
        }
        assertEquals(true, d.c.congestionWindowBytes() > 20_000);
        d.after(5000).send(10);
        d.after(0);
        assertEquals(10_000, d.c.congestionWindowBytes());
    }

    // ---- keepalive ----

    @Test
    void keepAliveProbesAndTimesOut() {
        Dialogue d = established(plain().keepAliveProbes(2));
        d.c.keepAlive(true);
        d.after(7_199_000).saysNothing();
        d.after(1_100).says("A 0 ack 1");
        d.hears("A 1 ack 1");
        d.after(7_199_000).saysNothing();
        d.after(1_200).says("A 0 ack 1");
        d.after(75_100).says("A 0 ack 1");
        d.after(75_100).says("RA 1 ack 1").heard("closed TIMED_OUT");
    }

    @Test
    void keepAliveOfThePeerIsAnswered() {
        Dialogue d = established(plain());
        d.hears("A 0 ack 1").says("A 1 ack 1");
        d.after(200).hears("A 0 len 1 ack 1").says("A 1 ack 1 sack 0-1");
    }

    /** RFC 9293 SHLD-19 after a reduction of the path MTU: the size of a full segment shrinks too. */
    @Test
    void everySecondSegmentIsAcknowledgedAfterMtuReduction() {
        Dialogue d = established(plain()).withoutQuickAcks();
        d.hears("A 1 len 1000 ack 1").saysNothing().hears("A 1001 len 1000 ack 1").hears("A 2001 len 1000 ack 1")
                .says("A 1 ack 3001");
        d.hears("A 3001 len 500 ack 1").saysNothing().hears("A 3501 len 500 ack 1").says("A 1 ack 4001");
        d.hears("A 4001 len 500 ack 1").saysNothing().hears("A 4501 len 500 ack 1").says("A 1 ack 5001");
        // Short messages with PSH are not full-sized segments, even if their lengths are equal.
        d.hears("PA 5001 len 100 ack 1").hears("PA 5101 len 100 ack 1").hears("PA 5201 len 100 ack 1").saysNothing();
    }

    /** RFC 9293 section 3.10.7.4: both windows are closed, and each end probes with a byte that carries an ACK. */
    @Test
    void ackOfWindowProbeIsProcessed() {
        Dialogue d = established(plain().initialReceiveBufferBytes(2048));
        d.events.readAtOnce = false;
        d.hears("A 1 len 1000 ack 1").hears("A 1001 len 1000 ack 1").hears("PA 2001 len 48 ack 1")
                .says("A 1 ack 2049 win 0");
        d.send(500).says("PA 1 len 500 ack 2049 win 0");
        d.hears("A 2049 len 1 ack 501 win 700").says("A 501 ack 2049 win 0");
        assertEquals(0, d.c.queuedBytes());
        assertEquals(700, d.c.sendWindowBytes());
        assertEquals(2048, d.events.received.size());
        // Nothing else of the probe is used, and a probe at another position is ignored.
        d.send(100).says("PA 501 len 100 ack 2049 win 0");
        d.hears("A 2050 len 1 ack 601").says("A 601 ack 2049 win 0");
        assertEquals(100, d.c.queuedBytes());
    }

    @Test
    void aClosedWindowTakesAFinWithoutData() {
        Dialogue d = established(plain().initialReceiveBufferBytes(2048));
        d.events.readAtOnce = false;
        d.hears("A 1 len 2048 ack 1").says("A 1 ack 2049 win 0");
        d.hears("FA 2049 len 1 ack 1").says("A 1 ack 2049 win 0").state(ESTABLISHED);
        d.hears("FA 2050 ack 1").says("A 1 ack 2049 win 0").state(ESTABLISHED);
        d.hears("FA 2049 ack 1").says("A 1 ack 2050 win 0").state(CLOSE_WAIT).heard("peerFinished");
        assertEquals(2048, d.c.unreadBytes());
    }
}
