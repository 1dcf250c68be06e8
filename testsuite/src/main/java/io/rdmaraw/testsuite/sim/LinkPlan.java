package io.rdmaraw.testsuite.sim;

/**
 * The faults of one direction of the path, drawn from the seed. Times are in nanoseconds, rates in bits per
 * second.
 */
final class LinkPlan {
    static final long MILLI = 1_000_000L;
    private static final double IID_LIMIT = 0.15;

    final SplitMix random;
    final long delayNanos;
    long jitterNanos;
    long rateBitsPerSecond;
    int queueBytes = 1 << 22;
    /** Queue length from which packets are marked; 0: never. */
    int markBytes;
    double lossProbability;
    /**
     * Gilbert-Elliott model: the probabilities per packet of entering and leaving the bad state, in which all
     * packets are lost.
     */
    double turnBad;
    double turnGood = 1;
    double reorderProbability;
    long reorderNanos;
    double duplicateProbability;
    double corruptProbability;
    int mtuBytes = 65535;
    /** From this time on, {@link #laterMtuBytes} is the MTU. */
    long mtuShrinkNanos = Long.MAX_VALUE;
    int laterMtuBytes;
    boolean icmp = true;
    double ackThinning;
    boolean stripTimestamps;
    boolean stripSack;
    boolean stripWindowScale;
    boolean stripMss;
    long blackoutFromNanos = Long.MAX_VALUE;
    long blackoutToNanos;
    double staleProbability;
    double forgeryProbability;

    LinkPlan(SplitMix random, int direction, long off) {
        this.random = random;
        delayNanos = random.magnitude(10_000, 150 * MILLI);
        drawTiming(random.split(1), direction, off);
        drawLosses(random.split(2), direction, off);
        drawDamage(random.split(3), direction, off);
        drawMtu(random.split(4), direction, off);
        drawMiddlebox(random.split(5), direction, off);
    }

    private void drawTiming(SplitMix draw, int direction, long off) {
        long jitter = draw.magnitude(1_000, 20 * MILLI);
        if (draw.chance(0.3) && on(Fault.JITTER, direction, off)) {
            jitterNanos = jitter;
        }
        long rate = draw.magnitude(500_000, 1_000_000_000);
        boolean limited = draw.chance(0.5);
        int queue = (int) draw.magnitude(4_000, 300_000);
        boolean small = draw.chance(0.5);
        boolean marks = draw.chance(0.4);
        if (limited && on(Fault.RATE, direction, off)) {
            rateBitsPerSecond = rate;
            if (small && on(Fault.SMALL_QUEUE, direction, off)) {
                queueBytes = queue;
            }
            if (marks && on(Fault.ECN_MARKS, direction, off)) {
                markBytes = queue / 3 + 1;
            }
        }
    }

    private void drawLosses(SplitMix draw, int direction, long off) {
        double loss = draw.unit() * draw.unit() * IID_LIMIT;
        if (draw.chance(0.4) && on(Fault.LOSS, direction, off)) {
            lossProbability = loss;
        }
        double bad = draw.unit() * 0.03;
        // A burst ends after a number of packets, never by time alone. A sender that backs off must therefore get
        // through eventually.
        double good = 0.35 + draw.unit() * 0.5;
        if (draw.chance(0.2) && on(Fault.BURST_LOSS, direction, off)) {
            turnBad = bad;
            turnGood = good;
        }
        long from = draw.magnitude(MILLI, 3_000 * MILLI);
        long length = draw.magnitude(10 * MILLI, 20_000 * MILLI);
        if (draw.chance(0.12) && on(Fault.BLACKOUT, direction, off)) {
            blackoutFromNanos = from;
            blackoutToNanos = from + length;
        }
    }

