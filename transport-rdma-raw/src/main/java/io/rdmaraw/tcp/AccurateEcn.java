package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;

/**
 * More accurate ECN feedback (RFC 9768). Each end counts the segments that it receives with a CE mark. Every
 * segment that it sends carries this count modulo 8 in the bits AE, CWR and ECE, which together form the ACE
 * field. {@link AccEcnOption} counts bytes.
 *
 * <p>A connection has an instance only if both ends have negotiated accurate feedback.
 */
final class AccurateEcn {
    /** All bits of the ACE field. Only a SYN that offers accurate feedback sets all three. */
    static final int ACE_FLAGS = TcpFlags.AE | TcpFlags.CWR | TcpFlags.ECE;
    private static final int ACE_SHIFT = 6;
    /** Modulus of the ACE field (DIVACE). */
    private static final int ACE_MODULUS = 8;
    /**
     * Initial value of both counters. It is not 0, so that a path that clears the field can be detected (section
     * 3.2.1).
     */
    private static final int INITIAL_COUNT = 5;

    // Table 2: values of a SYN-ACK other than those that echo IP-ECN
    private static final int ACE_NONE = 0;
    private static final int ACE_CLASSIC = 1;
    private static final int ACE_CLASSIC_SYN = 3;
    private static final int ACE_RESERVED = 5;
    private static final int ACE_BROKEN = 7;
    /** Tables 2 to 4: the acknowledged segment arrived with CE. */
    private static final int ACE_CE = 6;
    /** Tables 2 to 4: the acknowledged segment arrived without ECT, as it was sent. */
    private static final int ACE_NOT_ECT = 2;

    /** Section 3.2.2.5.1: an ACK is due after n marks. n is smaller while received data is unacknowledged. */
    private static final int MARKS_PER_ACK = 2;
    private static final int MARKS_PER_ACK_WITHOUT_DATA = 3;
    /** Maximum number of marks per ACK (section 3.2.2.5.1). Only a run of merged frames may exceed it. */
    private static final int MAX_MARKS_PER_ACK = 7;

    /** {@link #averageSegments} is fixed-point, in units of 1/64 segment. */
    private static final int AVERAGE_SHIFT = 6;
    private static final int AVERAGE_WEIGHT_SHIFT = 4;
    /**
     * If ACKs cover more segments than this on average, the peer thins its ACKs. An ACK that covers many segments
     * is then no sign that earlier ACKs were lost.
     */
    private static final int THINNED_ACK_SEGMENTS = 4 << AVERAGE_SHIFT;

    /**
     * Consecutive timeouts after which ACKs and retransmissions are sent without ECT, because the path may drop ECT.
     */
    private static final int ECT_TIMEOUTS = 2;
    /** Number of repeated SYN-ACKs that have the same consequence: the server has received none of our ACKs. */
    private static final int ECT_SYN_ACKS = 2;

    final AccEcnOption option;

    // ---- the receiver ----

    /** r.cep: number of segments received with CE. */
    private int receivedCeMarks = INITIAL_COUNT;
    /** CE marks received since the last segment that carried the ACE counter. */
    private int ceMarksSinceAck;
    private boolean lastWasMarked;
    /** IP-ECN codepoint of the latest SYN or SYN-ACK. */
    private byte handshakeEcn;
    /** The ACK of the SYN-ACK, which echoes its IP-ECN codepoint, has not been sent yet. */
    private boolean handshakeAckPending;
    private byte repeatedSynAcks;
    /** The last segment sent had a D-SACK block, which began at {@link #reportedDuplicate}. */
    private boolean sentWithDsack;
    private int reportedDuplicate;

    // ---- the sender ----

    /** ACKs and retransmissions are sent without ECT from now on. New data keeps it, because its loss is detected. */
    private boolean ectOnNewDataOnly;
    /** s.cep: number of our segments that arrived with CE, according to the peer. */
    private int echoedCeMarks = INITIAL_COUNT;
    /** Timestamp of the last segment with an ACE field that was used. */
    private int lastTimestamp;
    private boolean hasLastTimestamp;
    /** The handshake has already read the ACE field of the current segment. */
    private boolean aceFieldRead;
    /** No ACE counter has been received yet. */
    private boolean firstFeedback = true;
    /** The peer's feedback is not reliable and is ignored (sections 3.2.2.1 and 3.2.2.4). */
    private boolean feedbackIgnored;
    /** The peer has reported a mark that no window reduction has answered yet. */
    private boolean reductionPending;
    /** Bytes reported as marked that {@link #pollMarkedBytes} has not returned yet. */
    private int markedBytes;
    /** Average number of segments that an ACK delivers, see {@link #AVERAGE_SHIFT}; 0 before the first sample. */
    private char averageSegments;

