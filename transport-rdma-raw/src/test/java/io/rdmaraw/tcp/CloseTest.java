package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.Dialogue.established;
import static io.rdmaraw.tcp.Dialogue.plain;
import static io.rdmaraw.tcp.TcpState.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import org.junit.jupiter.api.Test;

/** Closing: RFC 9293 section 3.6, and Linux's behaviour where the RFC is silent. */
class CloseTest {
    @Test
    void activeClose() {
        Dialogue d = established(plain());
        d.c.close();
        d.says("FA 1 ack 1").state(FIN_WAIT_1);
        d.hears("A 1 ack 2").saysNothing().state(FIN_WAIT_2);
        d.hears("FA 1 ack 2").says("A 2 ack 2").state(TIME_WAIT).heard("peerFinished", "closed FINISHED");
        assertEquals(1, d.engine.timeWaitCount());
    }

    @Test
    void closingAllConnectionsSendsTheirDataAndFins() {
        Dialogue d = established(plain());
        d.send(10);
        d.engine.closeAll(c -> { });
        d.says("FPA 1 len 10 ack 1").state(FIN_WAIT_1);
        assertTrue(d.engine.hasUndeliveredOrphans());
        d.engine.closeAll(c -> { });
        d.saysNothing().hears("A 1 ack 12").state(FIN_WAIT_2);
    }

    @Test
    void closingAllConnectionsResetsHalfOpenOnes() {
        Dialogue d = new Dialogue(plain()).listen(8);
        d.hears("S 0 mss 1000").says("SA 0 ack 1");
        d.engine.closeAll(c -> { });
        d.says("RA 1 ack 1").heard();
        assertEquals(0, d.engine.connectionCount());
    }

    @Test
    void finAndAckInOneSegment() {
        Dialogue d = established(plain());
        d.c.close();
        d.says("FA 1 ack 1");
        d.hears("FA 1 ack 2").says("A 2 ack 2").state(TIME_WAIT);
    }

    @Test
    void passiveCloseWithHalfClose() {
        Dialogue d = established(plain());
        d.hears("FA 1 ack 1").says("A 1 ack 2").state(CLOSE_WAIT).heard("peerFinished");
        d.send(10).says("PA 1 len 10 ack 2");
        d.c.close();
        d.says("FA 11 ack 2").state(LAST_ACK);
        d.hears("A 2 ack 11").saysNothing().state(LAST_ACK);
        d.hears("A 2 ack 12").saysNothing().state(CLOSED).heard("closed FINISHED");
        assertEquals(0, d.engine.timeWaitCount());
        d.assertReleased();
    }

    @Test
    void halfClosedConnectionReceives() {
        Dialogue d = established(plain());
        d.c.shutdownOutput();
        d.says("FA 1 ack 1").hears("A 1 ack 2").state(FIN_WAIT_2);
        d.hears("PA 1 len 100 ack 2").says("A 2 ack 101");
        assertEquals(100, d.events.received.size());
        ByteBuf late = Unpooled.wrappedBuffer(new byte[1]);
        assertThrows(IllegalStateException.class, () -> d.c.send(late));
        assertEquals(0, late.refCnt());
        // The user has not closed the connection, so FIN-WAIT-2 has no time limit.
        d.after(300_000).saysNothing().state(FIN_WAIT_2);
        d.hears("FA 101 ack 2").says("A 2 ack 102").heard("peerFinished", "closed FINISHED");
    }

    /** The ACK is still owed when the connection moves to TIME-WAIT. */
    @Test
    void simultaneousCloseInOneBurst() {
        Dialogue d = established(plain());
        d.c.close();
        d.says("FA 1 ack 1").hears("FA 1 ack 1").hears("A 2 ack 2").says("A 2 ack 2");
        d.heard("peerFinished", "closed FINISHED");
        assertEquals(1, d.engine.timeWaitCount());

        Dialogue acknowledged = established(plain());
        acknowledged.c.close();
        acknowledged.says("FA 1 ack 1").hears("FA 1 ack 1").says("A 2 ack 2").hears("A 2 ack 2").saysNothing();
    }

