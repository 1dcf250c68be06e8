package io.rdmaraw.tcp.congestion;

/**
 * A congestion control algorithm: how the window grows while nothing is lost and how far it falls when something is.
 * Loss detection, recovery (PRR) and undo are the connection's. One instance per connection; called on its thread only.
 *
 * <p>Windows are bytes. The connection keeps {@code cwnd} and {@code ssthresh} and passes them in.
 */
public interface CongestionControl {
    /** No threshold known yet: slow start is unbounded. */
    int UNBOUNDED = Integer.MAX_VALUE;

    /** Makes one for each connection. */
    @FunctionalInterface
    interface Factory {
        CongestionControl create();
    }

    /**
     * New data was acknowledged outside of recovery while the window was what limited the sender.
     *
     * @param ackedBytes bytes newly acknowledged, 1 or more
     * @return the new congestion window, at least {@code window.cwnd()}
     */
    int onAcked(CongestionWindow window, int ackedBytes, long nowNanos);

    /**
     * An RTT was measured.
     *
     * @param ackedSeq the cumulative acknowledgement that came with it
     * @param nextSeq  SND.NXT, which delimits rounds
     */
    default void onRttSample(CongestionWindow window, long rttNanos, int ackedSeq, int nextSeq) {
    }

    /** Something was lost: returns the new {@code ssthresh}, at least two segments. */
    int onCongestion(CongestionWindow window, int flightBytes, long nowNanos);

    /** The peer reports a mark that was not answered yet (RFC 3168 section 6.1.2): returns the new {@code ssthresh}. */
    default int onMarked(CongestionWindow window, int flightBytes, long nowNanos) {
        return onCongestion(window, flightBytes, nowNanos);
    }

    /**
     * Whether a mark costs less than a loss: where the user wants it, and in congestion avoidance alone (RFC 8511
     * section 3). A queue that marks is short, so less than half of the window, or less than CUBIC's share, empties it.
     */
    static boolean marksCostLess(CongestionWindow window) {
        return window.alternativeBackoff()
                && window.congestionWindowBytes() >= window.slowStartThresholdBytes();
    }

    /**
     * Whether the algorithm counts how much was marked: ECN is offered then, and each acknowledgement of ours tells of
     * the data that it acknowledges (RFC 8257 section 3.2).
     */
    default boolean countsMarks() {
        return false;
    }

    /**
     * New data was acknowledged on a connection with ECN, before anything else is told of it.
     *
     * @param markedBytes how much of it the acknowledgement reports as marked: all or nothing, unless both ends count
     *                    (RFC 9768)
     * @param ackedSeq    SND.UNA
     * @param nextSeq     SND.NXT
     */
    default void onMarksEchoed(int ackedBytes, int markedBytes, int ackedSeq, int nextSeq) {
    }

    /** The retransmission timer ran out; follows {@link #onCongestion}. */
    default void onTimeout(long nowNanos) {
    }

    /** The last {@link #onCongestion} turned out to be spurious: forget what it did (RFC 9438 section 4.9). */
    default void onUndo() {
    }

    /** Nothing was sent for longer than a retransmission timeout. */
    default void onIdle(long idleNanos) {
    }

    /** The name for logs and statistics. */
    String name();
}
