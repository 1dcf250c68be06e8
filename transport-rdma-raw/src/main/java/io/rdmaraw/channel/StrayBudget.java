package io.rdmaraw.channel;

/**
 * How many segments of unknown connections a loop has the others asked about: what anybody may send, at any rate, is to
 * cost the other loops a bounded share of their time. For the loop's thread.
 */
final class StrayBudget {
    /** So many may come at once. */
    static final int MAX_TOKENS = 256;
    /** A search is a task of about a microsecond on each loop. */
    static final int TOKENS_PER_MILLI = 8;
    private static final long NANOS_PER_TOKEN = 1_000_000L / TOKENS_PER_MILLI;

    /** When all tokens will be there again. */
    private long fullNanos;
    private boolean used;

    /** Takes a token; false if there is none. */
    boolean take(long nowNanos) {
        long full = used && fullNanos - nowNanos > 0 ? fullNanos : nowNanos;
        if (full - nowNanos > (MAX_TOKENS - 1) * NANOS_PER_TOKEN) {
            return false;
        }
        fullNanos = full + NANOS_PER_TOKEN;
        used = true;
        return true;
    }
}
