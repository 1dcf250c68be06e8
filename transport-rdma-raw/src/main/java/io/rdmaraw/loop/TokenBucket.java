package io.rdmaraw.loop;

/**
 * Limits a rate: a number of tokens may be taken at once, and one comes back with each interval. Never reads the clock;
 * callers pass the current time in nanoseconds. For one thread at a time.
 */
public final class TokenBucket {
    private final long intervalNanos;
    /** How far the bucket may be from full while there is a token. */
    private final long maxMissingNanos;
    /** When all tokens will be there again. */
    private long fullNanos;
    private boolean used;

    /**
     * @param tokens how many may be taken at once
     * @param intervalNanos after which one more comes
     */
    public TokenBucket(int tokens, long intervalNanos) {
        this.intervalNanos = intervalNanos;
        maxMissingNanos = (tokens - 1) * intervalNanos;
    }

    /** Takes a token; returns 0, or in how many nanoseconds there will be one if there is none. */
    public long take(long nowNanos) {
        return take(1, nowNanos);
    }

    /** Takes several tokens if there is at least one; returns 0, or in how many nanoseconds there will be one. */
    public long take(int tokens, long nowNanos) {
        long missing = used ? Math.max(0, fullNanos - nowNanos) : 0;
        if (missing > maxMissingNanos) {
            return missing - maxMissingNanos;
        }
        fullNanos = nowNanos + missing + tokens * intervalNanos;
        used = true;
        return 0;
    }
}
