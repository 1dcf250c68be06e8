package io.rdmaraw.tcp.congestion;

/**
 * The path model of {@link Bbr}: bandwidth, RTT, ACK aggregation, and whether the pipe is full
 * (draft-ietf-ccwg-bbr sections 5.3.1.2, 5.3.4 and 5.5). Bandwidths are in bytes per second.
 */
final class BbrModel {
    static final long UNKNOWN = Long.MAX_VALUE;
    private static final long MIN_RTT_FILTER_NANOS = 10_000_000_000L;
    private static final long PROBE_RTT_INTERVAL_NANOS = 5_000_000_000L;
    private static final int EXTRA_ACKED_ROUNDS = 5;
    /**
     * Time limit for the extra acked bytes. Not in the draft; Linux has the same limit (bbr_extra_acked_max_us).
     */
    private static final long EXTRA_ACKED_NANOS = 100_000_000L;
    private static final double FULL_BW_GROWTH = 1.25;
    private static final int FULL_BW_ROUNDS = 3;

    // rounds, section 5.5.1
    /** C.delivered, as last reported. */
    long deliveredBytes;
    private long nextRoundDelivered;
    boolean roundStart;
    long roundCount;
    long roundsSinceProbeUp;

    /** Maximum bandwidth of the previous and of the present probing cycle (MaxBwFilterLen of 2). */
    private long previousMaxBw;
    private long currentMaxBw;

    long minRttNanos = UNKNOWN;
    long minRttStampNanos;
    long probeRttMinNanos = UNKNOWN;
    long probeRttStampNanos;
    boolean probeRttExpired;

    // extra_acked, section 5.5.9: maximum of the previous five rounds and of up to five present ones
    private long extraAckedStartNanos;
    private long extraAckedDelivered;
    private long previousExtraAcked;
    private long currentExtraAcked;
    private int extraAckedRounds;

    // full pipe, section 5.3.1.2
    private long fullBw;
    private int fullBwCount;
    boolean fullBwNow;
    boolean fullBwReached;

    void start(long nowNanos) {
        minRttStampNanos = nowNanos;
        probeRttStampNanos = nowNanos;
        extraAckedStartNanos = nowNanos;
    }

    long maxBw() {
        return Math.max(previousMaxBw, currentMaxBw);
    }

    long extraAckedBytes() {
        return Math.max(previousExtraAcked, currentExtraAcked);
    }

    void startRound() {
        nextRoundDelivered = deliveredBytes;
    }

    /** UpdateRound and UpdateMaxBw. */
    void updateMaxBw(RateSample rs) {
        roundStart = rs.priorDeliveredBytes >= nextRoundDelivered;
        if (roundStart) {
            startRound();
            roundCount++;
            roundsSinceProbeUp++;
        }
        if (rs.deliveryRate > 0 && (rs.deliveryRate >= maxBw() || !rs.appLimited)) {
            currentMaxBw = Math.max(currentMaxBw, rs.deliveryRate);
        }
    }

    /** Starts a new window of the bandwidth filter at the end of a probing cycle. */
    void advanceMaxBwFilter() {
        if (currentMaxBw > 0) {
            previousMaxBw = currentMaxBw;
            currentMaxBw = 0;
        }
    }

    void resetFullBw() {
        fullBw = 0;
        fullBwCount = 0;
        fullBwNow = false;
    }

    /** Restarts the detection of a full pipe, with the rate at the start of a probe as the baseline. */
    void resetFullBw(long deliveryRate) {
        resetFullBw();
        fullBw = deliveryRate;
    }

    void checkFullBwReached(RateSample rs) {
        if (fullBwNow || !roundStart || rs.appLimited) {
            return;
        }
        if (rs.deliveryRate >= fullBw * FULL_BW_GROWTH) {
            resetFullBw(rs.deliveryRate);
            return;
        }
        fullBwCount++;
        fullBwNow = fullBwCount >= FULL_BW_ROUNDS;
        fullBwReached |= fullBwNow;
    }

    void restartExtraAcked(long nowNanos) {
        extraAckedStartNanos = nowNanos;
        extraAckedDelivered = 0;
    }

    void updateAckAggregation(RateSample rs, long bw, int cwnd, long nowNanos) {
        if (roundStart && ++extraAckedRounds >= (fullBwReached ? EXTRA_ACKED_ROUNDS : 1)) {
            extraAckedRounds = 0;
            previousExtraAcked = currentExtraAcked;
            currentExtraAcked = 0;
        }
        long expected = bytes(bw, nowNanos - extraAckedStartNanos);
        if (extraAckedDelivered <= expected) {
            restartExtraAcked(nowNanos);
            expected = 0;
        }
        extraAckedDelivered += rs.newlyDeliveredBytes;
        long extra = Math.min(extraAckedDelivered - expected, cwnd);
        currentExtraAcked = Math.max(currentExtraAcked, Math.min(extra, bytes(bw, EXTRA_ACKED_NANOS)));
    }

    void updateMinRtt(RateSample rs, long nowNanos) {
        probeRttExpired = nowNanos - probeRttStampNanos > PROBE_RTT_INTERVAL_NANOS;
        if (rs.rttNanos >= 0 && (rs.rttNanos < probeRttMinNanos || probeRttExpired)) {
            probeRttMinNanos = Math.max(1, rs.rttNanos);
            probeRttStampNanos = nowNanos;
        }
        boolean expired = nowNanos - minRttStampNanos > MIN_RTT_FILTER_NANOS;
        if (probeRttMinNanos < minRttNanos || expired) {
            minRttNanos = probeRttMinNanos;
            minRttStampNanos = probeRttStampNanos;
        }
    }

    /** Returns the bytes that a bandwidth transfers in a time. */
    static long bytes(long bw, long nanos) {
        return (long) ((double) bw * nanos * 1e-9);
    }
}
