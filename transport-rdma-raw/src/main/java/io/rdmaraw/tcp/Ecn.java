package io.rdmaraw.tcp;

import io.rdmaraw.tcp.TcpConfig.EcnMode;
import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;

/**
 * Explicit congestion notification (RFC 3168 section 6.1), and how DCTCP echoes marks (RFC 8257). What is different
 * where both ends count marks is in {@link AccurateEcn}.
 */
final class Ecn {
    /** How marks are told. */
    enum Feedback {
        NONE,
        /** As RFC 3168 has it. */
        CLASSIC,
        /** RFC 9768. */
        ACCURATE
    }

    /** RFC 9768 section 3.1.4.1: SYNs that ask for accurate feedback. The path may not like it. */
    private static final int ACCURATE_SYNS = 2;

    private Ecn() {
    }

    // ---- negotiation ----

    /** Whether a SYN asks for it: ECE and CWR (section 6.1.1). */
    static boolean offered(Segment syn) {
        return syn.has(TcpFlags.ECE) && syn.has(TcpFlags.CWR);
    }

    /** What a listener agrees to. */
    static Feedback agreedTo(TcpConfig config, Segment syn) {
        if (acceptsAccurate(config)) {
            return AccurateEcn.offered(syn);
        }
        return config.ecn != EcnMode.OFF && offered(syn) ? Feedback.CLASSIC : Feedback.NONE;
    }

    /** What follows from the peer's SYN-ACK, or from a SYN of its own that has met ours. */
    static Feedback agreedBy(TcpConnection c, Segment s) {
        if (!s.has(TcpFlags.ACK)) {
            // Simultaneous open. RFC 9768 section 3.1.2: as a listener would, but RFC 3168's is not used then.
            return asksForAccurate(c.engine.config) && AccurateEcn.offered(s) == Feedback.ACCURATE ? Feedback.ACCURATE
                    : Feedback.NONE;
        }
        if (asksForAccurate(c.engine.config)) {
            return AccurateEcn.accepted(s);
        }
        return wanted(c) && s.has(TcpFlags.ECE) && !s.has(TcpFlags.CWR) ? Feedback.CLASSIC : Feedback.NONE;
    }

    private static boolean acceptsAccurate(TcpConfig config) {
        return config.ecn == EcnMode.ACCURATE || config.ecn == EcnMode.ACCURATE_PASSIVE;
    }

    private static boolean asksForAccurate(TcpConfig config) {
        return config.ecn == EcnMode.ACCURATE;
    }

    /** Whether our SYN asks for some feedback. */
    private static boolean wanted(TcpConnection c) {
        EcnMode mode = c.engine.config.ecn;
        return mode == EcnMode.ACTIVE || mode == EcnMode.ACCURATE
                || mode != EcnMode.OFF && c.congestion.countsMarks();
    }

    /** The flags by which our SYN asks for it, or our SYN-ACK agrees. */
    static int setupFlags(TcpConnection c, boolean answer) {
        if (answer) {
            return AccurateEcn.of(c) != null ? AccurateEcn.synAckFlags(c) : c.is(Tcb.ECN) ? TcpFlags.ECE : 0;
        }
        if (asksForAccurate(c.engine.config)) {
            return c.unansweredTimeouts < ACCURATE_SYNS ? AccurateEcn.FLAGS : 0;
        }
        // Section 6.1.1; not again after a timeout (6.1.1.1), a middlebox may be in the way
        return wanted(c) && c.unansweredTimeouts == 0 ? TcpFlags.ECE | TcpFlags.CWR : 0;
    }

    /** Whether the last SYN or SYN-ACK asked for nothing, or the next one does not. */
    static boolean fallsBack(TcpConnection c) {
        return c.unansweredTimeouts >= ACCURATE_SYNS;
    }

    static void begin(TcpConnection c, Segment s, Feedback feedback) {
        c.assign(Tcb.ECN, feedback != Feedback.NONE);
        // Section 6.1.1: a host that has sent a SYN without it sets no ECT.
        boolean plainSyn = !c.is(Tcb.PASSIVE_OPEN)
                && (asksForAccurate(c.engine.config) ? fallsBack(c) : c.is(Tcb.SYN_RETRANSMITTED));
        c.assign(Tcb.ECN_SENDER, feedback == Feedback.ACCURATE || feedback == Feedback.CLASSIC && !plainSyn);
        if (feedback == Feedback.ACCURATE) {
            AccurateEcn.begin(c, s);
        }
    }

