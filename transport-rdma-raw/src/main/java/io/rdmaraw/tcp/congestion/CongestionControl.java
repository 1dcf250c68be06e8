package io.rdmaraw.tcp.congestion;

/**
 * A congestion control algorithm: the growth of the window without loss, and its reduction after a loss. Loss
 * detection, recovery (PRR) and undo are not part of it. Each connection has its own instance, which is called
 * only on its thread.
 *
 * <p>Windows are in bytes. The connection stores {@code cwnd} and {@code ssthresh} and passes them in.
 */
public interface CongestionControl {
    /** Value of the threshold before the first loss: slow start has no limit. */
    int UNBOUNDED = Integer.MAX_VALUE;

    /** Creates an instance for a connection. */
    @FunctionalInterface
    interface Factory {
        CongestionControl create();
    }

    /**
     * Handles newly acknowledged data outside recovery. Called only if the congestion window limited the sender.
     *
     * @param ackedBytes bytes newly acknowledged, at least 1
     * @return the new congestion window, not below the present one
     */
    int onAcked(CongestionWindow window, int ackedBytes, long nowNanos);

    /**
     * Handles an RTT sample.
     *
     * @param ackedSeq cumulative acknowledgement of the same segment
     * @param nextSeq  SND.NXT, which marks the end of the round
     */
    default void onRttSample(CongestionWindow window, long rttNanos, int ackedSeq, int nextSeq) {
    }

    /** Handles a loss. Returns the new {@code ssthresh}, at least two segments. */
    int onCongestion(CongestionWindow window, int flightBytes, long nowNanos);

    /** Handles an ECN mark that was not answered yet (RFC 3168 section 6.1.2). Returns the new {@code ssthresh}. */
    default int onEcnMark(CongestionWindow window, int flightBytes, long nowNanos) {
        return onCongestion(window, flightBytes, nowNanos);
    }

    /**
     * Returns whether the window is reduced less for a mark than for a loss (RFC 8511 section 3). This requires
     * the user's setting and congestion avoidance. A queue that marks is short, so a smaller reduction is enough
     * to drain it.
     */
    static boolean usesAlternativeBackoff(CongestionWindow window) {
        return window.alternativeBackoff()
                && window.congestionWindowBytes() >= window.slowStartThresholdBytes();
    }

    /**
     * Returns whether the algorithm counts marked bytes. If so, ECN is offered, and the ECE flag of each of our
     * ACKs applies to exactly the data that it acknowledges (RFC 8257 section 3.2).
     */
    default boolean countsMarks() {
        return false;
    }

    /**
     * Handles newly acknowledged data on a connection with ECN. Called before the other methods for the same ACK.
     *
     * @param markedBytes bytes among them that the ACK reports as marked; all or none, unless accurate feedback
     *     is used (RFC 9768)
     * @param ackedSeq    SND.UNA
     * @param nextSeq     SND.NXT
     */
    default void onMarksEchoed(int ackedBytes, int markedBytes, int ackedSeq, int nextSeq) {
    }

    /** Handles the expiry of the retransmission timer. Called after {@link #onCongestion} if that is called too. */
    default void onTimeout(long nowNanos) {
    }

    /** Undoes the effect of the last {@link #onCongestion}, which was spurious (RFC 9438 section 4.9). */
    default void onUndo() {
    }

    /** Handles an idle time longer than a retransmission timeout. */
    default void onIdle(long idleNanos) {
    }

    /** Returns the name for logs and statistics. */
    String name();
}
