package io.rdmaraw.host;

/**
 * Limits the share of a thread's time that goes into new snapshots of the network. The cost of one grows with the
 * number of neighbours, and a flood of addresses on the link changes the network with every frame. So beyond a short
 * burst the share is a tenth, and changes are gathered. Never reads the clock; callers pass the current time in
 * nanoseconds. It is no token bucket: it limits time spent, which is known only afterwards. For one thread at a time.
 */
public final class SnapshotRateLimiter {
    /** So much may be taken before anything waits: a host that starts learns many things one after the other. */
    static final long AT_ONCE_NANOS = 5_000_000;
    /** One of so many nanoseconds. */
    static final int SHARE = 10;

    private long owedNanos;
    private long lastNanos;

    public SnapshotRateLimiter(long nowNanos) {
        lastNanos = nowNanos;
    }

    /** Tells whether a picture may be made now. */
    public boolean allows(long nowNanos) {
        owedNanos = Math.max(0, owedNanos - (nowNanos - lastNanos) / SHARE);
        lastNanos = nowNanos;
        return owedNanos < AT_ONCE_NANOS;
    }

    /** Returns when the next may be made if {@link #allows} has just said no. */
    public long dueNanos() {
        return lastNanos + SHARE * (owedNanos - AT_ONCE_NANOS + 1);
    }

    /** A picture took so long. */
    public void spent(long nanos) {
        owedNanos += nanos;
    }
}
