package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;

import static io.rdmaraw.tcp.TcpState.*;

/**
 * Processes a segment that arrives for a connection: the checks of RFC 9293 section 3.10.7.4 in their order, with
 * the refinements of RFC 5961 and RFC 7323.
 */
final class SegmentInput {
    /** RFC 7323 section 5.5: TS.Recent becomes invalid after 24 days without a segment. */
    private static final long TS_RECENT_VALID_NANOS = 24L * 86_400 * 1_000_000_000;
    private static final int ORDINARY_FLAGS = TcpFlags.ACK | TcpFlags.PSH | TcpFlags.ECE | TcpFlags.CWR | TcpFlags.AE;

    private SegmentInput() {
    }

    static void process(TcpConnection c, Segment s, long now) {
        if (c.state == SYN_SENT) {
            Handshake.onSegmentInSynSent(c, s, now);
            return;
        }
        // First check: sequence number, preceded by PAWS.
        if (!checkPaws(c, s, now)) {
            return;
        }
        boolean acceptable = checkAcceptable(c, s, now);
        if (!acceptable && !probesClosedWindow(c, s)) {
            return;
        }
        if ((s.flags & ~ORDINARY_FLAGS) != 0 || !s.has(TcpFlags.ACK)) {
            if (!checkControlBits(c, s, now)) {
                return;
            }
        }
        // Fifth check: ACK. The segment is not used in any way before its ACK field was validated.
        if (c.state == SYN_RECEIVED && !Handshake.onAckInSynReceived(c, s, now)) {
            return;
        }
        if (!AckInput.process(c, s, now)) {
            return;
        }
        if (c.is(Tcb.FIN_SENT) && c.sndUna == c.sndNxt && !onFinAcknowledged(c, now)) {
            return;
        }
        if (acceptable) {
            Ecn.onSegment(c, s, now);
        }
        // Sixth check: urgent pointer. Seventh: text. Eighth: FIN.
        if (acceptable && s.has(TcpFlags.URG)) {
            DataInput.onUrgentPointer(c, s);
        }
        if (acceptable && (s.payloadLength > 0 || s.has(TcpFlags.FIN))) {
            // The text of a SYN (in a simultaneous open) starts at the next sequence number.
            int syn = s.has(TcpFlags.SYN) ? 1 : 0;
            s.seq += syn;
            DataInput.process(c, s, now);
            s.seq -= syn;
        }
        if (c.state != CLOSED) {
            c.lastReceiveNanos = now;
            if (s.peerMac != 0) {
                c.peerMac = s.peerMac;
            }
            c.keepAliveProbesSent = 0;
        }
    }

