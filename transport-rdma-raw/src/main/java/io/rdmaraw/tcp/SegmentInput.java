package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;

import static io.rdmaraw.tcp.TcpState.*;

/**
 * An arriving segment for a connection past SYN-SENT: RFC 9293 section 3.10.7.4, check by check, with the refinements
 * of RFC 5961 and RFC 7323.
 */
final class SegmentInput {
    /** RFC 7323 section 5.5: after 24 days without a segment the last timestamp says nothing. */
    private static final long TS_RECENT_VALID_NANOS = 24L * 86_400 * 1_000_000_000;
    private static final int ORDINARY = TcpFlags.ACK | TcpFlags.PSH | TcpFlags.ECE | TcpFlags.CWR | TcpFlags.AE;

    private SegmentInput() {
    }

    static void process(TcpConnection c, Segment s, long now) {
        if (c.state == SYN_SENT) {
            Handshake.onSegmentInSynSent(c, s, now);
            return;
        }
        // First: sequence number, preceded by PAWS.
        if (!pawsAccepts(c, s, now)) {
            return;
        }
        boolean acceptable = isAcceptable(c, s, now);
        if (!acceptable && !probesClosedWindow(c, s)) {
            return;
        }
        if ((s.flags & ~ORDINARY) != 0 || !s.has(TcpFlags.ACK)) {
            if (!checkControlBits(c, s, now)) {
                return;
            }
        }
        // Fifth: ACK. Nothing of the segment is believed before its ACK field is.
        if (c.state == SYN_RECEIVED && !Handshake.onAckInSynReceived(c, s, now)) {
            return;
        }
        if (!AckInput.process(c, s, now)) {
            return;
        }
        if (c.is(Tcb.FIN_SENT) && c.sndUna == c.sndNxt && !onFinAcknowledged(c, now)) {
            return;
        }
        Ecn.onSegment(c, s, now);
        // Sixth: urgent data is delivered in line, like all other (RFC 6093). Seventh: text. Eighth: FIN.
        if (acceptable && (s.payloadLength > 0 || s.has(TcpFlags.FIN))) {
            // The text of a SYN, that of a simultaneous open, begins behind it.
            int syn = s.has(TcpFlags.SYN) ? 1 : 0;
            s.seq += syn;
            DataInput.process(c, s, now);
            s.seq -= syn;
        }
        if (c.state != CLOSED) {
            c.lastReceiveNanos = now;
            c.keepAliveProbesSent = 0;
        }
    }

    /** RFC 7323 section 5.3 R1. A segment without the option is taken all the same, as deployed stacks do. */
    private static boolean pawsAccepts(TcpConnection c, Segment s, long now) {
        if (!s.timestamps || !c.is(Tcb.TIMESTAMPS) || !c.is(Tcb.TS_RECENT_VALID)
                || Sequence.afterOrAt(s.tsValue, c.tsRecent) || s.has(TcpFlags.RST)) {
            return true;
        }
        if (now - c.tsRecentNanos > TS_RECENT_VALID_NANOS) {
            return true;
        }
        c.engine.counters.pawsDrops += s.segmentCount();
        if (s.payloadLength > 0 && Sequence.beforeOrAt(s.seq + s.payloadLength, c.rcvNxt)) {
            DataInput.reportDuplicate(c, s.seq, s.seq + s.payloadLength);
        }
        answerUnacceptable(c, s, now);
        return false;
    }

    /**
     * RFC 9293 section 3.4, the acceptability test; a segment that ends at RCV.NXT or begins at the right edge is let
     * through for the sake of its ACK (section 3.10.7.4 asks for that allowance where the window is closed).
     */
    private static boolean isAcceptable(TcpConnection c, Segment s, long now) {
        int end = s.seq + s.sequenceLength();
        if (c.state == SYN_RECEIVED && s.has(TcpFlags.SYN) && !s.has(TcpFlags.RST) && s.seq == c.irs) {
            if (!s.has(TcpFlags.ACK)) {
                // The peer's SYN again, perhaps with data that was not taken: our SYN-ACK was lost.
                if (Ecn.onSynAgain(c, s)) {
                    c.set(Tcb.SYN_DUE);
                } else {
                    c.engine.abort(c, CloseReason.ABORTED);
                }
                return false;
            }
            if (Handshake.onSynInSynReceived(c, s)) {
                return true;
            }
        }
        boolean acceptable = s.has(TcpFlags.RST)
                ? Sequence.between(c.rcvNxt, s.seq, c.rcvAdv) || isResetOfFin(c, s)
                : Sequence.afterOrAt(end, c.rcvNxt) && Sequence.beforeOrAt(s.seq, c.rcvAdv);
        // What takes sequence space must bring something new that fits.
        if (acceptable && end != s.seq && !s.has(TcpFlags.RST)) {
            acceptable = Sequence.after(end, c.rcvNxt) && Sequence.before(s.seq, c.rcvAdv);
        }
        if (acceptable) {
            return true;
        }
        if (s.has(TcpFlags.RST)) {
            c.engine.counters.blindAttackSegments++;
            return false;
        }
        onUnacceptable(c, s, end, now);
        return false;
    }

    /**
     * RFC 9293 section 3.10.7.4: with the window closed no data is acceptable, but the ACK field of a probe is: both
     * ends may be probing at once. The answer is due already.
     */
    private static boolean probesClosedWindow(TcpConnection c, Segment s) {
        return c.rcvAdv == c.rcvNxt && s.seq == c.rcvNxt && c.state.synchronizedState()
                && (s.flags & (TcpFlags.ACK | TcpFlags.SYN | TcpFlags.RST)) == TcpFlags.ACK;
    }

