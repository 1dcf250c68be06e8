package io.rdmaraw.microbench.tcp;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.HdrHistogram.Histogram;

/** The counters of the handlers on one event loop. Only the loop writes them; other threads read them. */
final class StreamCounts {
    private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int DIGITS = 3;

    /** Number of answered requests. */
    private final AtomicLong roundTrips = new AtomicLong();
    /** Number of bytes received in bulk transfers. */
    private final AtomicLong bytes = new AtomicLong();
    /** Number of connections that were opened and then closed by both sides. */
    private final AtomicLong connections = new AtomicLong();
    /** Round-trip times. Used only by the thread of the event loop. */
    private final Histogram roundTripNanos = new Histogram(MAX_NANOS, DIGITS);

    void addRoundTrip(long nanos) {
        roundTrips.lazySet(roundTrips.getPlain() + 1);
        roundTripNanos.recordValue(Math.min(nanos, MAX_NANOS));
    }

    void addBytes(int count) {
        bytes.lazySet(bytes.getPlain() + count);
    }

    void addConnection() {
        connections.lazySet(connections.getPlain() + 1);
    }

    long roundTrips() {
        return roundTrips.get();
    }

    long bytes() {
        return bytes.get();
    }

    long connections() {
        return connections.get();
    }

    /** Returns the round-trip times. Called on the thread of the event loop. */
    Histogram roundTripNanos() {
        return roundTripNanos;
    }
}
