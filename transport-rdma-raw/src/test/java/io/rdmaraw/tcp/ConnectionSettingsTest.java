package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Settings of a single connection, and the information that it reports. */
class ConnectionSettingsTest {
    // ---- mark ----

    private static Dialogue markedServer(TcpConfig.Builder builder, int mark) {
        Dialogue d = new Dialogue(builder);
        d.engine.listen(0, 0, Dialogue.PORT, 8, "listener").soMark(mark);
        return d;
    }

    private static void says(Dialogue d, String segment, int mark) {
        d.soMark = -1;
        d.says(segment);
        assertEquals(mark, d.soMark, segment);
    }

    @Test
    void repliesOfListenerHaveItsMark() {
        Dialogue d = markedServer(Dialogue.plain(), 7);
        says(d.hears("A 1 ack 1"), "R 1", 7);
        says(d.hears("S 0 mss 1000"), "SA 0 ack 1", 7);
        says(d.hears("A 1 ack 2"), "R 2", 7);
        d.hears("A 1 ack 1").saysNothing();
        assertEquals(7, d.c.soMark());
        says(d.hears("A 1 len 10 ack 1"), "A 1 ack 11", 7);
        d.c.soMark(8);
        d.c.abort();
        says(d, "RA 1 ack 11", 8);
        says(d.hears("A 11 ack 1"), "R 1", 7);
        // The sequence number of a cookie cannot be predicted.
        Dialogue cookies = markedServer(Dialogue.plain().synCookies(TcpConfig.SynCookieMode.ALWAYS), 9);
        cookies.hears("S 0 mss 1000").after(1);
        assertEquals(1, cookies.engine.counters().synCookiesSent);
        assertEquals(9, cookies.soMark);
    }

    /** The listener has another mark and may be closed. */
    @Test
    void repliesOfTimeWaitHaveMarkOfConnection() {
        for (int mark : new int[] {-3, 0}) {
            Dialogue d = new Dialogue(Dialogue.plain());
            TcpListener listener = d.engine.listen(0, 0, Dialogue.PORT, 8, "listener");
            listener.soMark(7);
            d.hears("S 0 mss 1000").says("SA 0 ack 1").hears("A 1 ack 1").saysNothing();
            d.c.soMark(mark);
            d.c.close();
            says(d, "FA 1 ack 1", mark);
            says(d.hears("FA 1 ack 2"), "A 2 ack 2", mark);
            listener.close();
            says(d.hears("FA 1 ack 2"), "A 2 ack 2", mark);
        }
    }

    @Test
    void resetsOfClientHaveItsMark() {
        Dialogue d = new Dialogue(Dialogue.plain()).connect();
        d.c.soMark(5);
        says(d, "S 0", 5);
        says(d.hears("SA 0 ack 9 mss 1000"), "R 9", 5);
        says(d.hears("SA 0 ack 1 mss 1000"), "A 1 ack 1", 5);
        d.c.soMark(0);
        says(d.hears("A 1 len 10 ack 1"), "A 1 ack 11", 0);
    }

    // ---- keepalive ----