    private AccurateEcn(TcpConfig config) {
        option = new AccEcnOption(config.accEcnOption);
    }

    /** Returns the state of a connection, or null if accurate feedback was not negotiated. */
    static AccurateEcn of(TcpConnection c) {
        return c.is(Tcb.ECN) && c.extras != null ? c.extras.accurateEcn : null;
    }

    private static int ace(Segment s) {
        return (s.flags & ACE_FLAGS) >>> ACE_SHIFT;
    }

    // ---- negotiation (section 3.1) ----

    /** Returns the flags with which a handshake segment echoes a received IP-ECN codepoint (tables 2, 3 and 4). */
    static int handshakeFlags(int ecn) {
        return switch (ecn) {
            case Segment.ECN_ECT1 -> 3;
            case Segment.ECN_ECT0 -> 4;
            case Segment.ECN_CE -> ACE_CE;
            default -> ACE_NOT_ECT;
        } << ACE_SHIFT;
    }

    /**
     * Returns the feedback that a SYN offers. Combinations not defined yet count as an offer of accurate feedback
     * (section 3.1.3).
     */
    static Ecn.Feedback offeredFeedback(Segment syn) {
        return switch (ace(syn)) {
            case ACE_NONE -> Ecn.Feedback.NONE;
            case ACE_CLASSIC_SYN -> Ecn.Feedback.CLASSIC;
            default -> Ecn.Feedback.ACCURATE;
        };
    }

    /** Returns the feedback that a SYN-ACK accepts (table 2). */
    static Ecn.Feedback acceptedFeedback(Segment synAck) {
        return switch (ace(synAck)) {
            case ACE_NONE, ACE_BROKEN -> Ecn.Feedback.NONE;
            case ACE_CLASSIC -> Ecn.Feedback.CLASSIC;
            default -> Ecn.Feedback.ACCURATE;
        };
    }

    /** Starts accurate feedback on the SYN or SYN-ACK that completes the negotiation. */
    static void begin(TcpConnection c, Segment s) {
        AccurateEcn a = new AccurateEcn(c.engine.config);
        c.requireExtras().accurateEcn = a;
        a.handshakeEcn = (byte) s.ecn;
        if (!s.has(TcpFlags.ACK)) {
            // Section 3.2.3.2.1: an option on a SYN is ignored.
            if (!c.is(Tcb.PASSIVE_OPEN) && Ecn.fallsBack(c)) {
                c.clear(Tcb.ECN_SENDER);
            }
            return;
        }
        a.option.detect(c, s);
        a.handshakeAckPending = true;
        if (s.ecn == Segment.ECN_CE) {
            // Section 3.2.2.2: a mark on the SYN-ACK counts once, even if several SYN-ACKs arrive.
            a.receivedCeMarks++;
        }
        int ace = ace(s);
        // Section 3.2.2.3: our SYN was sent without ECT. Section 3.1.3: an unknown combination means that it
        // arrived so.
        a.checkHandshake(c, ace == ACE_RESERVED ? ACE_NOT_ECT : ace);
    }

    /**
     * Checks the echo of a segment that was sent without ECT (section 3.2.2.3). If the echo differs, the path
     * rewrites the ECN field, so later segments are sent without ECT. An echoed CE also reduces the window.
     */
    private void checkHandshake(TcpConnection c, int ace) {
        if (ace != ACE_NOT_ECT) {
            c.clear(Tcb.ECN_SENDER);
        }
        reductionPending |= ace == ACE_CE;
    }

    /**
     * Returns the flags of a SYN-ACK. They echo the IP-ECN codepoint of the latest SYN; a SYN-ACK that falls back
     * after retransmissions has none.
     */
    static int synAckFlags(TcpConnection c) {
        if (Ecn.fallsBack(c) && !c.acceptDeferred) {
            // Sections 3.2.3.2.2 and 3.1.5: the peer may read such a SYN-ACK as a refusal, so no segment is sent
            // with ECT.
            c.clear(Tcb.ECN_SENDER);
            return 0;
        }
        return handshakeFlags(of(c).handshakeEcn);
    }

