package io.rdmaraw.tcp.send;

/**
 * What a connection needs while it has something to send or in flight, and only then: an idle connection has none. The
 * engine keeps a stack of them, so the one taken is the one last used and lies in the cache.
 */
public final class Flight {
    private static final int MAX_POOLED_CAPACITY = 64;

    /** What keeps a connection from sending more, other than the path. */
    public enum Limit { NONE, PEER_WINDOW, SEND_BUFFER }


    public final SendQueue queue = new SendQueue();
    public final Scoreboard scoreboard = new Scoreboard();
    public final RecoveryState recovery = new RecoveryState();
    /**
     * What is left of a small segment that could have gone out but for the number of its slices. It follows at once:
     * what keeps small segments back has been asked about the whole.
     */
    public int restBytes;
    /** Since when the connection has had something to send or in flight. */
    public long busySinceNanos;
    public Limit limit = Limit.NONE;
    /** Since when it has been limited by this. */
    public long limitSinceNanos;
    /** The user has more to send than the send buffer takes. */
    public boolean userWaits;
    /**
     * All is acknowledged, and nothing more is queued. A user who answers at once what came with the acknowledgement
     * goes on with this flight as it is; else it is given back at the end of the connection's turn.
     */
    private boolean idle;

    public void reset(int seq) {
        queue.reset(seq);
        scoreboard.reset(seq);
        recovery.reset(seq);
        restBytes = 0;
        limit = Limit.NONE;
        userWaits = false;
        idle = false;
    }

    /** All is acknowledged. Returns false if it cannot be gone on with as it is. */
    public boolean rest() {
        idle = recovery.isUnused() && isPoolable();
        return idle;
    }

    public boolean isIdle() {
        return idle;
    }

    /** There is something to send again, from where it ended. */
    public void resume() {
        idle = false;
        recovery.endSeq = queue.endSeq();
        restBytes = 0;
        userWaits = false;
    }

    /** Whether it is small enough to be kept for another connection. */
    public boolean isPoolable() {
        return queue.capacity() <= MAX_POOLED_CAPACITY && scoreboard.capacity() <= MAX_POOLED_CAPACITY;
    }

    /** Bytes in flight as the congestion window counts them; duplicate ACKs without SACK count as arrivals. */
    public int pipeBytes() {
        return Math.max(0, scoreboard.pipeBytes() - recovery.duplicateAckBytes);
    }
}
