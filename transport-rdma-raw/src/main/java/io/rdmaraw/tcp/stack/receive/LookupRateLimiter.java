package io.rdmaraw.tcp.stack.receive;

import io.rdmaraw.loop.TokenBucket;

/**
 * Limits the lookups for connections on other loops. Anyone can send unmatched segments at any rate, so their lookups
 * must cost the other loops only a bounded share of time. Used on the loop's thread only.
 */
public final class LookupRateLimiter {
    /** Maximum number of concurrent lookups, and the burst size of the rate limit. */
    private static final int MAX_CONCURRENT = 256;
    /**
     * Average interval of lookups. A lookup is a task of about one microsecond on each loop; this permits 8 lookups
     * in a millisecond.
     */
    private static final long INTERVAL_NANOS = 125_000;

    private final TokenBucket tokens = new TokenBucket(MAX_CONCURRENT, INTERVAL_NANOS);
    private int activeCount;

    /**
     * Starts a lookup. Returns false if the limit is reached. Each lookup must {@linkplain #end end}.
     *
     * @param settling whether flows have just moved; their segments arrive at once, so only the number of concurrent
     *     searches is limited
     */
    public boolean begin(boolean settling, long nowNanos) {
        if (activeCount == MAX_CONCURRENT || !settling && tokens.acquire(nowNanos) != 0) {
            return false;
        }
        activeCount++;
        return true;
    }

    /** Ends a lookup, whether it found a connection or not. */
    public void end() {
        activeCount--;
    }
}
