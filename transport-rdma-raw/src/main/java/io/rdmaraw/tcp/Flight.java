package io.rdmaraw.tcp;

/**
 * What a connection needs while it has something to send or in flight, and only then: an idle connection has none. The
 * engine keeps a stack of them, so the one taken is the one last used and lies in the cache.
 */
final class Flight {
    private static final int MAX_POOLED_CAPACITY = 64;

    final SendQueue queue = new SendQueue();
    final Scoreboard scoreboard = new Scoreboard();
    final RecoveryState recovery = new RecoveryState();

    void reset(int seq) {
        queue.reset(seq);
        scoreboard.reset(seq);
        recovery.reset(seq);
    }

    /** Whether it is small enough to be kept for another connection. */
    boolean isPoolable() {
        return queue.capacity() <= MAX_POOLED_CAPACITY && scoreboard.capacity() <= MAX_POOLED_CAPACITY;
    }

    /** Bytes in flight as the congestion window counts them; duplicate ACKs without SACK count as arrivals. */
    int pipeBytes() {
        return Math.max(0, scoreboard.pipeBytes() - recovery.duplicateAckBytes);
    }
}