    /** Data after a FIN is invalid, but the first FIN and the data before it remain valid. */
    @Test
    void secondFinDoesNotMoveTheFirst() {
        Dialogue before = established(plain());
        before.hears("FA 11 len 10 ack 1").says("A 1 ack 1 sack 11-22");
        before.hears("FA 16 ack 1").says("A 1 ack 1 sack 11-22");
        before.hears("A 1 len 10 ack 1").says("A 1 ack 22").state(CLOSE_WAIT).heard("peerFinished");
        assertEquals(20, before.events.received.size());

        Dialogue behind = established(plain());
        behind.hears("FA 11 len 10 ack 1").says("A 1 ack 1 sack 11-22");
        behind.hears("FA 41 len 10 ack 1").says("A 1 ack 1 sack 11-22");
        behind.hears("A 1 len 10 ack 1").says("A 1 ack 22").state(CLOSE_WAIT).heard("peerFinished");
    }

    @Test
    void simultaneousClose() {
        Dialogue d = established(plain());
        d.c.close();
        d.says("FA 1 ack 1").hears("FA 1 ack 1").says("A 2 ack 2").state(CLOSING);
        d.hears("A 2 ack 2").saysNothing().state(TIME_WAIT).heard("peerFinished", "closed FINISHED");
    }

    @Test
    void finFollowsQueuedDataAndIsRetransmittedWithIt() {
        Dialogue d = established(plain());
        d.send(1500);
        d.c.close();
        d.says("A 1 len 1000 ack 1", "FPA 1001 len 500 ack 1");
        d.hears("A 1 ack 1001").saysNothing();
        d.after(300).says("FPA 1001 len 500 ack 1");
        d.hears("A 1 ack 1502").state(FIN_WAIT_2);
        d.assertReleased();
    }

    @Test
    void lostFinIsRetransmitted() {
        Dialogue d = established(plain().sack(false));
        d.c.close();
        d.says("FA 1 ack 1");
        assertEquals(210, d.waits(1000), 2);
        d.says("FA 1 ack 1");
        d.hears("A 1 ack 2").state(FIN_WAIT_2);
    }

    @Test
    void closeWithUnreadDataResets() {
        Dialogue d = established(plain());
        d.events.readAtOnce = false;
        d.hears("PA 1 len 10 ack 1").says("A 1 ack 11");
        d.c.close();
        d.says("RA 1 ack 11").heard("closed ABORTED").state(CLOSED);
    }

    @Test
    void dataAfterCloseResets() {
        Dialogue d = established(plain());
        d.c.close();
        d.says("FA 1 ack 1").hears("A 1 ack 2");
        d.hears("PA 1 len 10 ack 2").says("RA 2 ack 1").heard("closed DATA_AFTER_CLOSE").state(CLOSED);
    }

    @Test
    void abortResets() {
        Dialogue d = established(plain());
        d.send(5000).says("A 1 len 1000 ack 1", "A 1001 len 1000 ack 1", "A 2001 len 1000 ack 1",
                "A 3001 len 1000 ack 1",
                "PA 4001 len 1000 ack 1");
        d.c.abort();
        d.says("RA 5001 ack 1").heard("closed ABORTED").state(CLOSED);
        d.assertReleased();
        // The peer had not received everything. Its challenge ACK is answered with the number that it expects
        // (RFC 5961).
        d.hears("A 1 ack 2001").says("R 2001");
    }

    @Test
    void closedFinWait2EndsAfterAMinute() {
        Dialogue d = established(plain());
        d.c.close();
        d.says("FA 1 ack 1").hears("A 1 ack 2").state(FIN_WAIT_2);
        d.after(59_900).saysNothing().state(FIN_WAIT_2);
        d.after(200).saysNothing().state(CLOSED).heard("closed FINISHED");
    }

