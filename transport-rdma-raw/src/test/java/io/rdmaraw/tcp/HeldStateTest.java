package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.TcpState.*;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The state that a peer can make an engine hold is limited in number, bytes and time. */
class HeldStateTest {
    private static Segment from(int port) {
        return new Segment().source(0, Dialogue.THERE, port).destination(0, Dialogue.HERE, Dialogue.PORT);
    }

    /** Returns the answer to a SYN from {@code port}, which must be a cookie. */
    private static Segment cookie(Dialogue d, int port) {
        d.engine.onSegment(from(port).flags(TcpFlags.SYN).seq(77).mss(1400).window(5000).windowScale(5)
                .sackPermitted(true).timestamps(500, 0), d.now);
        Segment answer = new Segment();
        assertEquals(true, d.engine.pollSegment(d.now, answer));
        assertEquals(TcpFlags.SYN | TcpFlags.ACK, answer.flags);
        return answer;
    }

    // ---- half-open connections ----

    @ParameterizedTest
    @ValueSource(ints = {-1 << 30, -200_000, 1_000, 1 << 30})
    void cookieWithInvalidTimestampIsRejected(int milliseconds) {
        Dialogue d = new Dialogue(TcpConfig.builder()).listen(1);
        d.hears("S 0 mss 1000").says("SA 0 ack 1");
        Segment cookie = cookie(d, 6000);
        d.engine.onSegment(from(6000).flags(TcpFlags.ACK).seq(78).ack(cookie.seq + 1).window(100)
                .timestamps(510, cookie.tsValue + milliseconds), d.now);
        assertEquals(List.of(), d.engine.invariantViolations());
        assertEquals(1, d.engine.connectionCount());
        assertEquals(1, d.engine.counters().synCookiesRejected);
        assertEquals(0, d.engine.counters().synCookiesAccepted);
        d.heard();
        // The first connection still occupies its place in the backlog and frees it when it ends.
        d.after(200_000);
        assertEquals(0, d.engine.connectionCount());
        assertEquals(Tcb.NEVER, d.engine.nextDeadlineNanos());
        assertEquals(List.of(), d.engine.invariantViolations());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 64_000, 127_900})
    void cookieIsAcceptedDuringItsLifetime(int milliseconds) {
        Dialogue d = new Dialogue(TcpConfig.builder()).listen(1);
        // A period of cookies starts now, so the cookie has its full lifetime.
        d.now = 64_000_000_000L * 5;
        d.hears("S 0 mss 1000").says("SA 0 ack 1");
        Segment cookie = cookie(d, 6000);
        d.now += milliseconds * 1_000_000L;
        d.engine.onSegment(from(6000).flags(TcpFlags.ACK).seq(78).ack(cookie.seq + 1).window(100)
                .timestamps(510, cookie.tsValue), d.now);
        d.heard("accepted");
        assertEquals(ESTABLISHED, d.events.accepted.state());
        assertEquals(List.of(), d.engine.invariantViolations());
    }

    // ---- connections that their user has closed ----

    /** Sum of the backoff factors until the maximum of 120 s is reached, for a timeout of about 200 ms. */
    private static final int TIMEOUTS = 1023;

    private static Dialogue established() {
        return Dialogue.established(Dialogue.plain()).withoutQuickAcks();
    }

    /**
     * Answers everything that the engine sends with {@code answers}. Returns the lifetime of the connection in
     * milliseconds.
     */
    private static long livesWhileAnswered(Dialogue d, String... answers) {
        long begin = d.now;
        for (int i = 0; d.engine.connectionCount() > 0; i++) {
            assertEquals(List.of(), d.engine.invariantViolations());
            d.after(0).after(Math.max(1, (d.engine.nextDeadlineNanos() - d.now) / 1_000_000 + 1));
            assertEquals(true, i < 5000, "there is no end");
            d.hears(answers[i % answers.length]);
        }
        return (d.now - begin) / 1_000_000;
    }

    @Test
    void closedConnectionTimesOutOnClosedWindow() {
        Dialogue d = established().hears("A 1 ack 1 win 0").send(5000);
        d.saysNothing();
        d.c.close();
        long millis = livesWhileAnswered(d, "A 1 ack 1 win 0");
        assertEquals(TIMEOUTS * d.c.retransmissionTimeoutNanos() / 1_000_000, millis, 2000);
        d.heard("closed TIMED_OUT").assertReleased();
        assertEquals(1, d.engine.counters().orphanTimeouts);
    }

    @Test
    void closedConnectionWithFinOnlyTimesOut() {
        Dialogue d = established().hears("A 1 ack 1 win 0");
        d.c.close();
        livesWhileAnswered(d, "A 1 ack 1 win 0");
        d.heard("closed TIMED_OUT");
    }

    @Test
    void closedConnectionTimesOutIfWindowOpensAndCloses() {
        Dialogue d = established().hears("A 1 ack 1 win 0").send(5000);
        d.c.close();
        long begin = d.now;
        // A window of one byte stops the persist timer, but it closes again before a segment may be sent into it.
        while (d.engine.connectionCount() > 0) {
            d.after(90).hears("A 1 ack 1 win 1").after(90).hears("A 1 ack 1 win 0");
            assertEquals(true, d.now - begin < 3_600_000_000_000L, "lives for an hour");
        }
        d.assertReleased();
    }

    @Test
    void closedConnectionTimesOutIfWindowIsRetracted() {
        Dialogue d = established().send(5000);
        d.says("A 1 len 1000 ack 1", "A 1001 len 1000 ack 1", "A 2001 len 1000 ack 1", "A 3001 len 1000 ack 1",
                "PA 4001 len 1000 ack 1");
        d.c.close();
        livesWhileAnswered(d, "A 1 ack 1 win 0");
        d.heard("closed TIMED_OUT").assertReleased();
    }

    @Test
    void userTimeoutDoesNotProlongClosedConnection() {
        Dialogue d = established();
        d.c.userTimeoutMillis(TcpConnection.MAX_MILLIS);
        d.hears("A 1 ack 1 win 0").send(5000);
        d.c.close();
        livesWhileAnswered(d, "A 1 ack 1 win 0");
        d.assertReleased();
    }

    @Test
    void closedConnectionWithProgressLives() {
        Dialogue d = established().hears("A 1 ack 1 win 0").send(20);
        d.c.close();
        for (int acked = 1; acked <= 20; acked++) {
            // One byte every three minutes: slow, but steady progress.
            for (int seconds = 0; seconds < 180; seconds += 20) {
                d.after(20_000).hears("A 1 ack " + acked + " win 0");
            }
            d.hears("A 1 ack " + acked + " win 1");
            d.after(1000).hears("A 1 ack " + (acked + 1) + " win 0");
        }
        assertEquals(1, d.engine.connectionCount());
        assertEquals(0, d.c.queuedBytes());
        assertEquals(0, d.engine.orphans.queuedBytes());
        assertEquals(List.of(), d.engine.invariantViolations());
    }

    @Test
    void openConnectionWaitsOnClosedWindow() {
        Dialogue d = established().hears("A 1 ack 1 win 0").send(5000);
        for (int i = 0; i < 1000; i++) {
            d.after(100_000).hears("A 1 ack 1 win 0");
        }
        d.state(ESTABLISHED);
    }

    /** Opens connections from peers. The user queues {@code bytes} on each and closes it. */
    private static List<TcpConnection> closedOnes(Dialogue d, int count, int bytes) {
        d.listen(count);
        List<TcpConnection> all = new ArrayList<>();
        Segment answer = new Segment();
        for (int i = 0; i < count; i++) {
            int port = 6000 + i;
            d.engine.onSegment(from(port).flags(TcpFlags.SYN).seq(77).mss(1400).window(0), d.now);
            d.engine.pollSegment(d.now, answer);
            d.engine.onSegment(from(port).flags(TcpFlags.ACK).seq(78).ack(answer.seq + 1).window(0), d.now);
            TcpConnection c = d.events.accepted;
            if (bytes > 0) {
                c.send(Unpooled.wrappedBuffer(new byte[bytes]));
            }
            c.close();
            all.add(c);
            d.after(10);
            assertEquals(List.of(), d.engine.invariantViolations());
        }
        return all;
    }

    @Test
    void closedConnectionsWithoutProgressAreDroppedFirst() {
        Dialogue d = new Dialogue(Dialogue.plain().limits(TcpLimits.builder().maxOrphans(3).build()));
        List<TcpConnection> all = closedOnes(d, 3, 0);
        // The first peer acknowledges the FIN. The windows of the others hold it back.
        d.engine.onSegment(from(6000).flags(TcpFlags.ACK).seq(78).ack(all.get(0).sndUna).window(1000), d.now);
        d.after(1);
        d.engine.onSegment(from(6000).flags(TcpFlags.ACK).seq(78).ack(all.get(0).sndNxt).window(1000), d.now);
        assertEquals(FIN_WAIT_2, all.get(0).state());
        d.after(1);
        Segment answer = new Segment();
        d.engine.onSegment(from(7000).flags(TcpFlags.SYN).seq(77).mss(1400).window(0), d.now);
        d.engine.pollSegment(d.now, answer);
        d.engine.onSegment(from(7000).flags(TcpFlags.ACK).seq(78).ack(answer.seq + 1).window(0), d.now);
        d.events.accepted.close();
        assertEquals(List.of(FIN_WAIT_2, CLOSED, FIN_WAIT_1), all.stream().map(TcpConnection::state).toList());
        assertEquals(1, d.engine.counters().orphanOverflows);
        assertEquals(3, d.engine.orphanCount());
        assertEquals(List.of(), d.engine.invariantViolations());
    }

    @Test
    void bytesOfClosedConnectionsAreLimited() {
        Dialogue d = new Dialogue(Dialogue.plain().limits(TcpLimits.builder().maxOrphanBytes(10_000).build()));
        List<TcpConnection> all = closedOnes(d, 20, 1000);
        assertEquals(10, d.engine.orphanCount());
        assertEquals(10, d.engine.counters().orphanOverflows);
        assertEquals(CLOSED, all.get(9).state());
        assertEquals(FIN_WAIT_1, all.get(10).state());
        d.engine.shutdown();
        assertEquals(0, d.engine.orphanCount());
        assertEquals(0, d.engine.orphans.queuedBytes());
    }
}
