package io.rdmaraw.testsuite.goodput;

import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.CongestionWindow;

/**
 * An independent implementation of Linux's CUBIC, as a competitor on a shared line. The window consists of whole
 * segments and grows by one segment after a computed number of acknowledged segments. Slow start ends when the
 * round-trip time grows (HyStart, by delay alone).
 */
final class ReferenceCubic implements CongestionControl {
    private static final double C = 0.4;
    private static final double BETA = 717.0 / 1024;
    /** Number of acknowledged windows after which Reno with this beta grows by one segment. */
    private static final double RENO_WINDOWS = (1 + BETA) / (3 * (1 - BETA));
    private static final int MIN_SEGMENTS = 2;
    /** On its plateau, the window grows by at most a hundredth per round trip. */
    private static final int PLATEAU = 100;
    private static final int HYSTART_SAMPLES = 8;
    private static final int HYSTART_LOW_WINDOW = 16;
    private static final long HYSTART_MIN_NANOS = 4_000_000;
    private static final long HYSTART_MAX_NANOS = 16_000_000;
    private static final long NO_EPOCH = Long.MIN_VALUE;

    private int lastMaxSegments;
    private long epochNanos = NO_EPOCH;
    private double originSegments;
    private double originSeconds;
    private double renoSegments;
    private double ackedForReno;
    /** Acknowledged bytes that have not been used to grow the window yet. */
    private int ackedBytes;
    private long leastRttNanos = Long.MAX_VALUE;
    private long leastOfRoundNanos;
    private int samples;
    private int roundEnd;
    private boolean inRound;

    @Override
    public int onAcked(CongestionWindow window, int newlyAckedBytes, long nowNanos) {
        int mss = window.segmentBytes();
        int cwnd = window.congestionWindowBytes();
        if (cwnd < window.slowStartThresholdBytes()) {
            return Math.min(cwnd + newlyAckedBytes, window.slowStartThresholdBytes());
        }
        ackedBytes += newlyAckedBytes;
        int segments = cwnd / mss;
        double needed = segmentsToGrow(segments, (double) newlyAckedBytes / mss, nowNanos);
        int grown = 0;
        while (ackedBytes >= needed * mss) {
            ackedBytes -= (int) (needed * mss);
            grown++;
        }
        return cwnd + grown * mss;
    }

    private double segmentsToGrow(int segments, double acked, long nowNanos) {
        if (epochNanos == NO_EPOCH) {
            epochNanos = nowNanos;
            ackedForReno = 0;
            renoSegments = segments;
            boolean below = segments < lastMaxSegments;
            originSeconds = below ? Math.cbrt((lastMaxSegments - segments) / C) : 0;
            originSegments = below ? lastMaxSegments : segments;
        }
        double seconds = (nowNanos - epochNanos + (leastRttNanos == Long.MAX_VALUE ? 0 : leastRttNanos)) * 1e-9;
        double target = originSegments + C * Math.pow(seconds - originSeconds, 3);
        double needed = target > segments ? segments / (target - segments) : (double) PLATEAU * segments;
        ackedForReno += acked;
        double perSegment = segments * RENO_WINDOWS;
        while (ackedForReno > perSegment) {
            ackedForReno -= perSegment;
            renoSegments++;
        }
        if (renoSegments > segments) {
            needed = Math.min(needed, segments / (renoSegments - segments));
        }
        return Math.max(needed, MIN_SEGMENTS);
    }

    @Override
    public void onRttSample(CongestionWindow window, long rttNanos, int ackedSeq, int nextSeq) {
        leastRttNanos = Math.min(leastRttNanos, rttNanos);
        boolean slowStart = window.congestionWindowBytes() < window.slowStartThresholdBytes();
        if (!slowStart || window.congestionWindowBytes() < HYSTART_LOW_WINDOW * window.segmentBytes()) {
            return;
        }
        if (!inRound || ackedSeq - roundEnd > 0) {
            inRound = true;
            roundEnd = nextSeq;
            samples = 0;
            leastOfRoundNanos = Long.MAX_VALUE;
        }
        if (samples < HYSTART_SAMPLES) {
            samples++;
            leastOfRoundNanos = Math.min(leastOfRoundNanos, rttNanos);
        } else if (leastOfRoundNanos > leastRttNanos
                + Math.clamp(leastRttNanos / 8, HYSTART_MIN_NANOS, HYSTART_MAX_NANOS)) {
            window.endSlowStart();
        }
    }

    @Override
    public int onCongestion(CongestionWindow window, int flightBytes, long nowNanos) {
        int segments = window.congestionWindowBytes() / window.segmentBytes();
        epochNanos = NO_EPOCH;
        lastMaxSegments = segments < lastMaxSegments ? (int) (segments * (1 + BETA) / 2) : segments;
        return Math.max((int) (segments * BETA), MIN_SEGMENTS) * window.segmentBytes();
    }

    @Override
    public void onTimeout(long nowNanos) {
        lastMaxSegments = 0;
    }

    @Override
    public String name() {
        return "reference cubic";
    }
}