    @Test
    void finWait2TimeCountsFromClose() {
        Dialogue d = established(plain());
        d.c.shutdownOutput();
        d.says("FA 1 ack 1").hears("A 1 ack 2").after(300_000).state(FIN_WAIT_2);
        d.c.close();
        // The loop advances the timers before it polls.
        d.engine.advance(d.now);
        d.after(59_900).saysNothing().state(FIN_WAIT_2);
        d.after(200).saysNothing().state(CLOSED).heard("closed FINISHED");
    }

    @Test
    void finOutOfOrderWaitsForTheData() {
        Dialogue d = established(plain());
        d.hears("FPA 101 len 100 ack 1").says("A 1 ack 1 sack 101-202").state(ESTABLISHED);
        d.hears("A 1 len 100 ack 1").says("A 1 ack 202").state(CLOSE_WAIT).heard("peerFinished");
        assertEquals(200, d.events.received.size());
    }

    @Test
    void bareFinOutOfOrderWaitsForTheData() {
        Dialogue d = established(plain());
        d.hears("FA 101 ack 1").says("A 1 ack 1 sack 101-102").state(ESTABLISHED);
        d.hears("A 1 len 100 ack 1").says("A 1 ack 102").state(CLOSE_WAIT);
    }

    @Test
    void repeatedFinIsAcknowledgedAgain() {
        Dialogue d = established(plain());
        d.hears("FA 1 ack 1").says("A 1 ack 2");
        d.hears("FA 1 ack 1").says("A 1 ack 2").state(CLOSE_WAIT).heard("peerFinished");
    }

    // ---- TIME-WAIT ----

    private static Dialogue timeWait(TcpConfig.Builder builder, String synAck) {
        Dialogue d = established(builder, synAck);
        d.engine.listen(0, 0, 4000, 8, null);
        d.c.close();
        d.says("FA 1 ack 1");
        String ts = synAck.contains(" ts ") ? " ts 1000/1" : "";
        d.hears("FA 1 ack 2" + ts).says("A 2 ack 2").heard("peerFinished", "closed FINISHED");
        d.c = null;
        d.events.accepted = null;
        return d;
    }

    private static final String PLAIN_SYN_ACK = "SA 0 ack 1 mss 1000";

    @Test
    void repeatedFinRestartsTimeWait() {
        Dialogue d = timeWait(plain(), PLAIN_SYN_ACK);
        d.after(50_000).hears("FA 1 ack 2").says("A 2 ack 2");
        d.after(50_000);
        assertEquals(1, d.engine.timeWaitCount());
        d.after(10_100);
        assertEquals(0, d.engine.timeWaitCount());
        assertEquals(Long.MAX_VALUE, d.engine.nextDeadlineNanos());
    }

    @Test
    void timeWaitIgnoresABareAckAndWrongResets() {
        Dialogue d = timeWait(plain(), PLAIN_SYN_ACK);
        d.hears("A 2 ack 2").saysNothing();
        d.hears("R 1").saysNothing();
        assertEquals(1, d.engine.timeWaitCount());
        d.hears("R 2").saysNothing();
        assertEquals(0, d.engine.timeWaitCount());
    }

    @Test
    void timeWaitLimitsAnswersToAcks() {
        Dialogue d = timeWait(plain(), PLAIN_SYN_ACK);
        d.after(20).hears("A 500 ack 2").hears("A 500 ack 2").says("A 2 ack 2");
        d.after(50).hears("A 500 ack 2").saysNothing();
        d.after(60).hears("A 500 ack 2").says("A 2 ack 2");
    }

    @Test
    void synWithLargerNumberEndsTimeWait() {
        Dialogue d = timeWait(plain(), PLAIN_SYN_ACK);
        d.hears("S 1 mss 1000").says("A 2 ack 2");
        // RFC 9293 section 3.4.1: the new ISN lies beyond the old sequence numbers.
        d.hears("S 3 mss 1000").says("SA 65538 ack 4");
        assertEquals(0, d.engine.timeWaitCount());
        assertEquals(1, d.engine.counters().timeWaitReuses);
    }

    @Test
    void synWithLaterTimestampEndsTimeWait() {
        Dialogue d = timeWait(TcpConfig.builder(), "SA 0 ack 1 mss 1000 ts 900/" + 0);
        d.hears("S -500 mss 1000 ts 999/0").says("A 2 ack 2");
        d.hears("S -500 mss 1000 ts 1001/0").says("SA 65538 ack -499");
    }

