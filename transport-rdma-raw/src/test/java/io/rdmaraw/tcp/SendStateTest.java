package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.send.Scoreboard;
import io.rdmaraw.tcp.send.SendState;
import org.junit.jupiter.api.Test;

/** The send state of a connection is released at the end of a turn that leaves nothing to send. */
class SendStateTest {
    private static Dialogue sent(int bytes) {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.send(bytes).says("PA 1 len " + bytes + " ack 1");
        return d;
    }

    @Test
    void idleConnectionHasNoSendState() {
        Dialogue d = sent(100);
        assertNotNull(d.c.sendState);
        d.hears("A 1 ack 101");
        assertEquals(0, d.c.queuedBytes());
        d.saysNothing();
        assertNull(d.c.sendState);
    }

    /** A request that acknowledges the previous reply is answered in the same turn. */
    @Test
    void replyInSameTurnReusesSendState() {
        Dialogue d = sent(100);
        SendState sendState = d.c.sendState;
        d.hears("PA 1 len 10 ack 101");
        assertTrue(sendState.isIdle());
        d.send(200);
        assertSame(sendState, d.c.sendState);
        d.says("PA 101 len 200 ack 11");
        assertSame(sendState, d.c.sendState);
        d.hears("A 11 ack 301").saysNothing();
        assertNull(d.c.sendState);
        d.assertReleased();
    }

    /** A bulk sender with a state beyond the pool's limit does not allocate another one in each round trip. */
    @Test
    void bulkSenderReusesLargeSendState() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        SendState sendState = sendOfManyBuffers(d);
        assertTrue(sendState.isIdle());
        d.send(100);
        assertSame(sendState, d.c.sendState);
        d.says("PA 1001 len 100 ack 1").hears("A 1 ack 1101").saysNothing();
        assertNull(d.c.sendState);
        d.assertReleased();
    }

    /** Sends data in so many buffers that the state is too large for the pool. Returns the state, which is idle. */
    private static SendState sendOfManyBuffers(Dialogue d) {
        for (int i = 0; i < 100; i++) {
            d.send(10);
        }
        SendState sendState = d.c.sendState;
        assertFalse(sendState.isPoolable());
        d.says("PA 1 len 160 ack 1", "PA 161 len 160 ack 1", "PA 321 len 160 ack 1", "PA 481 len 160 ack 1",
                "PA 641 len 160 ack 1", "PA 801 len 160 ack 1", "PA 961 len 40 ack 1").hears("A 1 ack 1001");
        return sendState;
    }

    /** Each request acknowledges the previous reply and is answered in the same turn, so no turn ends without data. */
    @Test
    void smallRepliesDoNotKeepLargeSendState() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        SendState large = sendOfManyBuffers(d);
        d.send(100).says("PA 1001 len 100 ack 1").hears("PA 1 len 10 ack 1101");
        d.send(100).says("PA 1101 len 100 ack 11").hears("PA 11 len 10 ack 1201");
        d.send(100);
        assertNotSame(large, d.c.sendState);
        SendState small = d.c.sendState;
        assertTrue(small.isPoolable());
        d.says("PA 1201 len 100 ack 21").hears("PA 21 len 10 ack 1301");
        d.send(100);
        assertSame(small, d.c.sendState);
        d.says("PA 1301 len 100 ack 31").hears("A 31 ack 1401").saysNothing();
        assertNull(d.c.sendState);
        d.assertReleased();
    }

    /** The scoreboard of a reply with many segments in flight is kept for the next such reply only. */
    @Test
    void largeScoreboardIsKeptWhileItIsUsed() {
        SendState sendState = new SendState();
        sendState.reset(0);
        assertTrue(sendState.markIdle());
        fly(sendState, 1_000);
        assertTrue(sendState.markIdle());
        sendState.resume();
        fly(sendState, 300);
        assertTrue(sendState.markIdle());
        sendState.resume();
        fly(sendState, 100);
        assertFalse(sendState.markIdle());
    }

    /** Sends segments, which are then acknowledged. */
    private static void fly(SendState sendState, int segments) {
        Scoreboard scoreboard = sendState.scoreboard;
        for (int i = 0; i < segments; i++) {
            scoreboard.append(scoreboard.endSeq() + 1, 0);
        }
        sendState.recordUse();
        while (!scoreboard.isEmpty()) {
            scoreboard.removeHead();
        }
    }

    /** The second segment arrives while nothing is in flight. */
    @Test
    void idleSendStateCountsAsNone() {
        Dialogue d = sent(100);
        d.hears("A 1 ack 101").hears("A 1 ack 101 win 2000");
        assertEquals(0, d.c.inFlightBytes());
        assertEquals(2_000, d.c.sendWindowBytes());
        d.send(100).says("PA 101 len 100 ack 1");
        assertEquals(Integer.MAX_VALUE, d.c.slowStartThresholdBytes());
    }

    /** The state of a recovery is not kept in a resumed or pooled send state. */
    @Test
    void sendStateUsedByRecoveryIsReleasedAtOnce() {
        Dialogue d = sent(100);
        SendState sendState = d.c.sendState;
        sendState.recovery.oneByOne = true;
        d.hears("A 1 ack 101");
        assertNull(d.c.sendState);
        d.send(100);
        assertSame(sendState, d.c.sendState, "from the pool");
        assertTrue(sendState.recovery.isUnused());
    }

    /** No data waits for the peer, even if the loop advances the time late. */
    @Test
    void connectionWithIdleSendStateDoesNotTimeOut() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.userTimeoutMillis(1_000);
        d.send(100).says("PA 1 len 100 ack 1");
        d.hears("A 1 ack 101");
        d.now += 5_000_000_000L;
        d.engine.advance(d.now);
        d.saysNothing().state(TcpState.ESTABLISHED);
        assertNull(d.c.sendState);
    }

    /** Time between the ACK and the end of the turn is not busy time. */
    @Test
    void busyTimeEndsWithAck() {
        Dialogue d = sent(100);
        d.now += 10_000_000;
        d.hears("A 1 ack 101");
        long busyNanos = SendTimeStatistics.busyNanos(d.c, d.now);
        d.now += 1_000_000_000;
        assertEquals(busyNanos, SendTimeStatistics.busyNanos(d.c, d.now));
        d.saysNothing();
        assertEquals(busyNanos, SendTimeStatistics.busyNanos(d.c, d.now));
    }

    @Test
    void finReusesSendState() {
        Dialogue d = sent(100);
        SendState sendState = d.c.sendState;
        d.hears("A 1 ack 101");
        d.c.shutdownOutput();
        assertSame(sendState, d.c.sendState);
        d.says("FA 101 ack 1").hears("A 1 ack 102").saysNothing();
        assertNull(d.c.sendState);
    }
}
