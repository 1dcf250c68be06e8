package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;

/**
 * More accurate feedback of ECN (RFC 9768). Each end counts the segments that come with a mark, and each segment tells
 * the count modulo 8 in AE, CWR and ECE, the ACE field. The option that counts bytes is neither sent nor read. A
 * connection has one once both ends have agreed to it.
 */
final class AccurateEcn {
    /** The ACE field. Only a SYN that asks for accurate feedback has all of them. */
    static final int FLAGS = TcpFlags.AE | TcpFlags.CWR | TcpFlags.ECE;
    private static final int ACE_SHIFT = 6;
    /** Where the field wraps (DIVACE). */
    private static final int WRAP = 8;
    /** Section 3.2.1: not 0, so that it shows when something on the path clears the field. */
    private static final int FIRST_COUNT = 5;

    // Table 2, what a SYN-ACK says beside the handshake's encoding of IP-ECN
    private static final int ACE_NONE = 0;
    private static final int ACE_CLASSIC = 1;
    private static final int ACE_CLASSIC_SYN = 3;
    private static final int ACE_RESERVED = 5;
    private static final int ACE_BROKEN = 7;
    /** Tables 2 to 4: the segment that is acknowledged came with CE. */
    private static final int ACE_CE = 6;
    /** The same: it came without ECT, as ours leave. */
    private static final int ACE_NOT_ECT = 2;

    /** Section 3.2.2.5.1: 'n', with and without data that is not acknowledged. */
    private static final int MARKS_PER_ACK = 2;
    private static final int MARKS_PER_ACK_WITHOUT_DATA = 3;
    /** The same: no acknowledgement tells of more, unless they have come in one run of merged frames. */
    private static final int MOST_MARKS_PER_ACK = 7;

    /** An average in units of 1/64. */
    private static final int AVERAGE_SHIFT = 6;
    private static final int AVERAGE_WEIGHT_SHIFT = 4;
    /** Beyond so many segments in an acknowledgement on average a long one says nothing of lost ones. */
    private static final int THINNED = 4 << AVERAGE_SHIFT;

    // ---- the receiver ----

    /** r.cep: segments that came with CE. */
    private int markedIn = FIRST_COUNT;
    /** Of them, those that no segment of ours has told of. */
    private int markedSinceAck;
    private boolean lastWasMarked;
    /** IP-ECN of the latest SYN or SYN-ACK. */
    private byte handshakeEcn;
    /** The acknowledgement of the SYN-ACK, which tells its IP-ECN, is still to be sent. */
    private boolean handshakeAckOwed;

    // ---- the sender ----

    /** s.cep: segments of ours that came with CE, as far as the peer has told. */
    private int markedOut = FIRST_COUNT;
    /** Timestamp of the last segment whose ACE field was taken. */
    private int lastTimestamp;
    private boolean hasLastTimestamp;
    /** The field of the segment at hand has been read by the handshake. */
    private boolean fieldRead;
    /** No counter has come yet. */
    private boolean firstFeedback = true;
    /** What the peer says is not to be believed (sections 3.2.2.1 and 3.2.2.4). */
    private boolean ignored;
    /** A mark was told that no reduction has answered. */
    private boolean unanswered;
    /** Told to have had marks, and not passed on to a congestion control that counts them. */
    private int markedBytes;
    /** Segments that an acknowledgement tells of, on average; 0: none has. */
    private char averageSegments;

    private AccurateEcn() {
    }

    /** Null unless both ends have agreed to it. */
    static AccurateEcn of(TcpConnection c) {
        return c.is(Tcb.ECN) && c.extras != null ? c.extras.accurateEcn : null;
    }

    private static int ace(Segment s) {
        return (s.flags & FLAGS) >>> ACE_SHIFT;
    }

    // ---- negotiation (section 3.1) ----

