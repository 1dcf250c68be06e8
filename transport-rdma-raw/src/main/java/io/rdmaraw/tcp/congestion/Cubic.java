package io.rdmaraw.tcp.congestion;

/**
 * CUBIC (RFC 9438), with HyStart++ (RFC 9406) in the first slow start. Sections and equations without an RFC number are
 * those of RFC 9438. In the formulas, windows are in segments.
 */
public final class Cubic implements CongestionControl {
    static final String NAME = "cubic";
    private static final double C = 0.4;
    private static final double BETA = 0.7;
    /** RFC 8511 section 3: factor of the window after a mark. */
    private static final double BETA_ECN = 0.85;
    /** Section 4.3: the alpha that makes the Reno-friendly estimate as aggressive as Reno. */
    private static final double ALPHA = 3.0 * (1 - BETA) / (1 + BETA);
    private static final long NO_EPOCH = Long.MIN_VALUE;

    /** W_max: the window at the plateau of the curve. */
    private double windowMax;
    /** cwnd_prior: the window just before the last reduction. Fast convergence does not change it. */
    private double windowPrior;
    /** K: seconds from the start of the epoch until the curve reaches {@link #windowMax}. */
    private double k;
    /** W_est: the window that Reno would have. */
    private double windowEstimate;
    /** Growth that is not in the window yet, in segments. It is less than a byte, because the window is in bytes. */
    private double credit;
    private long epochStartNanos = NO_EPOCH;
    /** The next congestion avoidance phase is the first one after a timeout. */
    private boolean timedOut;
    /** State before the last reduction; null before the first one. */
    private SavedState saved;
    /** Null after the first reduction. */
    private HyStart hyStart = new HyStart();

    @Override
    public int onAcked(CongestionWindow window, int ackedBytes, long nowNanos) {
        int cwnd = window.congestionWindowBytes();
        int mss = window.segmentBytes();
        int threshold = window.slowStartThresholdBytes();
        if (cwnd < threshold) {
            int growth = Math.min(ackedBytes, NewReno.SLOW_START_LIMIT_SEGMENTS * mss);
            if (hyStart != null) {
                growth = hyStart.growth(growth);
            }
            return Math.min(cwnd + growth, threshold);
        }
        double segments = (double) cwnd / mss;
        double acked = (double) ackedBytes / mss;
        if (epochStartNanos == NO_EPOCH) {
            startEpoch(segments, nowNanos);
        }
        double rtt = window.smoothedRttNanos() * 1e-9;
        double t = (nowNanos - epochStartNanos) * 1e-9;
        // Section 4.2: equation (1) one RTT ahead, within the bounds given for "target"
        double target = Math.clamp(cubic(t + rtt), segments, 1.5 * segments);
        // Section 4.3: equation (4). Alpha is 1 once the estimate has reached the window before the reduction.
        windowEstimate += (windowEstimate >= windowPrior ? 1 : ALPHA) * acked / segments;
        double grown = segments;
        if (cubic(t) < windowEstimate) {
            grown = Math.max(segments, windowEstimate);
            credit = 0;
        } else {
            // Sections 4.4 and 4.5
            credit += (target - segments) / segments * acked;
            grown += credit;
        }
        int bytes = (int) Math.min(1 << 30, grown * mss);
        credit = Math.max(0, grown - (double) bytes / mss);
        return Math.max(cwnd, bytes);
    }

    private double cubic(double t) {
        double x = t - k;
        return C * x * x * x + windowMax;
    }

    private void startEpoch(double segments, long nowNanos) {
        epochStartNanos = nowNanos;
        credit = 0;
        windowEstimate = segments;
        if (windowMax <= segments || timedOut) {
            // Section 4.8, and section 4.10 if slow start ended without a loss: the window grows convexly from
            // its present value. The maximum before a timeout no longer describes the path.
            windowMax = segments;
            k = 0;
            timedOut = false;
        } else {
            // Section 4.2, equation (2)
            k = Math.cbrt((windowMax - segments) / C);
        }
    }

    @Override
    public void onRttSample(CongestionWindow window, long rttNanos, int ackedSeq, int nextSeq) {
        if (hyStart != null && window.congestionWindowBytes() < window.slowStartThresholdBytes()) {
            hyStart.onRttSample(window, rttNanos, ackedSeq, nextSeq);
        }
    }

    @Override
    public int onCongestion(CongestionWindow window, int flightBytes, long nowNanos) {
        return reduce(window, BETA, nowNanos);
    }

    @Override
    public int onEcnMark(CongestionWindow window, int flightBytes, long nowNanos) {
        return reduce(window, CongestionControl.usesAlternativeBackoff(window) ? BETA_ECN : BETA, nowNanos);
    }

    private int reduce(CongestionWindow window, double factor, long nowNanos) {
        saved = saved == null ? new SavedState() : saved;
        saved.windowMax = windowMax;
        saved.windowPrior = windowPrior;
        saved.k = k;
        saved.windowEstimate = windowEstimate;
        saved.epochStartNanos = epochStartNanos;
        saved.timedOut = timedOut;
        // The maximum set below is newer than the last timeout, so it describes the path.
        timedOut = false;
        int mss = window.segmentBytes();
        // Section 4.6 permits using cwnd here, because it grows only while it is fully used.
        double segments = (double) window.congestionWindowBytes() / mss;
        // Section 4.7, fast convergence: a window below the last maximum means that another flow is growing.
        windowPrior = segments;
        windowMax = segments < windowMax ? segments * (1 + factor) / 2 : segments;
        epochStartNanos = NO_EPOCH;
        hyStart = null;
        return Math.max((int) (segments * factor * mss), 2 * mss);
    }

    @Override
    public void onTimeout(long nowNanos) {
        // Section 4.8: after the following slow start, the curve starts from the window of that time.
        epochStartNanos = NO_EPOCH;
        timedOut = true;
    }

    @Override
    public void onUndo() {
        // Section 4.9
        if (saved != null) {
            windowMax = saved.windowMax;
            windowPrior = saved.windowPrior;
            k = saved.k;
            windowEstimate = saved.windowEstimate;
            epochStartNanos = saved.epochStartNanos;
            timedOut = saved.timedOut;
        }
    }

    @Override
    public void onIdle(long idleNanos) {
        // Section 4.2: the time in which the application does not send is not counted.
        if (epochStartNanos != NO_EPOCH) {
            epochStartNanos += idleNanos;
        }
    }

    @Override
    public String name() {
        return NAME;
    }

    /** State before the last reduction, to undo a spurious one (section 4.9). */
    private static final class SavedState {
        private double windowMax;
        private double windowPrior;
        private double k;
        private double windowEstimate;
        private long epochStartNanos;
        private boolean timedOut;
    }
}
