package io.rdmaraw.tools.bench.tcp;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.HdrHistogram.Histogram;

/** What the handlers on one loop have counted. The loop writes, others read. */
final class StreamCounts {
    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int DIGITS = 3;

    /** Requests answered. */
    private final AtomicLong roundTrips = new AtomicLong();
    /** Bytes received in bulk. */
    private final AtomicLong bytes = new AtomicLong();
    /** Connections that were opened, and closed from both sides. */
    private final AtomicLong connections = new AtomicLong();
    /** Of the loop's thread alone. */
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

    /** The times of round trips; on the loop's thread. */
    Histogram roundTripNanos() {
        return roundTripNanos;
    }
}