    // ---- active open from TIME-WAIT ----

    private static final String STAMPED_SYN_ACK = "SA 0 ack 1 mss 1000 ts 900/0";

    @Test
    void activeOpenReusesTimeWaitWithTimestamps() {
        Dialogue d = timeWait(TcpConfig.builder(), STAMPED_SYN_ACK);
        assertThrows(IllegalStateException.class, d::connect);
        d.after(1000).connect();
        assertEquals(0, d.engine.timeWaitCount());
        assertEquals(1, d.engine.counters().timeWaitReuses);
        // RFC 9293 section 3.4.1: the ISN lies beyond the old numbers, and the timestamp clock continues.
        int offset = d.c.timestampOffset;
        d.says("S 65538");
        d.after(1).hears("SA 70000 ack 65539 mss 1000 ts 2000/" + ((int) (d.now / 1_000_000) + offset));
        d.says("A 65539 ack 70001").state(ESTABLISHED).heard("connected");
        // A duplicate from the old connection.
        d.hears("A 70001 len 10 ack 65539 ts 1000/1").says("A 65539 ack 70001");
        assertEquals(1, d.engine.counters().pawsDrops);
    }

    @Test
    void timeWaitWithoutTimestampsIsNotReused() {
        Dialogue d = timeWait(plain(), PLAIN_SYN_ACK);
        d.after(5000);
        assertThrows(IllegalStateException.class, d::connect);
        Dialogue off = timeWait(TcpConfig.builder().timeWaitReuse(false), STAMPED_SYN_ACK);
        off.after(5000);
        assertThrows(IllegalStateException.class, off::connect);
    }

    @Test
    void freePortsArePreferredToTimeWait() {
        Dialogue d = timeWait(TcpConfig.builder().firstEphemeralPort(4000).lastEphemeralPort(4001), STAMPED_SYN_ACK);
        d.engine.listen(0, 0, 4002, 8, null);
        d.after(2000);
        int first = d.engine.connect(d.now, 0, Dialogue.HERE, 0, 0, Dialogue.THERE, Dialogue.PEER_PORT, null, 0, null)
                .localPort();
        assertEquals(4001, first);
    }

    /** The timestamp of the FIN is not that of the segment before it. */
    @Test
    void finHasCurrentTimestamp() {
        Dialogue d = Dialogue.established(TcpConfig.builder(), "SA 0 ack 1 win 65535 mss 1000 ts 7/0");
        d.after(1_000);
        d.c.shutdownOutput();
        Segment out = new Segment();
        assertTrue(d.engine.pollSegment(d.now, out) && out.has(TcpFlags.FIN));
        assertEquals(d.c.timestamp(d.now), out.tsValue);
        assertEquals(7, out.tsEcho);
    }

    /** RFC 7323 section 3.2. */
    @Test
    void resetHasCurrentTimestamp() {
        Dialogue d = Dialogue.established(TcpConfig.builder(), "SA 0 ack 1 win 65535 mss 1000 ts 7/0");
        d.after(1_000).saysNothing();
        d.c.abort();
        Segment out = new Segment();
        assertTrue(d.engine.pollSegment(d.now, out) && out.has(TcpFlags.RST));
        assertTrue(out.timestamps);
        assertEquals(d.c.timestamp(d.now), out.tsValue);
        assertEquals(7, out.tsEcho);
    }

    /** As on Linux: a SYN that no listener accepts does not end TIME-WAIT (RFC 1337). */
    @Test
    void synWithoutListenerDoesNotEndTimeWait() {
        Dialogue d = established(plain());
        d.c.close();
        d.says("FA 1 ack 1").hears("A 1 ack 2").hears("FA 1 ack 2").says("A 2 ack 2");
        d.state(TcpState.TIME_WAIT);
        d.hears("S 5000 mss 1000").says("A 2 ack 2");
        d.hears("FA 1 ack 2").says("A 2 ack 2");
    }
}
