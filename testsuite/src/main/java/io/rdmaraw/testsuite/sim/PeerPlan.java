package io.rdmaraw.testsuite.sim;

/** The oddities of a {@link ReferencePeer}, drawn from the seed. */
final class PeerPlan {
    final SplitMix random;
    /** MSS option; 0: none. */
    int mss = 1460;
    boolean timestamps = true;
    boolean sack = true;
    boolean dsack = true;
    boolean windowScaling = true;
    int bufferBytes = 65535;
    /** Probability that an acknowledgment takes offered window back (RFC 9293 section 3.8.6). */
    double shrinkProbability;
    /** Probability per out-of-order segment that everything out of order is thrown away (RFC 2018 section 8). */
    double renegeProbability;
    /** Sends segments of odd sizes, and retransmits with other borders. */
    boolean ragged;
    boolean acksEverySegment;
    long delayedAckNanos = 40 * LinkPlan.MILLI;
    /** Offers windows of any size, without avoiding silly ones. */
    boolean sillyWindows;
    /** Probes a zero window with a byte beyond it, else with an old sequence number. */
    boolean probesWithData = true;
    /** Answers with timestamps to a peer that has none in this segment anyway; leaves them out now and then. */
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
