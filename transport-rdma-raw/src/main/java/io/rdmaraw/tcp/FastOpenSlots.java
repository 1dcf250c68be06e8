package io.rdmaraw.tcp;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts the connections of a listener that were delivered to the user before their handshakes were complete. The
 * listener's engine takes a place. The engine that the connection belongs to at the end returns it, possibly on
 * another thread, so this class is thread-safe.
 */
final class FastOpenSlots {
    /** Delay after which the place of a reset connection is free again, as on Linux. */
    private static final long RESET_NANOS = 60_000_000_000L;

    private final AtomicInteger used = new AtomicInteger();
    /** Times at which the places of reset connections become free, in approximately ascending order. */
    private final Queue<Long> delayedReleases = new ConcurrentLinkedQueue<>();

    /** Returns whether fewer than {@code limit} places are taken. Called only by the listener's engine. */
    boolean hasFree(int limit, long now) {
        Long free = delayedReleases.peek();
        while (free != null && free <= now) {
            delayedReleases.poll();
            used.decrementAndGet();
            free = delayedReleases.peek();
        }
        return used.get() < limit;
    }

    /** Takes a place after {@link #hasFree} returned true. Called only by the listener's engine. */
    void acquire() {
        used.incrementAndGet();
    }

    void release() {
        used.decrementAndGet();
    }

    /**
     * Releases the place of a connection that the peer has reset, after a delay. If a SYN has a forged source address,
     * the host with that address answers with RST. If the place were free at once, an attacker with forged addresses
     * would never reach the limit (RFC 7413 section 5.1, as Linux).
     */
    void releaseLater(long now) {
        delayedReleases.add(now + RESET_NANOS);
    }
}