    /** Handles a retransmitted SYN (section 3.1.5). Returns false if the connection must be reset. */
    static boolean onRetransmittedSyn(TcpConnection c, Segment syn) {
        Ecn.Feedback wanted = offeredFeedback(syn);
        if (wanted == Ecn.Feedback.NONE) {
            c.clear(Tcb.ECN_SENDER);
        }
        of(c).handshakeEcn = (byte) syn.ecn;
        return wanted != Ecn.Feedback.CLASSIC;
    }

    /**
     * Handles a retransmitted SYN-ACK. The ACK that answers it must echo the IP-ECN codepoint again (section
     * 3.2.2.1).
     */
    static void onRetransmittedSynAck(TcpConnection c, Segment s) {
        AccurateEcn a = of(c);
        if (a != null && !c.is(Tcb.PASSIVE_OPEN) && s.has(TcpFlags.ACK) && s.seq == c.irs && s.ack == c.iss + 1
                && c.is(Tcb.ACK_NOW)) {
            a.handshakeAckPending = true;
            a.repeatedSynAcks = (byte) Math.min(ECT_SYN_ACKS, a.repeatedSynAcks + 1);
            a.ectOnNewDataOnly |= a.repeatedSynAcks == ECT_SYN_ACKS;
            a.option.detect(c, s);
            if (s.ecn == Segment.ECN_CE && a.handshakeEcn != Segment.ECN_CE) {
                a.receivedCeMarks += a.receivedCeMarks == INITIAL_COUNT ? 1 : 0;
            }
            a.handshakeEcn = (byte) s.ecn;
        }
    }

    /** Handles the segment that completes the handshake. */
    static void onEstablished(TcpConnection c, Segment s, long now) {
        AccurateEcn a = of(c);
        if (a == null) {
            return;
        }
        if (!s.has(TcpFlags.SYN) && s.payloadLength == 0 && s.sackCount == 0) {
            a.readHandshakeAck(c, ace(s));
        }
        if (a.reductionPending) {
            Ecn.reduce(c, now);
        }
    }

    /** Reads the ACE field of the ACK that completes the handshake (table 4). Our SYN-ACK was sent without ECT. */
    private void readHandshakeAck(TcpConnection c, int ace) {
        aceFieldRead = true;
        switch (ace) {
            case ACE_NONE -> ignoreFeedback(c);
            case ACE_CLASSIC, ACE_RESERVED, ACE_BROKEN -> {
                // Reserved values: ignored.
            }
            default -> {
                checkHandshake(c, ace);
                echoedCeMarks += ace == ACE_CE ? 1 : 0;
            }
        }
    }

    /**
     * Ignores the peer's feedback from now on: the peer does not count, or the path clears the field (sections
     * 3.2.2.1 and 3.2.2.4).
     */
    private void ignoreFeedback(TcpConnection c) {
        c.clear(Tcb.ECN_SENDER);
        feedbackIgnored = true;
    }

    /**
     * Returns whether the ACK that answers a SYN cookie shows that the server had accepted accurate feedback
     * (section 5.1). If this ACK is lost, the first data segment shows it by AE, which has no other meaning.
     */
    static boolean confirmsAccurateEcn(Segment ack) {
        return ack.payloadLength == 0 && ack.sackCount == 0 ? ace(ack) > ACE_CLASSIC : ack.has(TcpFlags.AE);
    }

    // ---- the receiver (sections 3.2.2.2 and 3.2.2.5.1) ----

    /** Counts the mark of an acceptable segment and decides whether an ACK is due. */
    static void onSegment(TcpConnection c, Segment s, long now) {
        AccurateEcn a = of(c);
        boolean marked = s.ecn == Segment.ECN_CE;
        if (marked) {
            int count = s.segmentCount();
            c.engine.counters.congestionMarksIn += count;
            if (a.ceMarksSinceAck > 0 && a.ceMarksSinceAck + count > MAX_MARKS_PER_ACK && c.lastAckSent != c.rcvNxt) {
                // The whole burst gets one ACK, so an ACK with the present count is sent before the field can
                // wrap.
                c.engine.replies.addAck(c, now);
            }
            a.receivedCeMarks += count;
            a.ceMarksSinceAck += count;
            boolean data = s.payloadLength > 0 || c.lastAckSent != c.rcvNxt;
            if (s.payloadLength > 0 && !a.lastWasMarked
                    || a.ceMarksSinceAck >= (data ? MARKS_PER_ACK : MARKS_PER_ACK_WITHOUT_DATA)) {
                c.set(Tcb.ACK_NOW);
            }
        }
        a.lastWasMarked = marked;
        a.option.count(s);
    }

