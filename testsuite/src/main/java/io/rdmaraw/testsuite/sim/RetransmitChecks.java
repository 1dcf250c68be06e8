package io.rdmaraw.testsuite.sim;

/** RFC 6298 section 5.5: while the peer is silent, each retransmission of the same waits twice as long as the last. */
final class RetransmitChecks {
    private static final long LONGEST_NANOS = 50_000 * LinkPlan.MILLI;
    private static final double LEAST_GROWTH = 1.6;

    private long lastSeq;
    private long lastNanos = -1;
    private long lastGapNanos;
    private int inSilence;

    /** Something came from the peer. */
    void heard() {
        lastNanos = -1;
        lastGapNanos = 0;
        inSilence = 0;
    }

    void sent(Packet p, long seq, boolean again, long nowNanos) {
        if (!again) {
            return;
        }
        if (lastNanos >= 0 && seq == lastSeq) {
            long gap = nowNanos - lastNanos;
            inSilence++;
            // The first gaps belong to the tail loss probe and the first timeout.
            boolean grows = gap >= lastGapNanos * LEAST_GROWTH || gap >= LONGEST_NANOS;
            if (inSilence >= 3 && !grows) {
                throw new SimulationFailure("retransmission backs off", "after " + lastGapNanos / 1000 + " us came "
                        + gap / 1000 + " us at " + p);
            }
            lastGapNanos = gap;
        } else {
            lastGapNanos = 0;
            inSilence = 0;
        }
        lastSeq = seq;
        lastNanos = nowNanos;
    }
}