    @Test
    void keepAliveTimesOfConnectionApply() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.keepAliveIdleMillis(5_000);
        d.c.keepAliveIntervalMillis(1_000);
        d.c.keepAliveProbes(2);
        d.c.keepAlive(true);
        assertEquals(5_000, d.waits(6_000), 2);
        d.says("A 0 ack 1");
        assertEquals(1_000, d.waits(2_000), 2);
        d.says("A 0 ack 1");
        assertEquals(1_000, d.waits(2_000), 2);
        d.says("RA 1 ack 1").heard("closed TIMED_OUT");
    }

    /** As on Linux, an answer delays the next probe by the idle time. */
    @Test
    void nextProbeFollowsAnswerAfterIdleTime() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.keepAliveIdleMillis(1_000);
        d.c.keepAliveIntervalMillis(1_000);
        d.c.keepAlive(true);
        d.waits(2_000);
        d.says("A 0 ack 1").after(100).hears("A 1 ack 1");
        assertEquals(1_000, d.waits(3_000), 2);
        d.says("A 0 ack 1");
    }

    @Test
    void keepAliveTimesOfConfigurationApplyByDefault() {
        Dialogue d = Dialogue.established(Dialogue.plain().keepAliveIdleNanos(3_000_000_000L));
        d.c.keepAliveIdleMillis(5_000);
        d.c.keepAliveIdleMillis(0);
        d.c.keepAlive(true);
        assertEquals(3_000, d.waits(4_000), 2);
        assertThrows(IllegalArgumentException.class, () -> d.c.keepAliveIdleMillis(-1));
        assertThrows(IllegalArgumentException.class, () -> d.c.keepAliveProbes(128));
    }

    @Test
    void userTimeoutReplacesNumberOfProbes() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.keepAliveIdleMillis(1_000);
        d.c.keepAliveIntervalMillis(1_000);
        d.c.keepAliveProbes(1);
        d.c.userTimeoutMillis(3_500);
        d.c.keepAlive(true);
        for (int i = 0; i < 3; i++) {
            d.waits(1_100);
            d.says("A 0 ack 1");
        }
        d.waits(1_100);
        d.says("RA 1 ack 1").heard("closed TIMED_OUT");
    }

    // ---- user timeout ----

    @Test
    void unacknowledgedDataTimesOut() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.userTimeoutMillis(2_500);
        d.after(60_000).send(10).says("PA 1 len 10 ack 1");
        d.after(2_400);
        assertEquals(TcpState.ESTABLISHED, d.c.state());
        d.after(101).state(TcpState.CLOSED).heard("closed TIMED_OUT");
        d.assertReleased();
    }

    @Test
    void progressRestartsUserTimeout() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.userTimeoutMillis(1_000);
        d.send(10).says("PA 1 len 10 ack 1").send(10).says("PA 11 len 10 ack 1");
        d.after(900).hears("A 1 ack 11").after(900).state(TcpState.ESTABLISHED);
        d.after(102).state(TcpState.CLOSED);
    }

    @Test
    void userTimeoutReplacesRetries() {
        Dialogue d = Dialogue.established(Dialogue.plain().maxTimeouts(3));
        d.c.userTimeoutMillis(300_000);
        d.send(10).after(290_000).state(TcpState.ESTABLISHED);
        d.after(10_002).state(TcpState.CLOSED).heard("closed TIMED_OUT");
    }

    @Test
    void closedWindowTimesOutAlthoughPeerAnswers() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.userTimeoutMillis(3_000);
        d.hears("A 1 ack 1 win 0").send(10);
        for (int i = 0; i < 3; i++) {
            d.waits(3_000);
            d.says("A 0 ack 1").hears("A 1 ack 1 win 0");
        }
        d.after(3_000).state(TcpState.CLOSED).heard("closed TIMED_OUT");
    }

    @Test
    void openingWindowRestartsUserTimeout() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.userTimeoutMillis(3_000);
        d.hears("A 1 ack 1 win 0").send(10).after(2_900).hears("A 1 ack 1 win 100");
        d.after(2_900).state(TcpState.ESTABLISHED);
        d.after(102).state(TcpState.CLOSED);
    }

    @Test
    void userTimeoutEndsConnectionAttempt() {
        Dialogue d = new Dialogue(Dialogue.plain().userTimeoutNanos(2_000_000_000L)).connect();
        d.says("S 0").after(1_900).state(TcpState.SYN_SENT);
        d.after(102).state(TcpState.CLOSED).heard("closed TIMED_OUT");
        assertEquals(1, d.engine.counters().timedOutConnections);
    }

    @Test
    void idleConnectionHasNoUserTimeout() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.c.userTimeoutMillis(1_000);
        d.after(100_000).state(TcpState.ESTABLISHED);
        assertEquals(Long.MAX_VALUE, d.c.deadlineNanos());
    }

    // ---- retransmissions of the SYN ----

    @Test
    void synRetriesOfConnectionApply() {
        Dialogue d = new Dialogue(Dialogue.plain().synRetries(5)).connect();
        d.c.synRetries(2);
        d.says("S 0");
        assertEquals(1_000, d.waits(60_000), 2);
        d.says("S 0");
        assertEquals(2_000, d.waits(60_000), 2);
        d.says("S 0").after(4_010).saysNothing().heard("closed TIMED_OUT").state(TcpState.CLOSED);
        assertEquals(1, d.engine.counters().timedOutConnections);
    }

    @Test
    void synRetriesOfConfigurationApplyByDefault() {
        Dialogue d = new Dialogue(Dialogue.plain().synRetries(1)).connect();
        d.c.synRetries(5);
        d.c.synRetries(0);
        d.says("S 0").after(1_100).says("S 0").after(2_000).saysNothing().heard("closed TIMED_OUT");
        assertThrows(IllegalArgumentException.class, () -> d.c.synRetries(-1));
        assertThrows(IllegalArgumentException.class, () -> d.c.synRetries(128));
    }

    /** As on Linux; a user timeout replaces only the configured number. */
    @Test
    void synRetriesOfConnectionApplyWithUserTimeout() {
        Dialogue d = new Dialogue(Dialogue.plain().userTimeoutNanos(300_000_000_000L)).connect();
        d.c.synRetries(1);
        d.says("S 0").after(1_100).says("S 0").after(1_800).state(TcpState.SYN_SENT);
        d.after(110).saysNothing().state(TcpState.CLOSED).heard("closed TIMED_OUT");
    }

    // ---- statistics ----

    @Test
    void infoReportsStateOfConnection() {
        Dialogue d = Dialogue.established(TcpConfig.builder(),
                "SA 0 ack 1 win 65535 mss 1012 ws 3 sackOK ts 7/0");
        d.hears("PA 1 ack 1 len 300 win 1000 ts 8/0").says("A 1 ack 301");
        d.send(3000).says("A 1 len 1000 ack 301", "A 1001 len 1000 ack 301", "PA 2001 len 1000 ack 301");
        d.after(10).hears("A 301 ack 1 win 1000 sack 1001-2001 ts 9/0");
        TcpConnectionInfo info = d.c.info();
        assertEquals(TcpState.ESTABLISHED, info.state());
        assertEquals("cubic", info.congestionControl());
        assertTrue(info.sack() && info.timestamps());
        assertEquals(3, info.sendWindowShift());
        assertEquals(8000, info.sendWindowBytes());
        assertEquals(10_000_000, info.smoothedRttNanos(), 100_000);
        assertEquals(1000, info.segmentBytes());
        assertEquals(3000, info.unacknowledgedBytes());
        assertEquals(1000, info.sackedBytes());
        assertEquals(0, info.unsentBytes());
        assertEquals(300, info.bytesReceived());
        assertEquals(0, info.bytesAcked());
        assertEquals(3, info.segmentsIn());
        assertEquals(6, info.segmentsOut());
        d.after(20).hears("A 301 ack 3001 win 1000 ts 10/0");
        info = d.c.info();
        assertEquals(3000, info.bytesAcked());
        assertEquals(0, info.unacknowledgedBytes());
        assertTrue(info.retransmittedSegments() > 0, "the first was lost, as far as could be told");
        assertEquals(0, info.sinceLastReceivedNanos());
    }

    /** Named as by {@code ss -o}. */
    @Test
    void infoReportsRunningTimer() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        assertEquals("", d.c.info().timer());
        assertEquals(0, d.c.info().timerNanos());
        d.c.keepAlive(true);
        assertEquals("keepalive", d.c.info().timer());
        assertTrue(d.c.info().timerNanos() > 0, d.c.info().toString());
        d.send(10).says("PA 1 len 10 ack 1");
        assertEquals("on", d.c.info().timer(), "what is in flight comes first");
        assertTrue(d.c.info().timerNanos() > 0 && d.c.info().timerNanos() <= d.c.info().retransmissionTimeoutNanos());
        d.hears("A 1 ack 11 win 0").send(10).after(1);
        assertEquals("persist", d.c.info().timer());
    }

    // ---- listeners ----

    @Test
    void listenersAreFoundByPortAndAddressAmongThousands() {
        TcpEngine engine = new TcpEngine(TcpConfig.DEFAULT, new Recorder(), new SplittableRandom(1), 0);
        ListenerTable table = new ListenerTable();
        TcpListener[] wildcard = new TcpListener[3000];
        TcpListener[] exact = new TcpListener[3000];
        for (int i = 0; i < wildcard.length; i++) {
            wildcard[i] = new TcpListener(engine, 0, 0, 1000 + i, 1, null);
            exact[i] = new TcpListener(engine, 0, Dialogue.HERE + i % 7, 1000 + i, 1, null);
            table.add(wildcard[i]);
            table.add(exact[i]);
        }
        for (int i = 0; i < wildcard.length; i++) {
            assertSame(exact[i], table.find(0, Dialogue.HERE + i % 7, 1000 + i));
            assertSame(wildcard[i], table.find(0, Dialogue.HERE + 7, 1000 + i));
            assertSame(wildcard[i], table.find(1, Dialogue.HERE + i % 7, 1000 + i));
        }
        TcpListener second = new TcpListener(engine, 0, 0, 1000, 1, null);
        assertThrows(IllegalStateException.class, () -> table.add(second));
        for (int i = 0; i < wildcard.length; i++) {
            table.remove(wildcard[i]);
            assertTrue(table.isListening(1000 + i), "on its own address still");
            assertNull(table.find(0, Dialogue.HERE + 7, 1000 + i));
            table.remove(exact[i]);
            assertFalse(table.isListening(1000 + i));
        }
    }
}
