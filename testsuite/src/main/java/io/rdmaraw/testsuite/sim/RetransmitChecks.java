package io.rdmaraw.testsuite.sim;

/** RFC 6298 section 5.5: while the peer is silent, each retransmission of the same waits twice as long as the last. */
final class RetransmitChecks {
    private static final long LONGEST_NANOS = 50_000 * LinkPlan.MILLI;
    private static final double LEAST_GROWTH = 1.6;

    /** What the user lets leave in a second (SO_MAX_PACING_RATE); 0: all. */
    private final long bytesPerSecond;
    private final int segmentBytes;
    private final PacedBytes paced;
    private long lastSeq;
    private long lastNanos = -1;
    private long lastGapNanos;
    /** How long the pacer may have held back what ended the last gap, and what is to end the next. */
    private long lastHeldNanos;
    private long nextHeldNanos;
    private int inSilence;

    RetransmitChecks(long bytesPerSecond, int segmentBytes) {
        this.bytesPerSecond = bytesPerSecond;
        this.segmentBytes = segmentBytes;
        paced = new PacedBytes(bytesPerSecond);
    }

    /** Something came from the peer. */
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
            // The first gaps belong to the tail loss probe and the first timeout. What that has marked lost the pacer
            // may hold back, once in a silence; a gap that is not longer than that says nothing of the timeout.
            boolean grows = gap >= lastGapNanos * LEAST_GROWTH || gap >= LONGEST_NANOS
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

    /** Returns for how long the pacer may hold back what follows {@code p}. */
    private long chargePacer(Packet p, long nowNanos) {
        if (bytesPerSecond == 0) {
            return 0;
        }
        double aheadBytes = paced.sent(p.payload.length, nowNanos);
        return (long) ((aheadBytes + paced.burstBytes(segmentBytes)) / bytesPerSecond * 1e9);
    }
}