    private static void onUnacceptable(TcpConnection c, Segment s, int end, long now) {
        if (s.payloadLength > 0 && Sequence.beforeOrAt(end, c.rcvNxt)) {
            c.engine.counters.duplicateSegments += s.segmentCount();
            DataInput.reportDuplicate(c, s.seq, s.seq + s.payloadLength);
        } else {
            c.engine.counters.unacceptableSegments += s.segmentCount();
        }
        // An old segment may still carry a current acknowledgement, as when both ends send at once and one segment is
        // repeated; Linux takes it from there too, after the answer.
        answerUnacceptable(c, s, now);
        if (s.has(TcpFlags.SYN) && c.is(Tcb.ECN)) {
            AccurateEcn.onSynAckAgain(c, s);
        }
    }

    /** Data that doesn't fit is answered always: the sender waits for it. A bare ACK only so often. */
    private static void answerUnacceptable(TcpConnection c, Segment s, long now) {
        if (s.payloadLength > 0 || s.has(TcpFlags.FIN)) {
            AckPolicy.onDisorder(c);
        } else {
            AckPolicy.challenge(c, now);
        }
    }

    /** Second: RST. Fourth: SYN. Returns false if nothing is left to do. */
    private static boolean checkControlBits(TcpConnection c, Segment s, long now) {
        if (s.has(TcpFlags.RST)) {
            onReset(c, s, now);
            return false;
        }
        if (s.has(TcpFlags.SYN)) {
            if (c.state == SYN_RECEIVED && Handshake.onSynInSynReceived(c, s)) {
                return true;
            }
            // RFC 5961 section 4.2: a SYN in a synchronized state earns a challenge ACK and nothing else.
            c.engine.counters.blindAttackSegments++;
            AckPolicy.challenge(c, now);
            return false;
        }
        // Without ACK a segment means nothing here.
        return s.has(TcpFlags.ACK);
    }

    /** A peer that is killed after its FIN resets with the number of the FIN (macOS; Linux: tcp_reset_check). */
    private static boolean isResetOfFin(TcpConnection c, Segment s) {
        return s.seq == c.rcvNxt - 1 && (c.state == CLOSE_WAIT || c.state == LAST_ACK || c.state == CLOSING);
    }

    /**
     * RFC 5961 section 3.2 knows RCV.NXT alone. As Linux does, two more numbers count that a peer's RST has and that
     * are as hard to guess: that of its FIN, and the one behind all that was SACKed.
     */
    private static boolean isExactReset(TcpConnection c, Segment s) {
        return s.seq == c.rcvNxt || isResetOfFin(c, s)
                || c.reassembly != null && c.is(Tcb.SACK) && s.seq == c.reassembly.ranges().lastEnd();
    }

    private static void onReset(TcpConnection c, Segment s, long now) {
        if (!isExactReset(c, s)) {
            // One in the window is asked to prove itself.
            c.engine.counters.blindAttackSegments++;
            AckPolicy.challenge(c, now);
            return;
        }
        c.engine.counters.resetsIn++;
        if (c.state == SYN_RECEIVED && c.is(Tcb.PASSIVE_OPEN)) {
            // RFC 9293 section 3.10.7.4: back to LISTEN; the user hears nothing.
            c.engine.finish(c, CloseReason.RESET_BY_PEER, CLOSED);
            return;
        }
        boolean done = c.state == CLOSING || c.state == LAST_ACK && c.queuedBytes() == 0;
        c.engine.finish(c, c.state == SYN_RECEIVED ? CloseReason.REFUSED
                : done ? CloseReason.FINISHED : CloseReason.RESET_BY_PEER, CLOSED);
    }

    /**
     * RFC 7323 section 4.3: the timestamp to echo is that of the earliest unacknowledged segment. Section 5.3 has this
     * before the ACK is looked at; but who guesses a sequence number and no ACK could then make PAWS drop all that the
     * peer sends. So it comes after RFC 5961 section 5.2, as in Linux (tcp_ack).
     */
    static void updateTsRecent(TcpConnection c, Segment s, long now) {
        if (s.timestamps && c.is(Tcb.TIMESTAMPS) && Sequence.beforeOrAt(s.seq, c.lastAckSent)
                && (Sequence.afterOrAt(s.tsValue, c.tsRecent) || !c.is(Tcb.TS_RECENT_VALID)
                        || now - c.tsRecentNanos > TS_RECENT_VALID_NANOS)) {
            c.tsRecent = s.tsValue;
            c.tsRecentNanos = now;
            c.set(Tcb.TS_RECENT_VALID);
        }
    }

    /** RFC 9293 section 3.10.7.4, fifth check, for the states after our FIN. Returns false if the connection ended. */
    private static boolean onFinAcknowledged(TcpConnection c, long now) {
        switch (c.state) {
            case FIN_WAIT_1 -> {
                c.state = FIN_WAIT_2;
                if (c.is(Tcb.CLOSE_CALLED)) {
                    ConnectionTimers.startFinWait2(c);
                    return c.state != CLOSED;
                }
            }
            case CLOSING -> {
                if (c.is(Tcb.ACK_NOW)) {
                    // The peer's FIN came in the same burst.
                    c.engine.sendFinalAck(c, now);
                }
                c.engine.finish(c, CloseReason.FINISHED, TIME_WAIT);
                return false;
            }
            case LAST_ACK -> {
                c.engine.finish(c, CloseReason.FINISHED, CLOSED);
                return false;
            }
            default -> {
            }
        }
        return true;
    }
}
