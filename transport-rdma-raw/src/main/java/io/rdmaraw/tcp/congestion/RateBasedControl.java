package io.rdmaraw.tcp.congestion;

/**
 * A congestion control that models the path from delivery rates, such as BBR. It determines the congestion window
 * after each ACK, even during recovery, and the pacing rate. {@link #onAcked} is not called.
 */
public interface RateBasedControl extends CongestionControl {
    /**
     * Handles an ACK after its losses were detected.
     *
     * @param sample rate sample of the ACK; valid during this call
     * @return the new congestion window in bytes, at least one segment
     */
    int onRateSample(CongestionWindow window, RateSample sample, long nowNanos);

    /**
     * Handles a segment that was marked as lost.
     *
     * @param lost description of the segment; valid during this call
     */
    void onSegmentLost(CongestionWindow window, LostSegment lost, long nowNanos);

    /**
     * Handles the end of recovery, whether by repair or because the loss was spurious. The window may return to
     * its previous value.
     */
    void onRecoveryEnd();

    /** Handles a transmission with nothing in flight, after the application had no data to send. */
    void onRestart(CongestionWindow window, long nowNanos);

    /** Returns the pacing rate in payload bytes per second; 0 for no pacing. */
    long pacingRate();

    @Override
    default int onAcked(CongestionWindow window, int ackedBytes, long nowNanos) {
        return window.congestionWindowBytes();
    }
}
