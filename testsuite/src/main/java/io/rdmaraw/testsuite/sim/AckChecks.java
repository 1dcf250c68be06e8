package io.rdmaraw.testsuite.sim;

/** Checks the receiver for {@link WireChecks}: the acknowledgment numbers, their timing and the SACK blocks. */
final class AckChecks {
    /** Reports a rule that does not hold. */
    interface Demand {
        void demand(boolean holds, String rule, Packet packet);
    }

    private static final long TIMER_GRAIN_NANOS = 5 * LinkPlan.MILLI;

    /**
     * Segment size up to which segments count as smaller than full size. A receiver does not know the sender's
     * segment size.
     */
    private static final int SMALLEST_FULL_SEGMENT_BYTES = 1220;

    private final long delayedAckLimitNanos;
    /** All sequence numbers received. {@code certain} holds the subset that the receiver had no reason to drop. */
    private final Ranges received = new Ranges();
    private final Ranges certain = new Ranges();
    private long contiguous;
    private long certainContiguous;
    private boolean hasTimestamp;
    private int newestTimestamp;
    private long lastAck;
    private long firstNumber;
    private boolean owedNow;
    /**
     * Set if the receiver has reported a drop for lack of memory. For the receiver, all data behind the drop is
     * out of order.
     */
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

    /** Returns the first sequence number that has not been received. */
    long contiguous() {
        return contiguous;
    }

    /** Returns the first sequence number that has not been received or that the receiver was free to drop. */
    long certainContiguous() {
        return certainContiguous;
    }

    /** Returns the highest acknowledgment number sent. */
    long lastAck() {
        return lastAck;
    }

    /** Records a received packet. Returns whether it contained new data that the receiver had no reason to drop. */
    boolean received(Packet p, long seq, long edge, long nowNanos) {
        if (p.has(Packet.SYN)) {
            // RFC 7413: the receiver is free to drop the data of a SYN.
            received.add(seq, seq + 1 + p.payload.length);
            contiguous = received.endOf(contiguous - 1);
            return false;
        }
        long end = seq + p.sequenceLength();
        long possible = contiguous;
        received.add(seq, end);
        contiguous = received.endOf(contiguous - 1);
        // RFC 7323 section 5.3: a timestamp older than an earlier one allows the receiver to drop the segment,
        // even if it was only reordered.
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
            // RFC 5681 section 4.2: out-of-order and duplicate data is acknowledged immediately.
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
            // A block below the connection's first sequence number reports a forged segment. This is harmless.
            boolean ancient = i == 0 && right <= firstNumber;
            demand.demand(left < right && (ancient || received.contains(left, right)), "SACK within what has come", p);
            // RFC 2883: the first block may report a duplicate.
            demand.demand(left > ack || i == 0, "SACK lies above the acknowledgment", p);
        }
    }

    /**
     * Records that the receiver dropped this packet for lack of memory: its data is new when it arrives again,
     * and later data is out of order. If part of the data had been received before, all of it counts as dropped,
     * which only weakens the checks.
     */
    void droppedForMemory(Packet p) {
        dropped = true;
        long seq = unwrap(p.seq);
        certain.remove(Math.max(seq, lastAck), seq + p.sequenceLength());
        certainContiguous = Math.min(certainContiguous, Math.max(seq, lastAck));
    }

    /** Returns whether data dropped for lack of memory has not been accepted yet. */
    boolean isShortOfMemory() {
        return dropped;
    }

    void sent(Packet p) {
        owedNow = false;
        long ack = unwrap(p.ack);
        lastAck = Math.max(lastAck, ack);
        dropped &= lastAck < contiguous;
        if (ack > certainContiguous) {
            // The receiver acknowledged this data, so it has accepted it.
            certain.add(firstNumber, ack);
            certainContiguous = certain.endOf(ack - 1);
        }
        if (ack >= certainContiguous) {
            oldestUnackedNanos = Long.MAX_VALUE;
            unackedFullBytes = 0;
        }
    }

    /** Returns the rule that is violated if the receiver sends nothing more now, or null. */
    String settled(long nowNanos, boolean established) {
        if (!established) {
            return null;
        }
        if (owedNow) {
            return "acknowledges at once what is out of order";
        }
        // RFC 9293 section 3.8.6.3: an ACK at least for every second full-sized segment, and never later than the
        // limit.
        if (unackedFullBytes > 2L * largestSegment) {
            return "acknowledges every second full segment";
        }
        boolean late = oldestUnackedNanos != Long.MAX_VALUE && nowNanos - oldestUnackedNanos > delayedAckLimitNanos;
        return late ? "acknowledges in time" : null;
    }
}
