package io.rdmaraw.testsuite.sim;

/** The receiver's side of {@link WireChecks}: what is acknowledged, when, and what SACK blocks say. */
final class AckChecks {
    /** Receives a broken rule. */
    interface Demand {
        void demand(boolean holds, String rule, Packet packet);
    }

    private static final long TIMER_GRAIN_NANOS = 5 * LinkPlan.MILLI;

    /** A receiver can't know the sender's segment size; below this, several segments count as one. */
    private static final int SMALLEST_FULL_SEGMENT_BYTES = 1220;

    private final long delayedAckLimitNanos;
    /** All that came, and of it what the receiver had no reason to drop. */
    private final Ranges received = new Ranges();
    private final Ranges certain = new Ranges();
    private long contiguous;
    private long certainContiguous;
    private boolean hasTimestamp;
    private int newestTimestamp;
    private long lastAck;
    private long firstNumber;
    private boolean owedNow;
    /** The receiver says that it has dropped data for want of memory: what came behind it is out of order for it. */
    private boolean dropped;
    private long oldestUnackedNanos = Long.MAX_VALUE;
    private int largestSegment = SMALLEST_FULL_SEGMENT_BYTES;
    private long unackedFullBytes;

    AckChecks(CorePlan config) {
        delayedAckLimitNanos = config.delayedAckNanos + TIMER_GRAIN_NANOS;
    }

    void begin(long irs) {
        received.add(irs, irs + 1);
        certain.add(irs, irs + 1);
        certainContiguous = irs + 1;
        contiguous = irs + 1;
        lastAck = irs;
        firstNumber = irs;
    }

    long unwrap(int seq) {
        return contiguous + (seq - (int) contiguous);
    }

    /** Returns the first number that has not come. */
    long contiguous() {
        return contiguous;
    }

    /** Returns the first number that has not come or did not have to be taken. */
    long certainContiguous() {
        return certainContiguous;
    }

    /** Returns the highest acknowledgment that was sent. */
    long lastAck() {
        return lastAck;
    }

    /** Returns whether the packet brought data that the receiver had no reason to drop. */
    boolean received(Packet p, long seq, long edge, long nowNanos) {
        if (p.has(Packet.SYN)) {
            // RFC 7413: what comes with it may be taken or not.
            received.add(seq, seq + 1 + p.payload.length);
            contiguous = received.endOf(contiguous - 1);
            return false;
        }
        long end = seq + p.sequenceLength();
        long possible = contiguous;
        received.add(seq, end);
        contiguous = received.endOf(contiguous - 1);
        // RFC 7323 section 5.3: an older timestamp than one that came may lead to a drop, reordering or not.
        boolean older = p.timestamps && hasTimestamp && p.tsValue - newestTimestamp < 0;
        if (p.timestamps && !older) {
            hasTimestamp = true;
            newestTimestamp = p.tsValue;
        }
        if (p.payload.length == 0 || end > edge || older) {
            return false;
        }
        long before = certainContiguous;
        certain.add(seq, end);
        certainContiguous = certain.endOf(before - 1);
        if (seq > possible || end <= before) {
            // RFC 5681 section 4.2: out of order or seen before is acknowledged at once.
            owedNow = true;
        } else if (certainContiguous > before) {
            oldestUnackedNanos = Math.min(oldestUnackedNanos, nowNanos);
            largestSegment = Math.max(largestSegment, p.payload.length);
            unackedFullBytes += p.payload.length;
        }
        return end > before;
    }

    void check(Packet p, Demand demand) {
        long ack = unwrap(p.ack);
        demand.demand(ack <= contiguous, "acknowledges only what has come", p);
        demand.demand(ack >= lastAck, "acknowledgments don't go back", p);
        for (int i = 0; i + 1 < p.sack.length; i += 2) {
            long left = unwrap(p.sack[i]);
            long right = unwrap(p.sack[i + 1]);
            // A duplicate of before the connection is a forgery, and telling of it harms nobody.
            boolean ancient = i == 0 && right <= firstNumber;
            demand.demand(left < right && (ancient || received.contains(left, right)), "SACK within what has come", p);
            // RFC 2883: the first block may report a duplicate.
            demand.demand(left > ack || i == 0, "SACK lies above the acknowledgment", p);
        }
    }

    /**
     * What was dropped is new when it comes again, and what follows it is out of order for the receiver. Where a part
     * of it had come before, all of it counts as dropped: then less is demanded.
     */
    void droppedForMemory(Packet p) {
        dropped = true;
        long seq = unwrap(p.seq);
        certain.remove(Math.max(seq, lastAck), seq + p.sequenceLength());
        certainContiguous = Math.min(certainContiguous, Math.max(seq, lastAck));
    }

    /** Whether something that was dropped for want of memory has not been taken yet. */
    boolean isShortOfMemory() {
        return dropped;
    }

    void sent(Packet p) {
        owedNow = false;
        long ack = unwrap(p.ack);
        lastAck = Math.max(lastAck, ack);
        dropped &= lastAck < contiguous;
        if (ack > certainContiguous) {
            // The receiver itself says that it has taken this.
            certain.add(firstNumber, ack);
            certainContiguous = certain.endOf(ack - 1);
        }
        if (ack >= certainContiguous) {
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
