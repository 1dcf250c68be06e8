package io.rdmaraw.tcp;

import io.rdmaraw.tcp.TcpConfig.EcnMode;
import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;

/**
 * Explicit congestion notification (RFC 3168 section 6.1), and the echo of marks for DCTCP (RFC 8257).
 * {@link AccurateEcn} handles connections that use accurate feedback.
 */
final class Ecn {
    /** The form of feedback that the two ends have agreed on. */
    enum Feedback {
        NONE,
        /** ECE and CWR (RFC 3168). */
        CLASSIC,
        /** The ACE counter (RFC 9768). */
        ACCURATE
    }

    /**
     * Number of SYNs that offer accurate feedback (RFC 9768 section 3.1.4.1). Later ones do not, in case the path
     * drops them.
     */
    private static final int ACCURATE_SYNS = 2;

    private Ecn() {
    }

    // ---- negotiation ----

    /** Returns whether a SYN offers ECN, that is, has ECE and CWR set (section 6.1.1). */
    static boolean isEcnSetup(Segment syn) {
        return syn.has(TcpFlags.ECE) && syn.has(TcpFlags.CWR);
    }

    /** Returns the feedback that a listener agrees to. */
    static Feedback feedbackForSyn(TcpConfig config, Segment syn) {
        if (acceptsAccurate(config)) {
            return AccurateEcn.offeredFeedback(syn);
        }
        return config.ecn != EcnMode.OFF && isEcnSetup(syn) ? Feedback.CLASSIC : Feedback.NONE;
    }

    /** Returns the feedback that results from the peer's SYN-ACK, or from its SYN in a simultaneous open. */
    static Feedback feedbackForSynAck(TcpConnection c, Segment s) {
        if (!s.has(TcpFlags.ACK)) {
            // Simultaneous open: as for a listener, but without classic feedback (RFC 9768 section 3.1.2).
            return requestsAccurate(c.engine.config) && AccurateEcn.offeredFeedback(s) == Feedback.ACCURATE
                    ? Feedback.ACCURATE : Feedback.NONE;
        }
        if (requestsAccurate(c.engine.config)) {
            return AccurateEcn.acceptedFeedback(s);
        }
        return offersEcn(c) && s.has(TcpFlags.ECE) && !s.has(TcpFlags.CWR) ? Feedback.CLASSIC : Feedback.NONE;
    }

    private static boolean acceptsAccurate(TcpConfig config) {
        return config.ecn == EcnMode.ACCURATE || config.ecn == EcnMode.ACCURATE_PASSIVE;
    }

    private static boolean requestsAccurate(TcpConfig config) {
        return config.ecn == EcnMode.ACCURATE;
    }

    /** Returns whether our SYN offers ECN. */
    private static boolean offersEcn(TcpConnection c) {
        EcnMode mode = c.engine.config.ecn;
        return mode == EcnMode.ACTIVE || mode == EcnMode.ACCURATE
                || mode != EcnMode.OFF && c.congestion.countsMarks();
    }

    /** Returns the ECN flags of our SYN, or of our SYN-ACK if {@code synAck} is set. */
    static int setupFlags(TcpConnection c, boolean synAck) {
        if (synAck) {
            return AccurateEcn.of(c) != null ? AccurateEcn.synAckFlags(c) : c.is(Tcb.ECN) ? TcpFlags.ECE : 0;
        }
        if (requestsAccurate(c.engine.config)) {
            return c.unansweredTimeouts < ACCURATE_SYNS ? AccurateEcn.ACE_FLAGS : 0;
        }
        // Section 6.1.1. A retransmitted SYN does not offer ECN, as a middlebox may have dropped the first
        // (6.1.1.1).
        return offersEcn(c) && c.unansweredTimeouts == 0 ? TcpFlags.ECE | TcpFlags.CWR : 0;
    }

    /** Returns whether SYNs and SYN-ACKs no longer negotiate accurate feedback, after too many timeouts. */
    static boolean fallsBack(TcpConnection c) {
        return c.unansweredTimeouts >= ACCURATE_SYNS;
    }

    static void begin(TcpConnection c, Segment s, Feedback feedback) {
        c.assign(Tcb.ECN, feedback != Feedback.NONE);
        // Section 6.1.1: a host that has sent a SYN without ECN setup must not set ECT.
        boolean plainSyn = !c.is(Tcb.PASSIVE_OPEN)
                && (requestsAccurate(c.engine.config) ? fallsBack(c) : c.is(Tcb.SYN_RETRANSMITTED));
        c.assign(Tcb.ECN_SENDER, feedback == Feedback.ACCURATE || feedback == Feedback.CLASSIC && !plainSyn);
        if (feedback == Feedback.ACCURATE) {
            AccurateEcn.begin(c, s);
        }
    }

