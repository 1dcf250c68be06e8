package io.rdmaraw.testsuite.sim;

import io.rdmaraw.tcp.congestion.CongestionControls;

/**
 * The configuration of a core in a scenario, drawn from the seed. {@link EngineHost} converts it to a TcpConfig.
 */
final class CorePlan {
    final SplitMix random;
    int mtuBytes = 1500;
    int receiveBufferBytes = 256 * 1024;
    /** Size up to which the receive buffer grows automatically; 0: it does not grow. */
    int maxReceiveBufferBytes;
    /** Whether SYNs carry data, as client and as server. */
    boolean fastOpen;
    boolean noDelay = true;
    boolean sack = true;
    boolean timestamps = true;
    boolean windowScaling = true;
    /** 0 off, 1 passive, 2 active, 3 accurate, 4 accurate and passive. */
    int ecn = 1;
    String congestion;
    boolean cookies;
    /** Maximum number of bytes that the device segments at once; 0: no segmentation offload. */
    int segmentationBytes;
    long delayedAckNanos = 40 * LinkPlan.MILLI;
    /** Whether data is paced even if the congestion control does not request pacing. */
    boolean pacing;
    /** Whether an ECN mark reduces the window less than a loss does (RFC 8511). */
    boolean alternativeBackoff;
    /** Bytes per second; 0: no limit. */
    long maxPacingRate;
    /**
     * TCP_NOTSENT_LOWAT; 0: the user fills its send buffer. Values of a few bytes would make
     * runs endless.
     */
    int notSentLowWaterBytes;
    /** Probability that a connection moves to another loop when a packet arrives or a timer expires; 0: never. */
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