    /** Tables 2, 3 and 4: how a handshake tells with what IP-ECN a segment came. */
    static int handshakeFlags(int ecn) {
        return switch (ecn) {
            case Segment.ECN_ECT1 -> 3;
            case Segment.ECN_ECT0 -> 4;
            case Segment.ECN_CE -> ACE_CE;
            default -> ACE_NOT_ECT;
        } << ACE_SHIFT;
    }

    /** What a SYN asks for. Section 3.1.3: combinations that are not known yet ask for accurate feedback. */
    static Ecn.Feedback offered(Segment syn) {
        return switch (ace(syn)) {
            case ACE_NONE -> Ecn.Feedback.NONE;
            case ACE_CLASSIC_SYN -> Ecn.Feedback.CLASSIC;
            default -> Ecn.Feedback.ACCURATE;
        };
    }

    /** What a SYN-ACK agrees to (table 2). */
    static Ecn.Feedback accepted(Segment synAck) {
        return switch (ace(synAck)) {
            case ACE_NONE, ACE_BROKEN -> Ecn.Feedback.NONE;
            case ACE_CLASSIC -> Ecn.Feedback.CLASSIC;
            default -> Ecn.Feedback.ACCURATE;
        };
    }

    /** A SYN or SYN-ACK has come that settles it. */
    static void begin(TcpConnection c, Segment s) {
        AccurateEcn a = new AccurateEcn();
        c.requireExtras().accurateEcn = a;
        a.handshakeEcn = (byte) s.ecn;
        if (!s.has(TcpFlags.ACK)) {
            if (!c.is(Tcb.PASSIVE_OPEN) && Ecn.fallsBack(c)) {
                c.clear(Tcb.ECN_SENDER);
            }
            return;
        }
        a.handshakeAckOwed = true;
        if (s.ecn == Segment.ECN_CE) {
            // Section 3.2.2.2: once, however many SYN-ACKs come.
            a.markedIn++;
        }
        int ace = ace(s);
        // Section 3.2.2.3: our SYN went without ECT. Section 3.1.3: an unknown combination says the same.
        a.checkHandshake(c, ace == ACE_RESERVED ? ACE_NOT_ECT : ace);
    }

    /** Section 3.2.2.3: what went without ECT came with it, or with CE: who changes that may change other segments. */
    private void checkHandshake(TcpConnection c, int ace) {
        if (ace != ACE_NOT_ECT) {
            c.clear(Tcb.ECN_SENDER);
        }
        unanswered |= ace == ACE_CE;
    }

    /** The flags of a SYN-ACK: what the latest SYN came with, or none where SYN-ACKs that have them get no answer. */
    static int synAckFlags(TcpConnection c) {
        if (Ecn.fallsBack(c) && !c.acceptDeferred) {
            // Sections 3.2.3.2.2 and 3.1.5: the peer may take it for a refusal, so nothing is ECN-capable any more.
            c.clear(Tcb.ECN_SENDER);
            return 0;
        }
        return handshakeFlags(of(c).handshakeEcn);
    }

    /** Section 3.1.5. Returns false if the connection must be reset. */
    static boolean onSynAgain(TcpConnection c, Segment syn) {
        Ecn.Feedback wanted = offered(syn);
        if (wanted == Ecn.Feedback.NONE) {
            c.clear(Tcb.ECN_SENDER);
        }
        of(c).handshakeEcn = (byte) syn.ecn;
        return wanted != Ecn.Feedback.CLASSIC;
    }

    /** The SYN-ACK has come again, and is answered: section 3.2.2.1 wants that as the first time. */
    static void onSynAckAgain(TcpConnection c, Segment s) {
        AccurateEcn a = of(c);
        if (a != null && !c.is(Tcb.PASSIVE_OPEN) && s.has(TcpFlags.ACK) && s.seq == c.irs && s.ack == c.iss + 1
                && c.is(Tcb.ACK_NOW) && accepted(s) == Ecn.Feedback.ACCURATE) {
            a.handshakeAckOwed = true;
            if (s.ecn == Segment.ECN_CE && a.handshakeEcn != Segment.ECN_CE) {
                a.markedIn += a.markedIn == FIRST_COUNT ? 1 : 0;
            }
            a.handshakeEcn = (byte) s.ecn;
        }
    }

