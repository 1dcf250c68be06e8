package io.rdmaraw.testsuite.sim;

import java.util.Arrays;

/**
 * The sending half of a {@link ReferenceConnection}: go-back-N (RFC 6298), fast retransmit and Reno's congestion
 * window (RFC 5681), and zero window probes. Sequence numbers are 64 bits wide; packets carry the low 32 bits.
 */
final class ReferenceSender {
    private static final long NEVER = Long.MAX_VALUE;
    private static final long MAXIMUM_RTO_NANOS = 60_000 * LinkPlan.MILLI;
    /** An MSS that fits every path of the scenarios. */
    private static final int BLACK_HOLE_MSS = 1200;
    private static final int BLACK_HOLE_TIMEOUTS = 3;

    private final ReferenceConnection connection;
    private final PeerPlan plan;
    private final SplitMix random;
    final long iss;
    long una;
    long nxt;
    long maxSent;
    private long window;
    private long largestWindow;
    private long wl1;
    private long wl2;
    private int shift;
    private int mss = 536;
    /** Unacknowledged bytes; the first one has sequence number {@link #bufferSeq}. */
    private byte[] buffer = new byte[0];
    private long bufferSeq;
    private boolean finQueued;
    private long cwnd;
    private long ssthresh = NEVER;
    private int duplicateAcks;
    private long recoverSeq;
    private boolean fastRetransmit;
    private int timeouts;
    private long rtoNanos = 1_000 * LinkPlan.MILLI;
    private long rtoDeadline = NEVER;
    private long persistDeadline = NEVER;
    private long persistNanos;

    ReferenceSender(ReferenceConnection connection, PeerPlan plan, SplitMix random) {
        this.connection = connection;
        this.plan = plan;
        this.random = random;
        // Often just before the sequence numbers wrap or their highest bit changes.
        long edge = random.chance(0.5) ? 0xffff_ffffL : 0x7fff_ffffL;
        iss = (1L << 32) + (random.chance(0.6) ? edge - random.below(50_000) : random.nextLong() >>> 32);
        una = iss;
        nxt = iss;
        maxSent = iss;
        bufferSeq = iss + 1;
    }

    // ---- opening ----

    void synSent(long nowNanos) {
        nxt = iss + 1;
        maxSent = nxt;
        rtoDeadline = nowNanos + rtoNanos;
    }

    /** Processes the peer's SYN: its MSS and its window, which is not scaled. */
    void open(Packet syn, long seq, boolean scaling, boolean ipv6) {
        shift = scaling ? Math.min(syn.windowScale, 14) : 0;
        mss = Math.min(syn.mss == 0 ? ipv6 ? 1220 : 536 : syn.mss, ipv6 ? 1440 : 1460);
        window = syn.window;
        largestWindow = window;
        wl1 = seq;
        wl2 = syn.has(Packet.ACK) ? unwrap(syn.ack) : una;
        cwnd = 4L * mss;
    }

    void synAcknowledged() {
        una = iss + 1;
        wl2 = una;
        rtoDeadline = NEVER;
        rtoNanos = Math.max(plan.minimumRtoNanos, rtoNanos / 2);
    }

    /**
     * Sets the window from a segment without comparing it with earlier segments, as at the end of the handshake.
     */
    void takeWindow(Packet packet, long seq) {
        window = (long) packet.window << shift;
        largestWindow = Math.max(largestWindow, window);
        wl1 = seq;
        wl2 = unwrap(packet.ack);
    }

    // ---- acknowledgments ----

    long unwrap(int ack) {
        return una + (ack - (int) una);
    }

    /** Returns whether an ACK is in the range of RFC 5961 section 5.2. */
    boolean isAckAcceptable(long ack) {
        return ack <= maxSent && ack >= una - largestWindow;
    }

    void takeAck(Packet packet, long seq, long nowNanos) {
        long ack = unwrap(packet.ack);
        if (ack >= una && (wl1 < seq || wl1 == seq && wl2 <= ack)) {
            takeWindow(packet, seq);
            if (window > 0) {
                persistDeadline = NEVER;
                persistNanos = 0;
            }
        }
        if (ack > una) {
            takeNewAck(ack, nowNanos);
        } else if (ack == una && packet.sequenceLength() == 0 && una < maxSent) {
            countDuplicate();
        }
    }

    private void takeNewAck(long ack, long nowNanos) {
        long acked = ack - una;
        una = ack;
        timeouts = 0;
        nxt = Math.max(nxt, una);
        rtoNanos = Math.max(plan.minimumRtoNanos, Math.min(rtoNanos, 1_000 * LinkPlan.MILLI));
        rtoDeadline = una < maxSent ? nowNanos + rtoNanos : NEVER;
        int gone = Math.clamp(una - bufferSeq, 0, buffer.length);
        buffer = Arrays.copyOfRange(buffer, gone, buffer.length);
        bufferSeq += gone;
        if (duplicateAcks >= 3 && una < recoverSeq) {
            // RFC 6582: a partial acknowledgment indicates the next hole.
            fastRetransmit = true;
        } else {
            duplicateAcks = 0;
            cwnd += cwnd < ssthresh ? Math.min(acked, mss) : Math.max(1, (long) mss * mss / cwnd);
        }
    }

