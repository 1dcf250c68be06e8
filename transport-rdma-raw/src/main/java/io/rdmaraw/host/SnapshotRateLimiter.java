package io.rdmaraw.host;

/**
 * Limits the share of a thread's time spent on new snapshots of the network. The cost of a snapshot grows with the
 * number of neighbours, and a flood of addresses on the link changes the network with every frame. After a short burst
 * the share is limited to a tenth. Callers then combine changes until {@link #dueNanos}. Unlike a token bucket, this
 * class limits time, which is known only after it was spent. One snapshot may therefore exceed the limit; the next one
 * is delayed accordingly. Never reads the clock; callers pass the current time in nanoseconds. Not thread-safe.
 */
public final class SnapshotRateLimiter {
    /** Time that may be spent before the limit applies. A starting host publishes many snapshots in a row. */
    public static final long BURST_NANOS = 5_000_000;
    /** The limit is 1/SHARE of the elapsed time. */
    public static final int SHARE_DIVISOR = 10;

    private long owedNanos;
    private long lastNanos;

    public SnapshotRateLimiter(long nowNanos) {
        lastNanos = nowNanos;
    }

    /** Returns whether a snapshot may be created now. */
    public boolean allows(long nowNanos) {
        owedNanos = Math.max(0, owedNanos - (nowNanos - lastNanos) / SHARE_DIVISOR);
        lastNanos = nowNanos;
        return owedNanos < BURST_NANOS;
    }

    /** Returns the earliest time of the next snapshot after {@link #allows} has returned false. */
    public long dueNanos() {
        return lastNanos + SHARE_DIVISOR * (owedNanos - BURST_NANOS + 1);
    }

    /** Records the time spent on a snapshot. */
    public void recordSpent(long nanos) {
        owedNanos += nanos;
    }
}