    /**
     * Handles duplicate data. If the last segment sent had a D-SACK for the same data, that segment was lost. The path
     * may drop ECT or the option, so ACKs have neither from then on (section 3.2.3.2.2). A keepalive repeats the last
     * byte and shows no loss.
     */
    static void onDuplicate(TcpConnection c, int start, int end) {
        AccurateEcn a = of(c);
        boolean keepAlive = end == c.rcvNxt && end - start == 1;
        if (a != null && a.sentWithDsack && start == a.reportedDuplicate && !keepAlive) {
            a.ectOnNewDataOnly = true;
            a.option.onAckLost();
        }
    }

    static boolean hasPendingHandshakeAck(TcpConnection c) {
        AccurateEcn a = of(c);
        return a != null && a.handshakeAckPending;
    }

    /**
     * Sets ECT and the ACE field of a segment. Returns true if the field holds the handshake's echo; such a segment
     * must not carry SACK blocks.
     */
    static boolean write(TcpConnection c, Segment out) {
        AccurateEcn a = of(c);
        if (a == null) {
            return false;
        }
        a.ectOnNewDataOnly |= c.state.isSynchronized()
                && (c.unansweredTimeouts >= ECT_TIMEOUTS || c.keepAliveProbesSent > ECT_TIMEOUTS);
        if (c.is(Tcb.ECN_SENDER) && c.is(Tcb.SACK) && !a.ectOnNewDataOnly) {
            // Also ACKs and retransmissions, as on Linux. Without SACK, the peer's ACKs of marked ACKs look like
            // duplicate ACKs.
            out.ecn = Segment.ECN_ECT0;
        }
        a.sentWithDsack = c.is(Tcb.DSACK_PENDING) && !a.handshakeAckPending;
        a.reportedDuplicate = a.sentWithDsack ? c.extras.dsackStart : 0;
        if (a.handshakeAckPending) {
            a.handshakeAckPending = false;
            out.flags |= handshakeFlags(a.handshakeEcn);
            return true;
        }
        a.ceMarksSinceAck = 0;
        out.flags |= a.field();
        return false;
    }

    private int field() {
        return (receivedCeMarks & ACE_MODULUS - 1) << ACE_SHIFT;
    }

    /**
     * Returns whether a second ACK must follow the ACK of the SYN-ACK, because that one could carry neither the
     * counter nor SACK blocks.
     */
    static boolean needsSecondAck(TcpConnection c) {
        return of(c).ceMarksSinceAck > 0 || c.reassembly != null;
    }

    static boolean setsCwr(TcpConnection c) {
        AccurateEcn a = of(c);
        return a != null && (a.field() & TcpFlags.CWR) != 0;
    }

    // ---- the sender (sections 3.2.2.2 and 3.2.2.5.2) ----

    /** Like {@link #onAck}, for a connection with nothing in flight. */
    static void onAckWhileIdle(TcpConnection c, Segment s) {
        if (of(c) != null) {
            c.engine.ackSample.reset(0);
            onAck(c, s, c.engine.ackSample);
        }
    }

    /** Reads the ACE field of a segment. {@code sample} describes the data that the segment acknowledges. */
    static void onAck(TcpConnection c, Segment s, AckSample sample) {
        AccurateEcn a = of(c);
        a.option.detect(c, s);
        if (a.aceFieldRead || s.has(TcpFlags.SYN)) {
            a.aceFieldRead = false;
            a.recordTimestamp(c, s);
            return;
        }
        a.updateAverageSegments(sample.deliveredSegments);
        if (a.isSuperseded(c, s, sample)) {
            return;
        }
        a.recordTimestamp(c, s);
        int ace = ace(s);
        if (a.firstFeedback && ace == 0) {
            a.ignoreFeedback(c);
        }
        a.firstFeedback = false;
        int reportedBytes = a.option.onAck(s);
        int marks = a.newMarks(ace, sample.deliveredSegments, reportedBytes, c.sndMss);
        a.echoedCeMarks += marks;
        if (marks > 0 && !a.feedbackIgnored) {
            a.onMarks(c, sample, marks, reportedBytes);
        }
    }

