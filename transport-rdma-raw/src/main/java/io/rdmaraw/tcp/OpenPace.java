package io.rdmaraw.tcp;

import java.util.ArrayDeque;

/**
 * Lets the SYNs of connections that are opened all at once go out a few at a time. What takes them, a receive queue or
 * a backlog, has its bound, and a SYN that is lost comes again after a second (RFC 6298 section 2.1) only. Each answer
 * lets another one go, and so does time, as some peers never answer.
 */
final class OpenPace {
    /** SYNs without an answer: a quarter of the frames that a receive queue has room for by default. */
    static final int UNANSWERED = 256;
    /** So many go in each tick even if nobody answers. */
    static final int PER_TICK = 64;

    private final TcpCounters counters;
    private ArrayDeque<TcpConnection> waiting;
    private int allowed = UNANSWERED;
    private long tick;

    OpenPace(TcpCounters counters) {
        this.counters = counters;
    }

    /** A connection is to send its first SYN: it does now, or when its turn comes. */
    void open(TcpConnection c, long now) {
        refill(now);
        if (allowed > 0 && isEmpty()) {
            allowed--;
            c.engine.ready(c);
            return;
        }
        if (waiting == null) {
            waiting = new ArrayDeque<>();
        }
        counters.opensDelayed++;
        // As if it were in the list of those that have something to send: nothing else puts it there.
        c.set(Tcb.READY);
        waiting.add(c);
    }

    /** A SYN was answered. */
    void answered(long now) {
        allowed = Math.min(UNANSWERED, allowed + 1);
        release(now);
    }

    /** Lets those go whose turn has come. */
    void release(long now) {
        if (isEmpty()) {
            return;
        }
        refill(now);
        while (allowed > 0 && !isEmpty()) {
            TcpConnection c = waiting.poll();
            c.clear(Tcb.READY);
            if (c.state == TcpState.SYN_SENT) {
                allowed--;
                c.engine.ready(c);
            }
        }
    }

    /** Forgets a connection that goes to another engine; returns false if it did not wait here. */
    boolean remove(TcpConnection c) {
        return !isEmpty() && waiting.remove(c);
    }

    /** When {@link #release} has to be called next; NEVER if nobody waits. */
    long nextNanos() {
        return isEmpty() ? Tcb.NEVER : tick + 1 << TimerWheel.TICK_SHIFT;
    }

    private boolean isEmpty() {
        return waiting == null || waiting.isEmpty();
    }

    private void refill(long now) {
        long current = now >> TimerWheel.TICK_SHIFT;
        if (current != tick) {
            tick = current;
            allowed = Math.max(allowed, PER_TICK);
        }
    }
}
