package io.rdmaraw.testsuite.goodput;

import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.CongestionWindow;

/**
 * CUBIC as Linux counts it, for flows to share a line with: the window is whole segments, grows by one segment each
 * time so many have been acknowledged, and slow start ends when the round trip grows (HyStart, by delay alone). Nothing
 * of it is the core's.
 */
final class ReferenceCubic implements CongestionControl {
    private static final double C = 0.4;
    private static final double BETA = 717.0 / 1024;
    /** Acknowledged windows that Reno with this beta takes to grow by one segment. */
    private static final double RENO_WINDOWS = (1 + BETA) / (3 * (1 - BETA));
    private static final int LEAST_SEGMENTS = 2;
    /** While the window is at its plateau it grows by a hundredth in a round trip at most. */
    private static final int PLATEAU = 100;
    private static final int HYSTART_SAMPLES = 8;
    private static final int HYSTART_LOW_WINDOW = 16;
    private static final long HYSTART_LEAST_NANOS = 4_000_000;
    private static final long HYSTART_MOST_NANOS = 16_000_000;
    private static final long NO_EPOCH = Long.MIN_VALUE;

    private int lastMaxSegments;
    private long epochNanos = NO_EPOCH;
    private double originSegments;
    private double originSeconds;
    private double renoSegments;
    private double ackedForReno;
    /** Acknowledged bytes that have not grown the window yet. */
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
        return Math.max(needed, LEAST_SEGMENTS);
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
                + Math.clamp(leastRttNanos / 8, HYSTART_LEAST_NANOS, HYSTART_MOST_NANOS)) {
            window.endSlowStart();
        }
    }

    @Override
    public int onCongestion(CongestionWindow window, int flightBytes, long nowNanos) {
        int segments = window.congestionWindowBytes() / window.segmentBytes();
        epochNanos = NO_EPOCH;
        lastMaxSegments = segments < lastMaxSegments ? (int) (segments * (1 + BETA) / 2) : segments;
        return Math.max((int) (segments * BETA), LEAST_SEGMENTS) * window.segmentBytes();
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