    /** Returns whether a segment that the peer sent after this one was already processed (appendix A.1). */
    private boolean isSuperseded(TcpConnection c, Segment s, AckSample sample) {
        if (sample.ackedBytes > 0) {
            return false;
        }
        if (Sequence.before(s.ack, c.sndUna)) {
            return true;
        }
        if (!s.timestamps || !hasLastTimestamp || s.tsValue == lastTimestamp) {
            return !sample.newlySacked;
        }
        return Sequence.before(s.tsValue, lastTimestamp);
    }

    private void recordTimestamp(TcpConnection c, Segment s) {
        if (s.timestamps && c.is(Tcb.TIMESTAMPS)) {
            hasLastTimestamp = true;
            lastTimestamp = s.tsValue;
        }
    }

    private void updateAverageSegments(int segments) {
        if (segments > 0) {
            int value = Math.min(segments, 0xFFFF >>> AVERAGE_SHIFT) << AVERAGE_SHIFT;
            averageSegments = (char) (averageSegments == 0 ? value
                    : averageSegments + (value - averageSegments >> AVERAGE_WEIGHT_SHIFT));
        }
    }

    /**
     * Returns by how much the peer's counter has grown (appendix A.2.1). If ACKs may have been lost, the field
     * may have wrapped; the largest possible growth is assumed then. If the peer thins its ACKs, no loss is
     * assumed. With a report, the field has wrapped if the reported bytes exceed that many full-sized segments
     * (appendix A.2.2).
     */
    private int newMarks(int ace, int segments, int reportedBytes, int mss) {
        int minGrowth = ace - echoedCeMarks & ACE_MODULUS - 1;
        if (segments < ACE_MODULUS) {
            return minGrowth;
        }
        boolean wrapped = reportedBytes == AccEcnOption.NO_REPORT ? averageSegments <= THINNED_ACK_SEGMENTS
                : reportedBytes > minGrowth * mss;
        return wrapped ? segments - (segments - minGrowth) % ACE_MODULUS : minGrowth;
    }

    private void onMarks(TcpConnection c, AckSample sample, int marks, int reportedBytes) {
        c.engine.counters.congestionMarksEchoed += marks;
        int maxBytes = c.sndNxt - c.sndUna + sample.ackedBytes;
        // Appendix A.3: without a report, estimates the marked bytes from the mean segment size.
        int bytes = option.takeMarkedBytes(reportedBytes != AccEcnOption.NO_REPORT,
                (int) Math.min(maxBytes, (long) marks * (sample.deliveredSegments > 0
                        ? sample.deliveredBytes / sample.deliveredSegments : c.sndMss)));
        if (bytes == 0 && reportedBytes <= 0) {
            // Only ACKs were marked. They say nothing about the path of the data.
            return;
        }
        sample.marked = true;
        markedBytes = (int) Math.min((long) markedBytes + bytes, maxBytes);
        c.requireExtras().deliveredMarkedBytes += bytes;
        // Marks on data sent before the last reduction are already answered (RFC 3168 section 6.1.2).
        reductionPending |= Sequence.after(c.sndUna, c.ecnEndSeq) || c.sndUna == c.ecnEndSeq && sample.ackedBytes == 0;
    }

    /**
     * Returns how many of the newly acknowledged bytes were marked, and subtracts them. Marks on data that so far
     * is only SACKed are kept until it is acknowledged.
     */
    static int pollMarkedBytes(TcpConnection c, int ackedBytes) {
        AccurateEcn a = of(c);
        int ackedMarkedBytes = Math.min(ackedBytes, a.markedBytes);
        a.markedBytes -= ackedMarkedBytes;
        return ackedMarkedBytes;
    }

    static boolean isReductionPending(TcpConnection c) {
        return of(c).reductionPending;
    }

    static void onReduction(TcpConnection c) {
        of(c).reductionPending = false;
        c.ecnEndSeq = c.sndNxt;
    }
}
