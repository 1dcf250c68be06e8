package io.rdmaraw.tcp.send;

/**
 * The state of a connection with data to send or in flight. Idle connections have none. The engine pools
 * instances in a stack, so an acquired one is likely to be in the CPU cache.
 */
public final class SendState {
    private static final int MAX_POOLED_CAPACITY = 64;
    /** A larger state is kept while the connection uses at least this fraction of it. */
    private static final int MAX_CAPACITY_PER_USE = 4;

    /** Reason why a connection cannot send more, other than the path. */
    public enum Limit { NONE, PEER_WINDOW, SEND_BUFFER }

    public final SendQueue queue = new SendQueue();
    public final Scoreboard scoreboard = new Scoreboard();
    public final RecoveryState recovery = new RecoveryState();
    /**
     * Number of unsent bytes of a small segment that was split, because its data lies in too many buffers. They are
     * sent without another check by {@code maySendSmall}, which the unsplit segment has already passed.
     */
    public int splitRestBytes;
    /** End of the last segment that was smaller than the MSS. Nagle's algorithm waits for its acknowledgement. */
    public int smallEndSeq;
    /**
     * Maximum number of bytes in flight in the present round trip, which ends when {@link #maxFlightEndSeq} is
     * acknowledged.
     */
    public int maxFlightBytes;
    public int maxFlightEndSeq;
    /** Time since which the connection has had data to send or in flight. */
    public long busySinceNanos;
    public Limit limit = Limit.NONE;
    /** Time since which {@link #limit} applies. */
    public long limitSinceNanos;
    /** The user has more data to send than the send buffer accepts. */
    public boolean awaitingSendRoom;
    /**
     * All data is acknowledged and nothing is queued. If the user sends a reply at once, the connection continues
     * with this instance; otherwise it is returned to the pool at the end of the connection's turn.
     */
    private boolean idle;
    /** Largest numbers of segments in flight and of buffers in the queue since the state was last idle. */
    private int maxSegments;
    private int maxBuffers;

    public void reset(int seq) {
        queue.reset(seq);
        scoreboard.reset(seq);
        recovery.reset(seq);
        splitRestBytes = 0;
        smallEndSeq = seq;
        maxFlightBytes = 0;
        maxFlightEndSeq = seq;
        limit = Limit.NONE;
        awaitingSendRoom = false;
        idle = false;
        maxSegments = 0;
        maxBuffers = 0;
    }

    /** Records the size in use. Called before an acknowledgement reduces it. */
    public void recordUse() {
        maxSegments = Math.max(maxSegments, scoreboard.entryCount());
        maxBuffers = Math.max(maxBuffers, queue.bufferCount());
    }

    /**
     * Marks the state as idle when all data is acknowledged. Returns false if it cannot be resumed and must be
     * released: a recovery has used it, or it is much larger than the connection has needed since it was last idle.
     * Otherwise a connection that replies in each turn would keep the memory of its largest reply.
     */
    public boolean markIdle() {
        idle = recovery.isUnused() && fits(scoreboard.capacity(), maxSegments) && fits(queue.capacity(), maxBuffers);
        return idle;
    }

    private static boolean fits(int capacity, int used) {
        return capacity <= MAX_POOLED_CAPACITY || capacity / MAX_CAPACITY_PER_USE <= used;
    }

    public boolean isIdle() {
        return idle;
    }

    /** Resumes an idle state for new data. */
    public void resume() {
        idle = false;
        recovery.recoveryPoint = queue.endSeq();
        splitRestBytes = 0;
        smallEndSeq = queue.endSeq();
        maxFlightBytes = 0;
        maxFlightEndSeq = queue.endSeq();
        awaitingSendRoom = false;
        maxSegments = 0;
        maxBuffers = 0;
    }

    /** Returns whether the state is small enough for the pool. */
    public boolean isPoolable() {
        return queue.capacity() <= MAX_POOLED_CAPACITY && scoreboard.capacity() <= MAX_POOLED_CAPACITY;
    }

    /**
     * Returns the bytes in flight for comparison with the congestion window. Without SACK, duplicate ACKs count
     * as deliveries.
     */
    public int pipeBytes() {
        return Math.max(0, scoreboard.pipeBytes() - recovery.duplicateAckBytes);
    }
}