    /**
     * The peer's SYN has come again in SYN-RECEIVED, perhaps without what the first one asked for. Returns false if the
     * connection must be reset.
     */
    static boolean onSynAgain(TcpConnection c, Segment syn) {
        if (AccurateEcn.of(c) != null) {
            return AccurateEcn.onSynAgain(c, syn);
        }
        if (c.is(Tcb.ECN) && acceptsAccurate(c.engine.config)
                && AccurateEcn.offered(syn) == Feedback.ACCURATE) {
            // RFC 9768 section 3.1.5: the ends might differ in what they take for agreed.
            return false;
        }
        c.assign(Tcb.ECN_SENDER, c.is(Tcb.ECN_SENDER) && offered(syn));
        return true;
    }

    // ---- the receiver ----

    /** Section 6.1.3: the receiver's part. */
    static void onSegment(TcpConnection c, Segment s, long now) {
        if (!c.is(Tcb.ECN)) {
            return;
        }
        if (AccurateEcn.of(c) != null) {
            AccurateEcn.onSegment(c, s, now);
            return;
        }
        if (c.congestion.countsMarks()) {
            echoEach(c, s, now);
            return;
        }
        if (s.has(TcpFlags.CWR) && s.payloadLength > 0) {
            c.clear(Tcb.ECE_OWED);
        }
        if (s.ecn == Segment.ECN_CE) {
            c.engine.counters.congestionMarksIn++;
            if (!c.is(Tcb.ECE_OWED)) {
                c.set(Tcb.ECE_OWED | Tcb.ACK_NOW);
            }
        }
    }

    /**
     * RFC 8257 section 3.2: ECE tells of the data that is acknowledged. So when data of the other kind comes, what came
     * before is acknowledged first, as it was.
     */
    private static void echoEach(TcpConnection c, Segment s, long now) {
        if (s.payloadLength == 0) {
            return;
        }
        boolean marked = s.ecn == Segment.ECN_CE;
        if (marked) {
            c.engine.counters.congestionMarksIn++;
        }
        if (marked == c.is(Tcb.ECE_OWED)) {
            return;
        }
        if (c.lastAckSent != c.rcvNxt) {
            c.engine.replies.acknowledge(c, now);
        }
        c.assign(Tcb.ECE_OWED, marked);
        c.set(Tcb.ACK_NOW);
    }

    // ---- the sender ----

    /** What an acknowledgement tells of marks, once it is known what it delivers. */
    static void onAck(TcpConnection c, Segment s, AckSample sample) {
        if (AccurateEcn.of(c) != null) {
            AccurateEcn.onAck(c, s, sample);
            return;
        }
        sample.marked = c.is(Tcb.ECN_SENDER) && s.has(TcpFlags.ECE);
        if (sample.marked && sample.deliveredBytes > 0) {
            c.requireExtras().deliveredMarkedBytes += sample.deliveredBytes;
        }
    }

    /** How much of what was acknowledged had a mark, as far as it was told. */
    static int markedBytes(TcpConnection c, AckSample sample) {
        return AccurateEcn.of(c) != null ? AccurateEcn.takeMarkedBytes(c, sample.ackedBytes)
                : sample.marked ? sample.ackedBytes : 0;
    }

    /** Section 6.1.2: whether the peer reports a mark that no reduction has answered yet. */
    static boolean echoed(TcpConnection c, AckSample sample) {
        return AccurateEcn.of(c) != null ? AccurateEcn.owesReduction(c)
                : sample.marked && Sequence.afterOrAt(c.sndUna, c.ecnEndSeq);
    }

    /** Section 6.1.2: as for one loss, at most once per window of data. */
    static void reduce(TcpConnection c, long now) {
        c.ssthresh = c.congestion.onMarked(c, c.sndNxt - c.sndUna, now);
        c.cwnd = Math.min(c.cwnd, c.ssthresh);
        c.engine.counters.ecnReductions++;
        onReduction(c);
    }

    /** The window was reduced, for whatever reason: the next new data says so, or the marks until now are answered. */
    static void onReduction(TcpConnection c) {
        if (AccurateEcn.of(c) != null) {
            AccurateEcn.onReduction(c);
        } else if (c.is(Tcb.ECN_SENDER)) {
            c.set(Tcb.CWR_OWED);
            c.ecnEndSeq = c.sndNxt;
        }
    }

    /** Whether the next new data has CWR, which a device that cuts segments sets in the first one alone. */
    static boolean setsCwr(TcpConnection c) {
        return c.is(Tcb.CWR_OWED) || c.is(Tcb.ECN) && AccurateEcn.setsCwr(c);
    }
}
