package io.rdmaraw.host;

/**
 * How much of a thread's time may go into new pictures of the network. Each takes as long as there are neighbours, and
 * whoever floods the link with addresses changes it with every frame: beyond a short time at once it is a tenth, and
 * what has changed meanwhile is seen together. Time is given, never taken. For one thread at a time.
 */
public final class SnapshotBudget {
    /** So much may be taken before anything waits: a host that starts learns many things one after the other. */
    static final long AT_ONCE_NANOS = 5_000_000;
    /** One of so many nanoseconds. */
    static final int SHARE = 10;

    private long owedNanos;
    private long lastNanos;

    public SnapshotBudget(long nowNanos) {
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
