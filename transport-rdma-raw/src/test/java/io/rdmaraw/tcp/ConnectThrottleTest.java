package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** If many connections are opened at once, their SYNs must not exceed the capacity of a receive queue. */
class ConnectThrottleTest {
    private static final long HERE = 0xFFFF_0A00_0001L;
    private static final long THERE = 0xFFFF_0A00_0002L;
    private static final int PORT = 80;
    private static final int STORM = 2000;
    private static final long TICK_NANOS = 1L << TimerWheel.TICK_SHIFT;

    private final Recorder events = new Recorder();
    private long now = 1_000_000_000L / TICK_NANOS * TICK_NANOS;
    private final TcpEngine engine = newEngine(events);
    private final Queue<Segment> syns = new ArrayDeque<>();

    private TcpEngine newEngine(Recorder hears) {
        return new TcpEngine(TcpConfig.builder().build(), hears, new SplittableRandom(1), now);
    }

    private TcpConnection connect() {
        return engine.connect(now, 0, HERE, 0, 0, THERE, PORT, null, 0, null);
    }

    private List<TcpConnection> storm() {
        List<TcpConnection> all = new ArrayList<>();
        for (int i = 0; i < STORM; i++) {
            all.add(connect());
        }
        return all;
    }

    /** Returns the number of SYNs sent, and stores them. */
    private int poll() {
        int before = syns.size();
        for (Segment s = new Segment(); engine.pollSegment(now, s); s = new Segment()) {
            if (s.has(TcpFlags.SYN)) {
                syns.add(s);
            }
        }
        return syns.size() - before;
    }

    private void answer(int flags) {
        Segment syn = syns.remove();
        Segment answer = new Segment();
        ReplyQueue.addressReply(syn, answer, 0);
        answer.flags = flags;
        answer.ack = syn.seq + 1;
        answer.window = 1000;
        engine.onSegment(answer, now);
    }

    @Test
    void answersReleaseWaitingSyns() {
        storm();
        assertEquals(ConnectThrottle.MAX_UNANSWERED, poll());
        for (int i = 0; i < 10; i++) {
            answer(TcpFlags.SYN | TcpFlags.ACK);
        }
        assertEquals(10, poll());
        answer(TcpFlags.RST | TcpFlags.ACK);
        assertEquals(1, poll(), "a refusal is an answer too");
        assertEquals(STORM - ConnectThrottle.MAX_UNANSWERED, engine.counters().opensDelayed);
    }

    @Test
    void silentPeersDoNotBlockOthers() {
        storm();
        int sent = poll();
        for (int ticks = 0; sent < STORM; ticks++) {
            assertTrue(ticks <= STORM / ConnectThrottle.MIN_SYNS_PER_TICK, sent + " SYNs after " + ticks + " ticks");
            long deadline = engine.nextDeadlineNanos();
            assertTrue(deadline <= now + TICK_NANOS, "the loop would sleep");
            now = Math.max(now, deadline);
            engine.advance(now);
            int more = poll();
            assertTrue(more <= ConnectThrottle.MIN_SYNS_PER_TICK, more + " at once");
            sent += more;
        }
        assertEquals(STORM, sent);
        assertEquals(0, engine.counters().retransmittedSegments);
    }

    @Test
    void optionsDoNotReleaseWaitingSyns() {
        storm().forEach(c -> c.noDelay(true));
        assertEquals(ConnectThrottle.MAX_UNANSWERED, poll());
    }

    @Test
    void closedConnectionIsSkipped() {
        List<TcpConnection> all = storm();
        poll();
        all.get(ConnectThrottle.MAX_UNANSWERED).close();
        all.get(ConnectThrottle.MAX_UNANSWERED + 1).abort();
        answer(TcpFlags.SYN | TcpFlags.ACK);
        assertEquals(1, poll());
        assertEquals(all.get(ConnectThrottle.MAX_UNANSWERED + 2).localPort(),
                ((ArrayDeque<Segment>) syns).getLast().sourcePort);
        assertEquals(List.of("closed ABORTED", "closed ABORTED", "connected"), events.events);
    }

    @Test
    void movedConnectionSendsItsSynFromOtherEngine() {
        TcpConnection last = storm().getLast();
        poll();
        TcpEngine other = newEngine(new Recorder());
        engine.release(last);
        other.adopt(last, now);
        Segment syn = new Segment();
        assertTrue(other.pollSegment(now, syn) && syn.has(TcpFlags.SYN));
        assertEquals(last.localPort(), syn.sourcePort);
        engine.shutdown();
        assertEquals(0, poll());
    }

    /** The peer opens at the same time while our SYN waits. The SYN-ACK must be sent at once. */
    @Test
    void simultaneousOpenEndsTheWait() {
        List<TcpConnection> all = storm();
        poll();
        TcpConnection waiting = all.get(STORM - 1);
        assertEquals(TcpState.SYN_SENT, waiting.state());
        Segment syn = new Segment().source(0, THERE, PORT).destination(0, HERE, waiting.localPort()).flags(TcpFlags.SYN)
                .seq(7).mss(1000).window(1000);
        engine.onSegment(syn, now);
        Segment answer = new Segment();
        assertTrue(engine.pollSegment(now, answer));
        assertEquals(TcpFlags.SYN | TcpFlags.ACK, answer.flags);
        assertEquals(waiting.localPort(), answer.sourcePort);
    }

    /** The users give up in the same turn, so none of the SYNs is ever sent. */
    @Test
    void connectionAbortedBeforeSynDoesNotCount() {
        for (int round = 0; round < 2 * ConnectThrottle.MAX_UNANSWERED; round++) {
            connect().abort();
        }
        storm();
        assertEquals(ConnectThrottle.MAX_UNANSWERED, poll());
    }

    @Test
    void movedConnectionDoesNotCount() {
        List<TcpConnection> all = storm();
        int sent = poll();
        TcpEngine other = newEngine(new Recorder());
        for (TcpConnection c : all.subList(0, sent)) {
            engine.release(c);
            other.adopt(c, now);
        }
        assertEquals(ConnectThrottle.MAX_UNANSWERED, poll());
    }

    /** An unanswered SYN no longer counts when its connection has ended. */
    @Test
    void unansweredSynOfEndedConnectionDoesNotCount() {
        List<TcpConnection> all = storm();
        int sent = poll();
        all.subList(0, sent).forEach(TcpConnection::abort);
        assertEquals(ConnectThrottle.MAX_UNANSWERED, poll());
    }
}
