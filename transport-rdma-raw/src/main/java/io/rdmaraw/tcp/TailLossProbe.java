package io.rdmaraw.tcp;

import io.rdmaraw.tcp.Tcb.RetransmitTimer;
import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.send.RecoveryState;
import io.rdmaraw.tcp.send.RecoveryState.Frto;
import io.rdmaraw.tcp.send.RecoveryState.Phase;
import io.rdmaraw.tcp.send.SendState;

/** Tail loss probes (RFC 8985 section 7): after two RTTs without an ACK, a probe is sent to elicit one. */
final class TailLossProbe {
    /** TLP.max_ack_delay: maximum delay of the peer's ACK for a single segment. */
    private static final long MAX_ACK_DELAY_NANOS = 200_000_000L;
    private static final long GRANULARITY_NANOS = 2L << TimerWheel.TICK_SHIFT;

    private TailLossProbe() {
    }

    /** Returns the deadline of the next probe (section 7.2), or {@link Tcb#NEVER} if no probe may be sent. */
    static long deadline(TcpConnection c, SendState f, long now) {
        RecoveryState r = f.recovery;
        if (r.phase != Phase.OPEN) {
            return deadlineInRecovery(c, f, now);
        }
        if (!c.is(Tcb.SACK) || c.is(Tcb.TLP_OUTSTANDING) || c.srttNanos == 0
                || f.scoreboard.sackedCount() > 0 || f.scoreboard.lostBytes() > 0 || c.backoff > 0) {
            return Tcb.NEVER;
        }
        boolean single = f.scoreboard.tail() - f.scoreboard.head() == 1;
        return now + 2 * c.srttNanos + (single ? MAX_ACK_DELAY_NANOS : GRANULARITY_NANOS);
    }

    /**
     * Returns the deadline of a probe during recovery, an extension of the RFC. With few segments in flight, a
     * retransmission may be the last segment sent. If it is lost again, RACK cannot detect this before a later
     * segment is delivered. A segment is therefore sent after two RTTs without an ACK. A peer with a gap
     * acknowledges it at once (RFC 5681 section 4.2).
     */
    private static long deadlineInRecovery(TcpConnection c, SendState f, long now) {
        RecoveryState r = f.recovery;
        if (!c.is(Tcb.SACK) || r.probeOutstanding || r.frto != Frto.OFF || c.srttNanos == 0 || c.backoff > 0) {
            return Tcb.NEVER;
        }
        boolean mayBeDelayed = f.scoreboard.sackedCount() == 0;
        return now + 2 * c.srttNanos + (mayBeDelayed ? MAX_ACK_DELAY_NANOS : GRANULARITY_NANOS);
    }

    /** Schedules the probe for the next poll (section 7.3). */
    static void onTimeout(TcpConnection c, long now) {
        SendState f = c.sendState;
        if (f == null || f.scoreboard.isEmpty() || Recovery.restartRtoIfPaced(c, f, now)) {
            return;
        }
        c.set(Tcb.TLP_DUE);
        c.setRetransmitTimer(RetransmitTimer.RTO, now + RttEstimator.backedOffRtoNanos(c));
    }

    /** Records a probe sent in recovery, which retransmits the first missing segment. */
    static void onRecoveryProbe(TcpConnection c, RecoveryState r) {
        r.probeOutstanding = true;
        c.engine.counters.tailLossProbes++;
    }

    static void onProbeSent(TcpConnection c, boolean retransmission) {
        c.set(Tcb.TLP_OUTSTANDING);
        c.assign(Tcb.TLP_RETRANSMISSION, retransmission);
        c.tlpEndSeq = c.sndNxt;
        c.engine.counters.tailLossProbes++;
    }

    /**
     * Evaluates an ACK with respect to the outstanding probe (section 7.4.2). Returns true if the probe has
     * repaired a loss; congestion control must then respond.
     */
    static boolean onAck(TcpConnection c, AckSample sample, int ack) {
        if (!c.is(Tcb.TLP_OUTSTANDING) || Sequence.before(ack, c.tlpEndSeq)) {
            return false;
        }
        if (!c.is(Tcb.TLP_RETRANSMISSION) || sample.dsack || sample.duplicateAck && !sample.newlySacked) {
            // New data was acknowledged, or both the original and the probe were delivered.
            c.clear(Tcb.TLP_OUTSTANDING);
            return false;
        }
        if (Sequence.after(ack, c.tlpEndSeq)) {
            // Later data is acknowledged and no duplicate was reported, so the probe has repaired a loss.
            c.clear(Tcb.TLP_OUTSTANDING);
            return true;
        }
        // The ACK may be for either copy; later ACKs decide.
        return false;
    }

    /** Evaluates an ACK while nothing is in flight. An ACK of the second copy shows that nothing was lost. */
    static void onAckWhileIdle(TcpConnection c, Segment s) {
        if (s.ack == c.tlpEndSeq && s.payloadLength == 0) {
            c.clear(Tcb.TLP_OUTSTANDING);
        }
    }
}