    /**
     * Performs the PAWS test (RFC 7323 section 5.3 R1). A segment without timestamps is accepted, as deployed
     * stacks do.
     */
    private static boolean checkPaws(TcpConnection c, Segment s, long now) {
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
     * Performs the acceptability test of RFC 9293 section 3.4. A segment without text is also accepted, for its ACK
     * field, if it ends at RCV.NXT or starts at the right edge. Section 3.10.7.4 permits this for a closed window.
     */
    private static boolean checkAcceptable(TcpConnection c, Segment s, long now) {
        int end = s.seq + s.sequenceLength();
        if (c.state == SYN_RECEIVED && s.has(TcpFlags.SYN) && !s.has(TcpFlags.RST) && s.seq == c.irs) {
            if (!s.has(TcpFlags.ACK)) {
                // The peer has retransmitted its SYN because our SYN-ACK was lost. Its data was not accepted.
                if (!Ecn.onRetransmittedSyn(c, s)) {
                    c.engine.abort(c, CloseReason.ABORTED);
                } else if (AckPolicy.acquireSynAckPermit(c, now)) {
                    c.set(Tcb.SYN_DUE);
                }
                return false;
            }
            if (Handshake.isSimultaneousOpen(c, s)) {
                return true;
            }
        }
        boolean acceptable = s.has(TcpFlags.RST)
                ? Sequence.between(c.rcvNxt, s.seq, c.rcvAdv) || isResetOfFin(c, s)
                : Sequence.afterOrAt(end, c.rcvNxt) && Sequence.beforeOrAt(s.seq, c.rcvAdv);
        // A segment that occupies sequence space must contain new data within the window.
        if (acceptable && end != s.seq && !s.has(TcpFlags.RST)) {
            acceptable = Sequence.after(end, c.rcvNxt) && (Sequence.before(s.seq, c.rcvAdv) || isBareFin(c, s));
        }
        if (acceptable) {
            return true;
        }
        if (s.has(TcpFlags.RST)) {
            c.engine.counters.rejectedSegments++;
            return false;
        }
        onUnacceptable(c, s, end, now);
        return false;
    }

    /** Returns whether a segment is the next FIN, without data. It is accepted by a closed window, as in Linux. */
    private static boolean isBareFin(TcpConnection c, Segment s) {
        return s.has(TcpFlags.FIN) && !s.has(TcpFlags.SYN) && s.payloadLength == 0 && s.seq == c.rcvNxt;
    }

    /**
     * Returns whether the segment is a probe of our closed window. No data is acceptable then, but the ACK field
     * of the probe is processed, because both ends may be probing (RFC 9293 section 3.10.7.4). The ACK that
     * answers it is already scheduled.
     */
    private static boolean probesClosedWindow(TcpConnection c, Segment s) {
        return c.rcvAdv == c.rcvNxt && s.seq == c.rcvNxt && c.state.isSynchronized()
                && (s.flags & (TcpFlags.ACK | TcpFlags.SYN | TcpFlags.RST)) == TcpFlags.ACK;
    }

    private static void onUnacceptable(TcpConnection c, Segment s, int end, long now) {
        if (s.payloadLength > 0 && Sequence.beforeOrAt(end, c.rcvNxt)) {
            c.engine.counters.duplicateSegments += s.segmentCount();
            DataInput.reportDuplicate(c, s.seq, s.seq + s.payloadLength);
        } else {
            c.engine.counters.unacceptableSegments += s.segmentCount();
        }
        // An old segment may carry a current ACK, for example if both ends send at once and one segment is
        // retransmitted. The ACK field is not used, because RFC 9293 section 3.10.7.4 drops unacceptable segments.
        answerUnacceptable(c, s, now);
        if (s.has(TcpFlags.SYN) && c.is(Tcb.ECN)) {
            AccurateEcn.onRetransmittedSynAck(c, s);
        }
    }

    /**
     * Answers an unacceptable segment. Data is always answered, as its sender waits for an ACK; a bare ACK is
     * answered at a limited rate.
     */
    private static void answerUnacceptable(TcpConnection c, Segment s, long now) {
        if (s.payloadLength > 0 || s.has(TcpFlags.FIN)) {
            AckPolicy.ackImmediately(c);
        } else {
            AckPolicy.scheduleChallengeAck(c, now);
        }
    }

    /**
     * Performs the second check (RST) and the fourth (SYN). Returns false if the segment needs no further
     * processing.
     */
    private static boolean checkControlBits(TcpConnection c, Segment s, long now) {
        if (s.has(TcpFlags.RST)) {
            onReset(c, s, now);
            return false;
        }
        if (s.has(TcpFlags.SYN)) {
            if (c.state == SYN_RECEIVED && Handshake.isSimultaneousOpen(c, s)) {
                return true;
            }
            // RFC 5961 section 4.2: a SYN in a synchronized state is answered with a challenge ACK and otherwise
            // ignored.
            c.engine.counters.rejectedSegments++;
            AckPolicy.scheduleChallengeAck(c, now);
            return false;
        }
        // A segment without ACK is ignored.
        return s.has(TcpFlags.ACK);
    }

    /**
     * Returns whether a RST has the sequence number of the peer's FIN. A peer that is killed after its FIN sends
     * such a RST (macOS; Linux: tcp_reset_check).
     */
    private static boolean isResetOfFin(TcpConnection c, Segment s) {
        return s.seq == c.rcvNxt - 1 && (c.state == CLOSE_WAIT || c.state == LAST_ACK || c.state == CLOSING);
    }

    /**
     * Returns whether the sequence number of a RST is exact. RFC 5961 section 3.2 accepts RCV.NXT only. As Linux
     * does, two other numbers that peers use and that are as hard to guess are accepted: the number of the peer's
     * FIN, and the end of all data that was SACKed.
     */
    private static boolean isExactReset(TcpConnection c, Segment s) {
        return s.seq == c.rcvNxt || isResetOfFin(c, s)
                || c.reassembly != null && c.is(Tcb.SACK) && s.seq == c.reassembly.ranges().lastEnd();
    }

    private static void onReset(TcpConnection c, Segment s, long now) {
        if (!isExactReset(c, s)) {
            // A RST elsewhere in the window is answered with a challenge ACK.
            c.engine.counters.rejectedSegments++;
            AckPolicy.scheduleChallengeAck(c, now);
            return;
        }
        c.engine.counters.resetsIn++;
        if (c.state == SYN_RECEIVED && c.is(Tcb.PASSIVE_OPEN)) {
            // RFC 9293 section 3.10.7.4: return to LISTEN without notifying the user.
            c.engine.finish(c, CloseReason.RESET_BY_PEER, CLOSED);
            return;
        }
        boolean done = c.state == CLOSING || c.state == LAST_ACK && c.queuedBytes() == 0;
        c.engine.finish(c, c.state == SYN_RECEIVED ? CloseReason.REFUSED
                : done ? CloseReason.FINISHED : CloseReason.RESET_BY_PEER, CLOSED);
    }

    /**
     * Updates TS.Recent from a segment that covers the last ACK sent (RFC 7323 section 4.3). Section 5.3 does
     * this before checking the ACK field. An attacker could then make PAWS drop all segments of the peer by guessing
     * only a sequence number. The update therefore follows the check of RFC 5961 section 5.2, as in Linux
     * (tcp_ack).
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

    /**
     * Handles the acknowledgement of our FIN (RFC 9293 section 3.10.7.4, fifth check). Returns false if the
     * connection has ended.
     */
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
                    // The peer's FIN arrived in the same burst and is not acknowledged yet.
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
