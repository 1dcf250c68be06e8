package io.rdmaraw.testsuite.sim;

/** The unusual behaviours of a {@link ReferencePeer}, drawn from the seed. */
final class PeerPlan {
    final SplitMix random;
    /** Value of the MSS option; 0: no option. */
    int mss = 1460;
    boolean timestamps = true;
    boolean sack = true;
    boolean dsack = true;
    boolean windowScaling = true;
    int bufferBytes = 65535;
    /** Probability that an ACK shrinks the offered window (RFC 9293 section 3.8.6). */
    double shrinkProbability;
    /** Probability per out-of-order segment that all out-of-order data is discarded (RFC 2018 section 8). */
    double renegeProbability;
    /**
     * Whether segments have unusual sizes, and retransmissions have other boundaries than the original segments.
     */
    boolean ragged;
    boolean acksEverySegment;
    long delayedAckNanos = 40 * LinkPlan.MILLI;
    /** Whether windows of any size are offered, without silly window avoidance. */
    boolean sillyWindows;
    /** Whether a zero window is probed with a byte beyond it; otherwise with an old sequence number. */
    boolean probesWithData = true;
    /** Probability that a segment of a connection with timestamps has none. */
    double omitTimestamps;
    long minimumRtoNanos = 200 * LinkPlan.MILLI;

    PeerPlan(SplitMix random, boolean quirks) {
        this.random = random;
        SplitMix draw = random.split(1);
        if (!quirks) {
            return;
        }
        mss = draw.pick(0, 64, 88, 217, 536, 1000, 1459, 1460, 1460, 8960, 65535);
        timestamps = draw.chance(0.7);
        sack = draw.chance(0.7);
        dsack = draw.chance(0.5);
        windowScaling = draw.chance(0.7);
        bufferBytes = (int) draw.magnitude(200, 2_000_000);
        if (draw.chance(0.1)) {
            bufferBytes = draw.between(1, 50);
        }
        shrinkProbability = draw.chance(0.15) ? draw.unit() * 0.2 : 0;
        renegeProbability = draw.chance(0.15) ? draw.unit() * 0.2 : 0;
        ragged = draw.chance(0.3);
        acksEverySegment = draw.chance(0.3);
        delayedAckNanos = draw.magnitude(LinkPlan.MILLI, 200 * LinkPlan.MILLI);
        sillyWindows = draw.chance(0.2);
        probesWithData = draw.chance(0.5);
        omitTimestamps = draw.chance(0.1) ? 0.02 : 0;
        minimumRtoNanos = draw.pick(200, 1000) * LinkPlan.MILLI;
    }

    @Override
    public String toString() {
        return "mss " + mss + (timestamps ? "" : ", no timestamps") + (sack ? "" : ", no SACK")
                + (windowScaling ? "" : ", no scaling") + ", buffer " + bufferBytes
                + (shrinkProbability > 0 ? ", shrinks %.3f".formatted(shrinkProbability) : "")
                + (renegeProbability > 0 ? ", reneges %.3f".formatted(renegeProbability) : "")
                + (ragged ? ", ragged" : "")
                + (sillyWindows ? ", silly windows" : "") + (omitTimestamps > 0 ? ", omits timestamps" : "");
    }
}
