package io.rdmaraw.tcp;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.List;

/**
 * Limits the number of unanswered SYNs of an engine if many connections are opened at once. Otherwise a burst of SYNs,
 * or of answers to them, could overflow a receive queue or a listener's backlog. A lost SYN is retransmitted only after
 * a second (RFC 6298 section 2.1).
 *
 * <p>Up to {@link #MAX_UNANSWERED} SYNs are sent without delay; further connections are queued. Each answer, and the
 * end of an attempt, permits the next SYN. Peers that never answer must not block other connects, so at least
 * {@link #MIN_SYNS_PER_TICK} SYNs per tick are permitted in any case. The number of unanswered SYNs may then exceed
 * {@link #MAX_UNANSWERED}. Retransmitted SYNs are not limited.
 */
final class ConnectThrottle {
    /**
     * Number of unanswered SYNs up to which SYNs are sent without delay. A receive queue of the default depth, 1,024,
     * has room for this number of SYNs or SYN-ACKs, and for other segments that arrive while its loop is busy.
     */
    static final int MAX_UNANSWERED = 128;
    /**
     * Minimum number of SYNs per tick of {@link TimerWheel} (about 1 ms), even without answers. A receive queue of
     * the default depth has room for those of a tenth of a second.
     */
    static final int MIN_SYNS_PER_TICK = 4;

    private final TcpCounters counters;
    private ArrayDeque<TcpConnection> waiting;
    private int freeSynSlots = MAX_UNANSWERED;
    private long tick;

    ConnectThrottle(TcpCounters counters) {
        this.counters = counters;
    }

    /** Sends the first SYN of a connection now, or queues the connection until a SYN is permitted. */
    void open(TcpConnection c, long now) {
        refill(now);
        if (freeSynSlots > 0 && isEmpty()) {
            permit(c);
            return;
        }
        if (waiting == null) {
            waiting = new ArrayDeque<>();
        }
        counters.opensDelayed++;
        // OUTPUT_QUEUED is set although the connection is not in the queue, so that no other event adds it there.
        c.set(Tcb.OUTPUT_QUEUED);
        waiting.add(c);
    }

    private void permit(TcpConnection c) {
        freeSynSlots--;
        c.hasSynSlot = true;
        c.engine.queueOutput(c);
    }

    /**
     * Handles a connection that is about to leave SYN-SENT: its SYN was answered, it ends, or it moves to another
     * engine. A connection that ends before its first SYN was permitted stays queued, and {@link #releaseWaiting} skips
     * it.
     */
    void onLeaveSynSent(TcpConnection c, long now) {
        if (c.hasSynSlot) {
            c.hasSynSlot = false;
            freeSynSlots = Math.min(MAX_UNANSWERED, freeSynSlots + 1);
            releaseWaiting(now);
        }
    }

    /** Releases waiting connections as far as the limit allows. */
    void releaseWaiting(long now) {
        if (isEmpty()) {
            return;
        }
        refill(now);
        while (freeSynSlots > 0 && !isEmpty()) {
            TcpConnection c = waiting.poll();
            c.clear(Tcb.OUTPUT_QUEUED);
            if (c.state == TcpState.SYN_SENT) {
                permit(c);
            }
        }
    }

    /**
     * Removes a queued connection that moves to another engine, or that has received the peer's SYN before its own was
     * sent (simultaneous open). Returns false if it was not queued.
     */
    boolean remove(TcpConnection c) {
        return !isEmpty() && waiting.remove(c);
    }

    /**
     * Returns the time at which {@link #releaseWaiting} must be called next; {@link Tcb#NEVER} if no connection waits.
     */
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
            freeSynSlots = Math.max(freeSynSlots, MIN_SYNS_PER_TICK);
        }
    }
}
