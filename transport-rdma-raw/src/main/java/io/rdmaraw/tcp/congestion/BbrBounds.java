package io.rdmaraw.tcp.congestion;

/**
 * Bounds of bandwidth and of data in flight that {@link Bbr} derives from losses. Short-term bounds are valid for
 * the present, long-term bounds until a probe finds more. The class also saves the bounds before a loss, in case
 * it is spurious (draft-ietf-ccwg-bbr sections 5.5.10 and 5.5.11).
 */
final class BbrBounds {
    static final long NONE = Long.MAX_VALUE;
    static final double BETA = 0.7;
    private static final double LOSS_THRESHOLD = 0.02;
    private static final double HEADROOM = 0.15;

    long bwShortTerm = NONE;
    long inflightShortTerm = NONE;
    long inflightLongTerm = NONE;

    // state of the present round
    private long lossRoundDelivered;
    private boolean lossInRound;
    boolean lossRoundStart;
    long bwLatest;
    long inflightLatest;
    private int lossRangesInRound;
    private int lastLostEnd;

    private long undoBwShortTerm = NONE;
    private long undoInflightShortTerm = NONE;
    private long undoInflightLongTerm = NONE;

    /** Records a loss. Returns whether it is the first one in this round trip. */
    boolean recordLoss(long deliveredBytes) {
        boolean first = !lossInRound;
        if (first) {
            lossRoundDelivered = deliveredBytes;
        }
        lossInRound = true;
        return first;
    }

    /** Counts lost ranges. Adjacent lost segments form one range. */
    void countLostRange(int startSeq, int lengthBytes) {
        if (lossRangesInRound == 0 || startSeq != lastLostEnd) {
            lossRangesInRound++;
        }
        lastLostEnd = startSeq + lengthBytes;
    }

    /** SaveStateUponLoss. */
    void save() {
        undoBwShortTerm = bwShortTerm;
        undoInflightShortTerm = inflightShortTerm;
        undoInflightLongTerm = inflightLongTerm;
    }

    /** HandleSpuriousLossDetection. */
    void restore() {
        lossInRound = false;
        bwShortTerm = Math.max(bwShortTerm, undoBwShortTerm);
        inflightShortTerm = Math.max(inflightShortTerm, undoInflightShortTerm);
        inflightLongTerm = Math.max(inflightLongTerm, undoInflightLongTerm);
    }

    /** UpdateLatestDeliverySignals. */
    void updateLatest(RateSample rs) {
        lossRoundStart = false;
        bwLatest = Math.max(bwLatest, rs.deliveryRate);
        inflightLatest = Math.max(inflightLatest, rs.deliveredBytes);
        if (rs.priorDeliveredBytes >= lossRoundDelivered) {
            lossRoundDelivered = rs.totalDeliveredBytes;
            lossRoundStart = true;
        }
    }

    /** AdvanceLatestDeliverySignals. */
    void advanceLatest(RateSample rs) {
        if (lossRoundStart) {
            bwLatest = rs.deliveryRate;
            inflightLatest = rs.deliveredBytes;
        }
    }

    void resetSignals() {
        lossInRound = false;
        bwLatest = 0;
        inflightLatest = 0;
    }

    void resetShortTerm() {
        bwShortTerm = NONE;
        inflightShortTerm = NONE;
    }

    /**
     * UpdateCongestionSignals: adapts the short-term bounds once per round trip, unless bandwidth is being
     * probed.
     */
    void adapt(boolean probing, long maxBw, int cwnd) {
        if (!lossRoundStart) {
            return;
        }
        if (lossInRound && !probing) {
            bwShortTerm = bwShortTerm == NONE ? maxBw : bwShortTerm;
            inflightShortTerm = inflightShortTerm == NONE ? cwnd : inflightShortTerm;
            bwShortTerm = Math.max(bwLatest, (long) (BETA * bwShortTerm));
            inflightShortTerm = Math.max(inflightLatest, (long) (BETA * inflightShortTerm));
        }
        lossInRound = false;
    }

    /** Returns the number of lost ranges in the round that ends with this ACK; -1 if no round ends. */
    int pollLossRanges() {
        if (!lossRoundStart) {
            return -1;
        }
        int ranges = lossRangesInRound;
        lossRangesInRound = 0;
        return ranges;
    }

    static boolean isTooHigh(long lostBytes, long flightAtSendBytes, boolean selectiveAcks) {
        return lostBytes > flightAtSendBytes * LOSS_THRESHOLD || lostBytes > 0 && !selectiveAcks;
    }

    /**
     * InflightAtLoss: returns the bytes in flight at which losses exceeded the threshold, within the lost
     * segment.
     */
    static long inflightAtLoss(LostSegment lost) {
        long flightBefore = lost.flightAtSendBytes - lost.lengthBytes;
        long lostBefore = lost.lostSinceSentBytes - lost.lengthBytes;
        double prefix = (LOSS_THRESHOLD * flightBefore - lostBefore) / (1 - LOSS_THRESHOLD);
        return flightBefore + (long) Math.clamp(prefix, 0, lost.lengthBytes);
    }

    /** InflightWithHeadroom. */
    long withHeadroom(int segmentBytes, long minBytes) {
        if (inflightLongTerm == NONE) {
            return NONE;
        }
        long headroom = Math.max(segmentBytes, (long) (HEADROOM * inflightLongTerm));
        return Math.max(inflightLongTerm - headroom, minBytes);
    }
}