    private void drawDamage(SplitMix draw, int direction, long off) {
        double reorder = draw.unit() * 0.2;
        long reorderBy = draw.magnitude(10_000, 50 * MILLI);
        if (draw.chance(0.3) && on(Fault.REORDER, direction, off)) {
            reorderProbability = reorder;
            reorderNanos = reorderBy;
        }
        double duplicate = draw.unit() * 0.1;
        if (draw.chance(0.2) && on(Fault.DUPLICATE, direction, off)) {
            duplicateProbability = duplicate;
        }
        double corrupt = draw.unit() * 0.05;
        if (draw.chance(0.2) && on(Fault.CORRUPT, direction, off)) {
            corruptProbability = corrupt;
        }
        double stale = draw.unit() * 0.02;
        if (draw.chance(0.15) && on(Fault.STALE_DUPLICATES, direction, off)) {
            staleProbability = stale;
        }
        double forged = draw.unit() * 0.05;
        if (draw.chance(0.2) && on(Fault.FORGERY, direction, off)) {
            forgeryProbability = forged;
        }
    }

    private void drawMtu(SplitMix draw, int direction, long off) {
        int mtu = draw.pick(1280, 1400, 1492, 1500, 1500, 9000);
        int later = draw.pick(1280, 1300, 1380);
        long when = draw.magnitude(MILLI, 2_000 * MILLI);
        if (draw.chance(0.2) && on(Fault.SMALL_MTU, direction, off)) {
            mtuBytes = mtu;
        }
        if (draw.chance(0.15) && on(Fault.MTU_SHRINK, direction, off)) {
            mtuShrinkNanos = when;
            laterMtuBytes = Math.min(later, mtuBytes);
        }
        boolean silent = draw.chance(0.3);
        icmp = !(silent && on(Fault.MTU_BLACK_HOLE, direction, off));
    }

    private void drawMiddlebox(SplitMix draw, int direction, long off) {
        double thinning = 0.2 + draw.unit() * 0.6;
        if (draw.chance(0.15) && on(Fault.ACK_THINNING, direction, off)) {
            ackThinning = thinning;
        }
        boolean strips = draw.chance(0.15) && on(Fault.OPTION_STRIPPING, direction, off);
        stripTimestamps = draw.chance(0.4) && strips;
        stripSack = draw.chance(0.4) && strips;
        stripWindowScale = draw.chance(0.4) && strips;
        stripMss = draw.chance(0.2) && strips;
    }

    private static boolean on(Fault fault, int direction, long off) {
        return (off & fault.bit(direction)) == 0;
    }

    int mtuAt(long nowNanos) {
        return nowNanos >= mtuShrinkNanos ? laterMtuBytes : mtuBytes;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("delay " + delayNanos / 1000 + " us");
        add(text, jitterNanos > 0, ", jitter " + jitterNanos / 1000 + " us");
        add(text, rateBitsPerSecond > 0, ", rate " + rateBitsPerSecond / 1000 + " kbit/s, queue " + queueBytes + " B");
        add(text, markBytes > 0, ", ECN mark at " + markBytes + " B");
        add(text, lossProbability > 0, ", loss %.4f".formatted(lossProbability));
        add(text, turnBad > 0, ", bursts %.4f/%.2f".formatted(turnBad, turnGood));
        add(text, reorderProbability > 0, ", reorder %.3f by %d us".formatted(reorderProbability, reorderNanos / 1000));
        add(text, duplicateProbability > 0, ", duplicate %.3f".formatted(duplicateProbability));
        add(text, corruptProbability > 0, ", corrupt %.3f".formatted(corruptProbability));
        add(text, mtuBytes < 65535, ", MTU " + mtuBytes);
        add(text, laterMtuBytes > 0, ", MTU " + laterMtuBytes + " from " + mtuShrinkNanos / 1000 + " us");
        add(text, !icmp, ", no ICMP");
        add(text, ackThinning > 0, ", ACK thinning %.2f".formatted(ackThinning));
        add(text, stripTimestamps, ", no timestamps");
        add(text, stripSack, ", no SACK");
        add(text, stripWindowScale, ", no window scale");
        add(text, stripMss, ", no MSS option");
        add(text, blackoutToNanos > 0, ", blackout " + blackoutFromNanos / MILLI + ".." + blackoutToNanos / MILLI
                + " ms");
        add(text, staleProbability > 0, ", stale duplicates %.3f".formatted(staleProbability));
        add(text, forgeryProbability > 0, ", forgery %.3f".formatted(forgeryProbability));
        return text.toString();
    }

    private static void add(StringBuilder text, boolean there, String part) {
        if (there) {
            text.append(part);
        }
    }
}