    private void countDuplicate() {
        if (++duplicateAcks == 3) {
            ssthresh = Math.max((maxSent - una) / 2, 2L * mss);
            cwnd = ssthresh + 3L * mss;
            recoverSeq = maxSent;
            fastRetransmit = true;
        }
    }

    boolean isFinAcknowledged() {
        return finQueued && una > finSeq();
    }

    // ---- the application ----

    void queue(byte[] data) {
        byte[] longer = Arrays.copyOf(buffer, buffer.length + data.length);
        System.arraycopy(data, 0, longer, buffer.length, data.length);
        buffer = longer;
    }

    int queuedBytes() {
        return buffer.length;
    }

    void queueFin() {
        finQueued = true;
    }

    boolean isFinQueued() {
        return finQueued;
    }

    // ---- sending ----

    private long finSeq() {
        return bufferSeq + buffer.length;
    }

    /** Sends everything that the windows allow. */
    void output(boolean timestamps, long nowNanos) {
        if (fastRetransmit) {
            fastRetransmit = false;
            sendFrom(una, timestamps, nowNanos);
        }
        long end = finSeq();
        while (nxt < end || nxt == end && finQueued) {
            long room = Math.min(una + Math.min(window, cwnd), end) - nxt;
            boolean finOnly = nxt == end;
            if (!finOnly && room <= 0 || finOnly && una + cwnd <= nxt) {
                startPersist(nowNanos);
                return;
            }
            nxt = sendFrom(nxt, timestamps, nowNanos);
        }
    }

    private void startPersist(long nowNanos) {
        if (window == 0 && una == nxt && persistDeadline == NEVER) {
            persistNanos = persistNanos == 0 ? rtoNanos : Math.min(2 * persistNanos, MAXIMUM_RTO_NANOS);
            persistDeadline = nowNanos + persistNanos;
        }
    }

    /** Sends one segment. Returns the sequence number behind it. */
    private long sendFrom(long seq, boolean timestamps, long nowNanos) {
        long start = Math.max(seq, bufferSeq);
        long room = Math.max(una + window - start, start < maxSent ? 1 : 0);
        int length = Math.clamp(Math.min(finSeq() - start, room), 0, maximumPayload(timestamps));
        boolean fin = finQueued && start + length == finSeq();
        if (length == 0 && !fin) {
            return seq;
        }
        connection.emit(start, text(start, length), fin, nowNanos);
        long behind = start + length + (fin ? 1 : 0);
        maxSent = Math.max(maxSent, behind);
        if (rtoDeadline == NEVER) {
            rtoDeadline = nowNanos + rtoNanos;
        }
        return behind;
    }

    private byte[] text(long seq, int length) {
        int from = (int) (seq - bufferSeq);
        return Arrays.copyOfRange(buffer, from, from + length);
    }

    private int maximumPayload(boolean timestamps) {
        int most = Math.max(1, mss - (timestamps ? 12 : 0));
        return plan.ragged ? random.between(1, most) : most;
    }

    // ---- time ----

    long deadlineNanos() {
        return Math.min(rtoDeadline, persistDeadline);
    }

    void stopTimers() {
        rtoDeadline = NEVER;
        persistDeadline = NEVER;
    }

    /**
     * Returns whether the retransmission timer has expired. If so, the timer is restarted with a doubled timeout.
     */
    boolean timeout(long nowNanos) {
        if (nowNanos < rtoDeadline) {
            return false;
        }
        rtoNanos = Math.min(2 * rtoNanos, MAXIMUM_RTO_NANOS);
        rtoDeadline = nowNanos + rtoNanos;
        return true;
    }

    /** Restarts after a timeout at the first unacknowledged byte, with one segment. */
    void goBack(boolean mayCarryData, boolean timestamps, long nowNanos) {
        ssthresh = Math.max((maxSent - una) / 2, 2L * mss);
        cwnd = mss;
        duplicateAcks = 0;
        nxt = una;
        if (++timeouts >= BLACK_HOLE_TIMEOUTS) {
            // A simple form of RFC 8899 section 4.3: perhaps the packets are too big and no ICMP message arrives.
            mss = Math.min(mss, BLACK_HOLE_MSS);
        }
        if (mayCarryData) {
            nxt = sendFrom(una, timestamps, nowNanos);
        }
    }

    /** Probes a zero window if the persist timer has expired. */
    void probe(long nowNanos) {
        if (nowNanos < persistDeadline) {
            return;
        }
        persistNanos = Math.min(2 * persistNanos, MAXIMUM_RTO_NANOS);
        persistDeadline = nowNanos + persistNanos;
        if (plan.probesWithData && nxt < finSeq()) {
            connection.emit(nxt, text(nxt, 1), false, nowNanos);
            maxSent = Math.max(maxSent, nxt + 1);
        } else {
            connection.emit(una - 1, new byte[0], false, nowNanos);
        }
    }

    void packetTooBig(int mtuBytes, boolean ipv6) {
        int fits = mtuBytes - (ipv6 ? 60 : 40);
        if (fits < mss) {
            mss = fits;
            nxt = una;
        }
    }

    int mss() {
        return mss;
    }
}
