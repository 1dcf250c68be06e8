package io.rdmaraw.testsuite.sim;

/**
 * Checks RFC 6298 section 5.5: while the peer is silent, the time between retransmissions of the same segment
 * doubles.
 */
final class RetransmitChecks {
    private static final long MAX_NANOS = 50_000 * LinkPlan.MILLI;
    private static final double MIN_GROWTH = 1.6;

    /** Pacing rate set by the user (SO_MAX_PACING_RATE); 0: no limit. */
    private final long bytesPerSecond;
    private final int segmentBytes;
    private final PacedBytes paced;
    private long lastSeq;
    private long lastNanos = -1;
    private long lastGapNanos;
    /**
     * Time for which the pacer may have delayed the segment that ended the last gap, and the segment that will
     * end the next.
     */
    private long lastHeldNanos;
    private long nextHeldNanos;
    private int inSilence;

    RetransmitChecks(long bytesPerSecond, int segmentBytes) {
        this.bytesPerSecond = bytesPerSecond;
        this.segmentBytes = segmentBytes;
        paced = new PacedBytes(bytesPerSecond);
    }

    /** Records that a packet arrived from the peer. */
    void heard() {
        lastNanos = -1;
        lastGapNanos = 0;
        inSilence = 0;
    }

    void sent(Packet p, long seq, boolean again, long nowNanos) {
        long heldNanos = chargePacer(p, nowNanos);
        if (!again) {
            return;
        }
        if (lastNanos >= 0 && seq == lastSeq) {
            long gap = nowNanos - lastNanos;
            inSilence++;
            // The first gaps belong to the tail loss probe and the first timeout. Once per silence, the pacer may
            // delay the segments that these have marked lost. A gap no longer than such a delay does not show the
            // timeout.
            boolean grows = gap >= lastGapNanos * MIN_GROWTH || gap >= MAX_NANOS
                    || inSilence == 3 && lastGapNanos <= lastHeldNanos;
            if (inSilence >= 3 && !grows) {
                throw new SimulationFailure("retransmission backs off", "after " + lastGapNanos / 1000 + " us came "
                        + gap / 1000 + " us at " + p);
            }
            lastGapNanos = gap;
            lastHeldNanos = nextHeldNanos;
        } else {
            lastGapNanos = 0;
            inSilence = 0;
        }
        lastSeq = seq;
        lastNanos = nowNanos;
        nextHeldNanos = heldNanos;
    }

    /** Returns how long the pacer may delay the segment after {@code p}. */
    private long chargePacer(Packet p, long nowNanos) {
        if (bytesPerSecond == 0) {
            return 0;
        }
        double aheadBytes = paced.sent(p.payload.length, nowNanos);
        return (long) ((aheadBytes + paced.burstBytes(segmentBytes)) / bytesPerSecond * 1e9);
    }
}
