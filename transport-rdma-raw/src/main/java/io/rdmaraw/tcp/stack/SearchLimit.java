package io.rdmaraw.tcp.stack;

import io.rdmaraw.loop.TokenBucket;

/**
 * How many segments of unknown connections a loop has others asked about. Anyone can send such segments at any rate:
 * they are to cost the other loops a bounded share of their time. For the loop's thread.
 */
final class SearchLimit {
    /** Segments that other loops are being asked about at a time. */
    private static final int AT_A_TIME = 256;
    /** A search is a task of about a microsecond on each loop, and 8 in a millisecond are allowed. */
    private static final long INTERVAL_NANOS = 125_000;

    private final TokenBucket rate = new TokenBucket(AT_A_TIME, INTERVAL_NANOS);
    private int underWay;

    /**
     * Returns whether a search may begin; each that has is to {@linkplain #end end}.
     *
     * @param settling flows have just moved: those that have come all at once, so that only how many are under way
     *                 counts
     */
    boolean begin(boolean settling, long nowNanos) {
        if (underWay == AT_A_TIME || !settling && rate.take(nowNanos) != 0) {
            return false;
        }
        underWay++;
        return true;
    }

    /** A search has found a connection, or that there is none. */
    void end() {
        underWay--;
    }
}
