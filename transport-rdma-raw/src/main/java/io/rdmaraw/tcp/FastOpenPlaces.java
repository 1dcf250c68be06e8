package io.rdmaraw.tcp;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * How many connections of a listener the user has before their handshakes are complete. Taken by the listener's engine;
 * given back by the engine that the connection is with at the end, which may be another loop's: thread-safe.
 */
final class FastOpenPlaces {
    /** As Linux. */
    private static final long RESET_NANOS = 60_000_000_000L;

    private final AtomicInteger taken = new AtomicInteger();
    /** When the places of pending fast opens that were reset are free again, about the earliest first. */
    private final Queue<Long> resets = new ConcurrentLinkedQueue<>();

    /** Tells whether there is a place below a limit. For the listener's engine. */
    boolean isFree(int limit, long now) {
        Long free = resets.peek();
        while (free != null && free <= now) {
            resets.poll();
            taken.decrementAndGet();
            free = resets.peek();
        }
        return taken.get() < limit;
    }

    /** For the listener's engine, after {@link #isFree}. */
    void take() {
        taken.incrementAndGet();
    }

    void giveBack() {
        taken.decrementAndGet();
    }

    /**
     * Gives back the place of one that the peer has reset, later. The host that a forged SYN names answers with RST; if
     * its place were free at once, an attacker who uses others' addresses would never meet the bound (RFC 7413 section
     * 5.1; Linux too).
     */
    void giveBackLater(long now) {
        resets.add(now + RESET_NANOS);
    }
}
