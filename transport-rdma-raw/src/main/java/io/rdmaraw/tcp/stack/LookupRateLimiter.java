package io.rdmaraw.tcp.stack;

import io.rdmaraw.loop.TokenBucket;

/**
 * Limits the searches for connections on other loops. Anyone can send unmatched segments at any rate, so their searches
 * must cost the other loops only a bounded share of time. Used on the loop's thread only.
 */
final class LookupRateLimiter {
    /** Maximum number of concurrent searches, and the burst size of the rate limit. */
    private static final int AT_A_TIME = 256;
    /**
     * Average interval of searches. A search is a task of about one microsecond on each loop; this permits 8 searches
     * in a millisecond.
     */
    private static final long INTERVAL_NANOS = 125_000;

    private final TokenBucket rate = new TokenBucket(AT_A_TIME, INTERVAL_NANOS);
    private int underWay;

    /**
     * Starts a search. Returns false if the limit is reached. Each search must {@linkplain #end end}.
     *
     * @param settling whether flows have just moved; their segments arrive at once, so only the number of concurrent
     *     searches is limited
     */
    boolean begin(boolean settling, long nowNanos) {
        if (underWay == AT_A_TIME || !settling && rate.take(nowNanos) != 0) {
            return false;
        }
        underWay++;
        return true;
    }

    /** Ends a search, whether it found a connection or not. */
    void end() {
        underWay--;
    }
}