    /** The handshake is complete by this segment. */
    static void onEstablished(TcpConnection c, Segment s, long now) {
        AccurateEcn a = of(c);
        if (a == null) {
            return;
        }
        if (!s.has(TcpFlags.SYN) && s.payloadLength == 0 && s.sackCount == 0) {
            a.readHandshakeAck(c, ace(s));
        }
        if (a.unanswered) {
            Ecn.reduce(c, now);
        }
    }

    /** Table 4. Our SYN-ACK went without ECT. */
    private void readHandshakeAck(TcpConnection c, int ace) {
        fieldRead = true;
        switch (ace) {
            case ACE_NONE -> disbelieve(c);
            case ACE_CLASSIC, ACE_RESERVED, ACE_BROKEN -> {
                // Unused as yet: nothing follows.
            }
            default -> {
                checkHandshake(c, ace);
                markedOut += ace == ACE_CE ? 1 : 0;
            }
        }
    }

    /** Sections 3.2.2.1 and 3.2.2.4: the peer does not count, or something clears the field. */
    private void disbelieve(TcpConnection c) {
        c.clear(Tcb.ECN_SENDER);
        ignored = true;
    }

    /**
     * Section 5.1: the acknowledgement of a SYN cookie reminds the server of what it has agreed to. Where that is lost,
     * data does too: AE has no other meaning.
     */
    static boolean provesAgreement(Segment ack) {
        return ack.payloadLength == 0 && ack.sackCount == 0 ? ace(ack) > ACE_CLASSIC : ack.has(TcpFlags.AE);
    }

    // ---- the receiver (sections 3.2.2.2 and 3.2.2.5.1) ----

    /** An acceptable segment has come. */
    static void onSegment(TcpConnection c, Segment s, long now) {
        AccurateEcn a = of(c);
        boolean marked = s.ecn == Segment.ECN_CE;
        if (marked) {
            int count = s.segmentCount();
            c.engine.counters.congestionMarksIn += count;
            if (a.markedSinceAck > 0 && a.markedSinceAck + count > MOST_MARKS_PER_ACK && c.lastAckSent != c.rcvNxt) {
                // In one burst, which is answered once.
                c.engine.replies.acknowledge(c, now);
            }
            a.markedIn += count;
            a.markedSinceAck += count;
            boolean data = s.payloadLength > 0 || c.lastAckSent != c.rcvNxt;
            if (s.payloadLength > 0 && !a.lastWasMarked
                    || a.markedSinceAck >= (data ? MARKS_PER_ACK : MARKS_PER_ACK_WITHOUT_DATA)) {
                c.set(Tcb.ACK_NOW);
            }
        }
        a.lastWasMarked = marked;
    }

    static boolean owesHandshakeAck(TcpConnection c) {
        AccurateEcn a = of(c);
        return a != null && a.handshakeAckOwed;
    }

    /** Fills in the ACE field. Returns whether it is that of the handshake, which SACK blocks must not go with. */
    static boolean write(TcpConnection c, Segment out) {
        AccurateEcn a = of(c);
        if (a == null) {
            return false;
        }
        if (a.handshakeAckOwed) {
            a.handshakeAckOwed = false;
            out.flags |= handshakeFlags(a.handshakeEcn);
            return true;
        }
        a.markedSinceAck = 0;
        out.flags |= a.field();
        return false;
    }

    private int field() {
        return (markedIn & WRAP - 1) << ACE_SHIFT;
    }

    /** After the acknowledgement of the SYN-ACK: whether there is more to tell than fitted into it. */
    static boolean wantsAnotherAck(TcpConnection c) {
        return of(c).markedSinceAck > 0 || c.reassembly != null;
    }

