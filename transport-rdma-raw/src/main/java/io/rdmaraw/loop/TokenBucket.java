package io.rdmaraw.loop;

/**
 * Limits a rate. Up to a number of tokens can be acquired at once, and one token is added per interval. Never
 * reads the clock; callers pass the current time. Not thread-safe.
 */
public final class TokenBucket {
    private final long intervalNanos;
    /** Maximum time until the bucket is full at which it still contains a token. */
    private final long maxMissingNanos;
    /** Time at which the bucket will be full. */
    private long fullNanos;
    private boolean used;

    /**
     * @param tokens        capacity of the bucket
     * @param intervalNanos time after which one token is added
     */
    public TokenBucket(int tokens, long intervalNanos) {
        this.intervalNanos = intervalNanos;
        maxMissingNanos = (tokens - 1) * intervalNanos;
    }

    /** Acquires a token. Returns 0, or the time in nanoseconds until one is available. */
    public long acquire(long nowNanos) {
        return acquire(1, nowNanos);
    }

    /**
     * Acquires several tokens if at least one is available. Returns 0, or the time in nanoseconds until one is
     * available.
     */
    public long acquire(int tokens, long nowNanos) {
        long missingNanos = used ? Math.max(0, fullNanos - nowNanos) : 0;
        if (missingNanos > maxMissingNanos) {
            return missingNanos - maxMissingNanos;
        }
        fullNanos = nowNanos + missingNanos + tokens * intervalNanos;
        used = true;
        return 0;
    }
}
