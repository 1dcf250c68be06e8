package io.rdmaraw.tcp.congestion;

/** CUBIC (RFC 9438), with HyStart++ (RFC 9406) in its first slow start. Windows in the formulas are segments. */
public final class Cubic implements CongestionControl {
    static final String NAME = "cubic";
    private static final double C = 0.4;
    private static final double BETA = 0.7;
    /** RFC 8511 section 3: what is left of the window after a mark. */
    private static final double BETA_ECN = 0.85;
    /** Section 4.3: alpha that makes the Reno-friendly estimate as aggressive as Reno. */
    private static final double ALPHA = 3.0 * (1 - BETA) / (1 + BETA);
    private static final long NO_EPOCH = Long.MIN_VALUE;

    private double windowMax;
    /** cwnd_prior: the window at the last reduction, before fast convergence. */
    private double windowPrior;
    private double k;
    private double windowEstimate;
    /** Fraction of a segment not yet added to the window. */
    private double credit;
    private long epochStartNanos = NO_EPOCH;
    /** The next congestion avoidance is the first after a timeout. */
    private boolean timedOut;
    /** Null before the first loss. */
    private Before before;
    /** Null once slow start has been left by a loss. */
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
        // Section 4.2, equation (1) one RTT ahead, within the bounds given for "target"
        double target = Math.clamp(cubic(t + rtt), segments, 1.5 * segments);
        // Section 4.3: equation (4); alpha is 1 once the estimate has reached the window before the reduction.
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
            // Section 4.8, and section 4.10 where slow start was left without a loss: the window grows from here
            // convexly. What it was before a timeout says nothing about the path any more.
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
    public int onMarked(CongestionWindow window, int flightBytes, long nowNanos) {
        return reduce(window, CongestionControl.marksCostLess(window) ? BETA_ECN : BETA, nowNanos);
    }

    private int reduce(CongestionWindow window, double left, long nowNanos) {
        before = before == null ? new Before() : before;
        before.windowMax = windowMax;
        before.k = k;
        before.estimate = windowEstimate;
        before.epochNanos = epochStartNanos;
        before.timedOut = timedOut;
        // A maximum found since is one of the path as it is now.
        timedOut = false;
        int mss = window.segmentBytes();
        // Section 4.6 permits cwnd here, since it only grows while it is used.
        double segments = (double) window.congestionWindowBytes() / mss;
        // Section 4.7, fast convergence: below the last maximum another flow is claiming its share.
        windowPrior = segments;
        windowMax = segments < windowMax ? segments * (1 + left) / 2 : segments;
        epochStartNanos = NO_EPOCH;
        hyStart = null;
        return Math.max((int) (segments * left * mss), 2 * mss);
    }

    @Override
    public void onTimeout(long nowNanos) {
        // Section 4.8: after the slow start that follows, the curve begins anew from where the window is then.
        epochStartNanos = NO_EPOCH;
        timedOut = true;
    }

    @Override
    public void onUndo() {
        // Section 4.9
        if (before != null) {
            windowMax = before.windowMax;
            k = before.k;
            windowEstimate = before.estimate;
            epochStartNanos = before.epochNanos;
            timedOut = before.timedOut;
        }
    }

    @Override
    public void onIdle(long idleNanos) {
        // Section 4.2: the curve stands still while the application does not send.
        if (epochStartNanos != NO_EPOCH) {
            epochStartNanos += idleNanos;
        }
    }

    @Override
    public String name() {
        return NAME;
    }

    /** What was so before the last reduction, should that turn out to be wrong (section 4.9). */
    private static final class Before {
        private double windowMax;
        private double k;
        private double estimate;
        private long epochNanos;
        private boolean timedOut;
    }
}
