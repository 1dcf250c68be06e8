package io.rdmaraw.tcp;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.List;

/**
 * Lets the SYNs of connections that are opened all at once go out a few at a time. What takes them, a receive queue or
 * a backlog, has its bound, and a SYN that is lost comes again after a second (RFC 6298 section 2.1) only. Each answer
 * lets another one go, and so does time, as some peers never answer.
 */
final class SynPacer {
    /** SYNs without an answer: less than a receive queue takes while its loop is away, with the ACKs among them. */
    static final int UNANSWERED = 128;
    /** SYNs per tick even without answers: a receive queue has room for a tenth of a second of them. */
    static final int PER_TICK = 4;

    private final TcpCounters counters;
    private ArrayDeque<TcpConnection> waiting;
    private int allowed = UNANSWERED;
    private long tick;

    SynPacer(TcpCounters counters) {
        this.counters = counters;
    }

    /** A connection is to send its first SYN: it does now, or when its turn comes. */
    void open(TcpConnection c, long now) {
        refill(now);
        if (allowed > 0 && isEmpty()) {
            letGo(c);
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

    private void letGo(TcpConnection c) {
        allowed--;
        c.hasSynPlace = true;
        c.engine.ready(c);
    }

    /**
     * A connection is about to leave SYN-SENT, because its SYN was answered or because it ends, or goes to another
     * engine. One that waits still takes no place; its turn comes and finds it gone.
     */
    void leave(TcpConnection c, long now) {
        if (c.hasSynPlace) {
            c.hasSynPlace = false;
            allowed = Math.min(UNANSWERED, allowed + 1);
            release(now);
        }
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
                letGo(c);
            }
        }
    }

    /** Forgets a connection, which goes to another engine or need not wait; returns false if it did not wait here. */
    boolean remove(TcpConnection c) {
        return !isEmpty() && waiting.remove(c);
    }

    /** When {@link #release} has to be called next; NEVER if no connection waits. */
    long nextNanos() {
        return isEmpty() ? Tcb.NEVER : tick + 1 << TimerWheel.TICK_SHIFT;
    }

    Collection<TcpConnection> waiting() {
        return waiting == null ? List.of() : waiting;
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
