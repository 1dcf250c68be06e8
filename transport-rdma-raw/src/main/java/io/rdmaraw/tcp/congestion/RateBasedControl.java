package io.rdmaraw.tcp.congestion;

/**
 * A congestion control that models the path from delivery rates, as BBR does: it decides the congestion window after
 * each acknowledgement, in recovery too, and the rate that segments are paced at. {@link #onAcked} is not asked.
 */
public interface RateBasedControl extends CongestionControl {
    /**
     * An acknowledgement was taken in, its losses are known.
     *
     * @param sample what it says of the path; good for this call
     * @return the new congestion window in bytes, at least one segment
     */
    int onRateSample(CongestionWindow window, RateSample sample, long nowNanos);

    /**
     * A segment was taken for lost.
     *
     * @param lost what is known of it; good for this call
     */
    void onSegmentLost(CongestionWindow window, LostSegment lost, long nowNanos);

    /** Recovery is over, whether by repair or because the loss was none: the window may be what it was before. */
    void onRecoveryEnd();

    /** Something is sent while nothing is in flight, because the application had nothing to send. */
    void onRestart(CongestionWindow window, long nowNanos);

    /** Bytes per second that segments are to be sent at; 0 for as fast as the window lets them go. */
    long pacingRate();

    @Override
    default int onAcked(CongestionWindow window, int ackedBytes, long nowNanos) {
        return window.congestionWindowBytes();
    }
}
