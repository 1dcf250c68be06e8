package io.rdmaraw.microbench.tcp;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.HdrHistogram.Histogram;

/** The counts of the handlers on one event loop. The loop writes, other threads read. */
final class StreamCounts {
    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int DIGITS = 3;

    /** Requests answered. */
    private final AtomicLong roundTrips = new AtomicLong();
    /** Bytes received in bulk. */
    private final AtomicLong bytes = new AtomicLong();
    /** Connections that were opened, and closed from both sides. */
    private final AtomicLong connections = new AtomicLong();
    /** Used by the thread of the event loop only. */
    private final Histogram roundTripNanos = new Histogram(LONGEST_NANOS, DIGITS);

    void addRoundTrip(long nanos) {
        roundTrips.lazySet(roundTrips.getPlain() + 1);
        roundTripNanos.recordValue(Math.min(nanos, LONGEST_NANOS));
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

    /** Returns the times of round trips; on the thread of the event loop. */
    Histogram roundTripNanos() {
        return roundTripNanos;
    }
}
