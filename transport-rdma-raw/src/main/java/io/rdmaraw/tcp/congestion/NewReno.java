package io.rdmaraw.tcp.congestion;

/**
 * The congestion control of RFC 5681: slow start, additive increase, multiplicative decrease. The recovery of RFC
 * 6582 is implemented in Recovery.
 */
public final class NewReno implements CongestionControl {
    static final String NAME = "reno";
    /** RFC 9406 section 4.2: L without pacing. It limits bursts after ACKs that cover many segments. */
    static final int SLOW_START_LIMIT_SEGMENTS = 8;

    /** RFC 8511 section 3: factor of the window after a mark. */
    private static final double BETA_ECN = 0.8;

    /** Bytes acknowledged since the window last grew in congestion avoidance. */
    private int ackedBytesSinceGrowth;

    @Override
    public int onAcked(CongestionWindow window, int ackedBytes, long nowNanos) {
        int cwnd = window.congestionWindowBytes();
        int mss = window.segmentBytes();
        if (cwnd < window.slowStartThresholdBytes()) {
            return Math.min(cwnd + Math.min(ackedBytes, SLOW_START_LIMIT_SEGMENTS * mss),
                    Math.max(cwnd, window.slowStartThresholdBytes()));
        }
        // RFC 5681 section 3.1 with appropriate byte counting: one segment per window acknowledged.
        ackedBytesSinceGrowth += ackedBytes;
        if (ackedBytesSinceGrowth < cwnd) {
            return cwnd;
        }
        ackedBytesSinceGrowth -= cwnd;
        return cwnd + mss;
    }

    @Override
    public int onCongestion(CongestionWindow window, int flightBytes, long nowNanos) {
        ackedBytesSinceGrowth = 0;
        // RFC 5681 equation (4)
        return Math.max(flightBytes / 2, 2 * window.segmentBytes());
    }

    /**
     * Halves the congestion window (RFC 3168 section 6.1.2). The data in flight is not used, as nothing may be in
     * flight after the ACK that reports the mark.
     */
    @Override
    public int onEcnMark(CongestionWindow window, int flightBytes, long nowNanos) {
        ackedBytesSinceGrowth = 0;
        double factor = CongestionControl.usesAlternativeBackoff(window) ? BETA_ECN : 0.5;
        return Math.max((int) (window.congestionWindowBytes() * factor), 2 * window.segmentBytes());
    }

    @Override
    public String name() {
        return NAME;
    }
}