    static boolean setsCwr(TcpConnection c) {
        AccurateEcn a = of(c);
        return a != null && (a.field() & TcpFlags.CWR) != 0;
    }

    // ---- the sender (sections 3.2.2.2 and 3.2.2.5.2) ----

    /** The same as {@link #onAck} while nothing is in flight. */
    static void onAckWhileIdle(TcpConnection c, Segment s) {
        if (of(c) != null) {
            c.engine.sample.reset(0);
            onAck(c, s, c.engine.sample);
        }
    }

    /** Takes in the ACE field of a segment; {@code sample} knows what that acknowledges. */
    static void onAck(TcpConnection c, Segment s, AckSample sample) {
        AccurateEcn a = of(c);
        if (a.fieldRead || s.has(TcpFlags.SYN)) {
            a.fieldRead = false;
            a.noteTimestamp(c, s);
            return;
        }
        a.noteLength(sample.deliveredSegments);
        if (a.isSuperseded(c, s, sample)) {
            return;
        }
        a.noteTimestamp(c, s);
        int ace = ace(s);
        if (a.firstFeedback && ace == 0) {
            a.disbelieve(c);
        }
        a.firstFeedback = false;
        int marks = a.newMarks(ace, sample.deliveredSegments);
        a.markedOut += marks;
        if (marks > 0 && !a.ignored) {
            a.onMarks(c, sample, marks);
        }
    }

    /** Appendix A.1: whether another segment has come before that was sent later. */
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

    private void noteTimestamp(TcpConnection c, Segment s) {
        if (s.timestamps && c.is(Tcb.TIMESTAMPS)) {
            hasLastTimestamp = true;
            lastTimestamp = s.tsValue;
        }
    }

    private void noteLength(int segments) {
        if (segments > 0) {
            int value = Math.min(segments, 0xFFFF >>> AVERAGE_SHIFT) << AVERAGE_SHIFT;
            averageSegments = (char) (averageSegments == 0 ? value
                    : averageSegments + (value - averageSegments >> AVERAGE_WEIGHT_SHIFT));
        }
    }

    /**
     * Appendix A.2.1: how much the counter has grown. Where the acknowledgements before may be lost, as many segments
     * had marks as can have had. A peer whose acknowledgements mostly tell of many has lost none, but sends few.
     */
    private int newMarks(int ace, int segments) {
        int least = ace - markedOut & WRAP - 1;
        if (segments < WRAP || averageSegments > THINNED) {
            return least;
        }
        return segments - (segments - least) % WRAP;
    }

    private void onMarks(TcpConnection c, AckSample sample, int marks) {
        sample.marked = true;
        c.engine.counters.congestionMarksEchoed += marks;
        // Appendix A.3
        int bytes = marks * (sample.deliveredSegments > 0 ? sample.deliveredBytes / sample.deliveredSegments
                : c.sndMss);
        markedBytes = Math.min(markedBytes + bytes, c.sndNxt - c.sndUna + sample.ackedBytes);
        c.requireExtras().deliveredMarkedBytes += bytes;
        // What was sent before the last reduction has its answer (RFC 3168 section 6.1.2).
        unanswered |= Sequence.after(c.sndUna, c.ecnEndSeq) || c.sndUna == c.ecnEndSeq && sample.ackedBytes == 0;
    }

    /** Of bytes newly acknowledged, those with marks. Marks on what was reported by SACK wait for it. */
    static int takeMarkedBytes(TcpConnection c, int ackedBytes) {
        AccurateEcn a = of(c);
        int taken = Math.min(ackedBytes, a.markedBytes);
        a.markedBytes -= taken;
        return taken;
    }

    static boolean owesReduction(TcpConnection c) {
        return of(c).unanswered;
    }

    static void onReduction(TcpConnection c) {
        of(c).unanswered = false;
        c.ecnEndSeq = c.sndNxt;
    }
}