    /**
     * Handles a retransmitted SYN in SYN-RECEIVED, which may offer less than the first one. Returns false if the
     * connection must be reset.
     */
    static boolean onRetransmittedSyn(TcpConnection c, Segment syn) {
        if (AccurateEcn.of(c) != null) {
            return AccurateEcn.onRetransmittedSyn(c, syn);
        }
        if (c.is(Tcb.ECN) && acceptsAccurate(c.engine.config)
                && AccurateEcn.offeredFeedback(syn) == Feedback.ACCURATE) {
            // RFC 9768 section 3.1.5: the two ends might disagree about the negotiated feedback.
            return false;
        }
        c.assign(Tcb.ECN_SENDER, c.is(Tcb.ECN_SENDER) && isEcnSetup(syn));
        return true;
    }

    // ---- the receiver ----

    /** Processes the marks of a received segment (section 6.1.3). */
    static void onSegment(TcpConnection c, Segment s, long now) {
        if (!c.is(Tcb.ECN)) {
            return;
        }
        if (AccurateEcn.of(c) != null) {
            AccurateEcn.onSegment(c, s, now);
            return;
        }
        if (c.congestion.countsMarks()) {
            echoMarkChanges(c, s, now);
            return;
        }
        if (s.has(TcpFlags.CWR) && s.payloadLength > 0) {
            c.clear(Tcb.ECE_PENDING);
        }
        if (s.ecn == Segment.ECN_CE) {
            c.engine.counters.congestionMarksIn++;
            if (!c.is(Tcb.ECE_PENDING)) {
                c.set(Tcb.ECE_PENDING | Tcb.ACK_NOW);
            }
        }
    }

    /**
     * Echoes marks for DCTCP (RFC 8257 section 3.2). The ECE flag of an ACK applies to all data that it
     * acknowledges. When the mark changes, the earlier data is therefore acknowledged first, with the previous
     * flag.
     */
    private static void echoMarkChanges(TcpConnection c, Segment s, long now) {
        if (s.payloadLength == 0) {
            return;
        }
        boolean marked = s.ecn == Segment.ECN_CE;
        if (marked) {
            c.engine.counters.congestionMarksIn++;
        }
        if (marked == c.is(Tcb.ECE_PENDING)) {
            return;
        }
        if (c.lastAckSent != c.rcvNxt) {
            c.engine.replies.addAck(c, now);
        }
        c.assign(Tcb.ECE_PENDING, marked);
        c.set(Tcb.ACK_NOW);
    }

    // ---- the sender ----

    /** Processes the feedback of an ACK; called once the delivered bytes are known. */
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

    /** Returns how many of the acknowledged bytes were marked, according to the feedback so far. */
    static int pollMarkedBytes(TcpConnection c, AckSample sample) {
        return AccurateEcn.of(c) != null ? AccurateEcn.pollMarkedBytes(c, sample.ackedBytes)
                : sample.marked ? sample.ackedBytes : 0;
    }

    /** Returns whether the peer reports a mark that no window reduction has answered yet (section 6.1.2). */
    static boolean isReductionPending(TcpConnection c, AckSample sample) {
        return AccurateEcn.of(c) != null ? AccurateEcn.isReductionPending(c)
                : sample.marked && Sequence.afterOrAt(c.sndUna, c.ecnEndSeq);
    }

    /** Reduces the congestion window as for a loss. At most once per window of data (section 6.1.2). */
    static void reduce(TcpConnection c, long now) {
        c.ssthresh = c.congestion.onEcnMark(c, c.sndNxt - c.sndUna, now);
        c.cwnd = Math.min(c.cwnd, c.ssthresh);
        c.engine.counters.ecnReductions++;
        onReduction(c);
    }

    /**
     * Records that the window was reduced, by a mark or a loss. All marks reported so far count as answered, and
     * the next new data carries CWR.
     */
    static void onReduction(TcpConnection c) {
        if (AccurateEcn.of(c) != null) {
            AccurateEcn.onReduction(c);
        } else if (c.is(Tcb.ECN_SENDER)) {
            c.set(Tcb.CWR_PENDING);
            c.ecnEndSeq = c.sndNxt;
        }
    }

    /**
     * Returns whether the next new data has CWR set. Such data is not offloaded, because a device
     * with TSO sets CWR in the first segment only.
     */
    static boolean setsCwr(TcpConnection c) {
        return c.is(Tcb.CWR_PENDING) || c.is(Tcb.ECN) && AccurateEcn.setsCwr(c);
    }
}
