package io.rdmaraw.testsuite.sim;

import io.rdmaraw.tcp.congestion.CongestionControls;

/** The configuration of a core in a scenario, drawn from the seed; {@link EngineHost} turns it into a TcpConfig. */
final class CorePlan {
    final SplitMix random;
    int mtuBytes = 1500;
    int receiveBufferBytes = 256 * 1024;
    /** How far the buffer grows by itself. */
    int maxReceiveBufferBytes;
    /** Whether data goes with SYNs, as client and as server. */
    boolean fastOpen;
    boolean noDelay = true;
    boolean sack = true;
    boolean timestamps = true;
    boolean windowScaling = true;
    /** 0 off, 1 passive, 2 active, 3 accurate, 4 accurate and passive. */
    int ecn = 1;
    /** The congestion control. */
    String congestion;
    boolean cookies;
    /** What a device cuts into segments at once; 0: it does not. */
    int segmentationBytes;
    long delayedAckNanos = 40 * LinkPlan.MILLI;
    /** Whether data is paced whatever the congestion control. */
    boolean pacing;
    /** Whether a mark costs less than a loss (RFC 8511). */
    boolean alternativeBackoff;
    /** Bytes per second; 0: no limit. */
    long maxPacingRate;
    /** TCP_NOTSENT_LOWAT; 0: the user hands over what its send buffer takes. With bytes by tens nothing would end. */
    int notSentLowWaterBytes;
    /** How likely one of the connections moves to another loop when a packet comes or a timer is due; 0: never. */
    double moveChance;

    CorePlan(SplitMix random, boolean unusual) {
        this.random = random;
        SplitMix draw = random.split(1);
        congestion = draw.chance(0.3) ? "reno" : "cubic";
        noDelay = draw.chance(0.6);
        ecn = draw.below(3);
        SplitMix last = random.split(4);
        congestion = last.chance(0.3) ? CongestionControls.names().get(last.below(CongestionControls.names().size()))
                : congestion;
        SplitMix pace = random.split(5);
        pacing = pace.chance(0.25);
        maxPacingRate = pace.chance(0.15) ? pace.magnitude(20_000, 20 << 20) : 0;
        SplitMix move = random.split(6);
        moveChance = move.chance(0.25) ? move.pick(1, 8, 64) / 128.0 : 0;
        alternativeBackoff = random.split(7).chance(0.25);
        SplitMix accurate = random.split(8);
        ecn = accurate.chance(0.3) ? accurate.between(3, 4) : ecn;
        SplitMix notSent = random.split(9);
        notSentLowWaterBytes = notSent.chance(0.2) ? (int) notSent.magnitude(2_000, 1 << 18) : 0;
        if (!unusual) {
            return;
        }
        mtuBytes = draw.pick(1280, 1500, 1500, 1500, 9000);
        receiveBufferBytes = (int) draw.magnitude(4_096, 4 << 20);
        sack = draw.chance(0.85);
        timestamps = draw.chance(0.85);
        windowScaling = draw.chance(0.85);
        cookies = draw.chance(0.1);
        delayedAckNanos = draw.magnitude(LinkPlan.MILLI, 40 * LinkPlan.MILLI);
        SplitMix later = random.split(3);
        maxReceiveBufferBytes = later.chance(0.4) ? (int) later.magnitude(4_096, 4 << 20) : 0;
        fastOpen = later.chance(0.5);
        segmentationBytes = later.chance(0.3) ? (int) later.magnitude(1_000, 65_400) : 0;
    }

    @Override
    public String toString() {
        return "core " + congestion + (pacing ? ", paced" : "")
                + (alternativeBackoff ? ", RFC 8511" : "")
                + (maxPacingRate > 0 ? ", " + maxPacingRate + " bytes/s" : "") + ", mtu " + mtuBytes
                + (notSentLowWaterBytes > 0 ? ", " + notSentLowWaterBytes + " unsent" : "") + ", buffer "
                + receiveBufferBytes
                + (maxReceiveBufferBytes > receiveBufferBytes ? ".." + maxReceiveBufferBytes : "")
                + (moveChance > 0 ? ", connections move" : "") + (fastOpen ? ", fast open" : "")
                + (segmentationBytes > 0 ? ", segmentation " + segmentationBytes : "")
                + (noDelay ? "" : ", Nagle") + (sack ? "" : ", no SACK") + (timestamps ? "" : ", no timestamps")
                + (windowScaling ? "" : ", no scaling") + ", ECN " + ecn + (cookies ? ", cookies" : "");
    }
}
