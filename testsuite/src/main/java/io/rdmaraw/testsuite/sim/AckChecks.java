package io.rdmaraw.testsuite.sim;

/** The receiver's side of {@link WireChecks}: what is acknowledged, when, and what SACK blocks say. */
final class AckChecks {
    /** Receives a broken rule. */
    interface Demand {
        void demand(boolean holds, String rule, Packet packet);
    }

    private static final long TIMER_GRAIN_NANOS = 5 * LinkPlan.MILLI;

    private final long delayedAckLimitNanos;
    private final Ranges received = new Ranges();
    private long contiguous;
    private long lastAck;
    private boolean owedNow;
    private long oldestUnackedNanos = Long.MAX_VALUE;
    private int largestSegment;
    private long unackedFullBytes;

    AckChecks(CorePlan config) {
        delayedAckLimitNanos = config.delayedAckNanos + TIMER_GRAIN_NANOS;
    }

    void begin(long irs) {
        received.add(irs, irs + 1);
        contiguous = irs + 1;
        lastAck = irs;
    }

    long unwrap(int seq) {
        return contiguous + (seq - (int) contiguous);
    }

    /** Returns the first number that has not come. */
    long contiguous() {
        return contiguous;
    }

    void received(Packet p, long seq, long edge, long nowNanos) {
        if (p.has(Packet.SYN)) {
            return;
        }
        long end = seq + p.sequenceLength();
        long before = contiguous;
        received.add(seq, end);
        contiguous = received.endOf(contiguous - 1);
        boolean inWindow = end <= edge;
        if (p.payload.length == 0 || !inWindow) {
            return;
        }
        if (seq > before || end <= before) {
            // RFC 5681 section 4.2: out of order or seen before is acknowledged at once.
            owedNow = true;
        } else {
            oldestUnackedNanos = Math.min(oldestUnackedNanos, nowNanos);
            largestSegment = Math.max(largestSegment, p.payload.length);
            unackedFullBytes += p.payload.length;
        }
    }

    void check(Packet p, Demand demand) {
        long ack = unwrap(p.ack);
        demand.demand(ack <= contiguous, "acknowledges only what has come", p);
        demand.demand(ack >= lastAck, "acknowledgments don't go back", p);
        for (int i = 0; i + 1 < p.sack.length; i += 2) {
            long left = unwrap(p.sack[i]);
            long right = unwrap(p.sack[i + 1]);
            demand.demand(left < right && received.contains(left, right), "SACK within what has come", p);
            // RFC 2883: the first block may report a duplicate.
            demand.demand(left > ack || i == 0, "SACK lies above the acknowledgment", p);
        }
    }

    void sent(Packet p) {
        owedNow = false;
        long ack = unwrap(p.ack);
        lastAck = Math.max(lastAck, ack);
        if (ack == contiguous || ack > lastAck) {
            oldestUnackedNanos = Long.MAX_VALUE;
            unackedFullBytes = 0;
        }
    }

    /** Returns the rule that is broken when nothing more is sent now, or null. */
    String settled(long nowNanos, boolean established) {
        if (!established) {
            return null;
        }
        if (owedNow) {
            return "acknowledges at once what is out of order";
        }
        // RFC 9293 section 3.8.6.3: at least every second full-sized segment, and never later than the limit.
        if (unackedFullBytes > 2L * largestSegment) {
            return "acknowledges every second full segment";
        }
        boolean late = oldestUnackedNanos != Long.MAX_VALUE && nowNanos - oldestUnackedNanos > delayedAckLimitNanos;
        return late ? "acknowledges in time" : null;
    }
}
