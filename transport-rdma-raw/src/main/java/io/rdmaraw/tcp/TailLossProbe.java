package io.rdmaraw.tcp;

import io.rdmaraw.tcp.Tcb.RetransmitTimer;
import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.send.Flight;
import io.rdmaraw.tcp.send.RecoveryState;
import io.rdmaraw.tcp.send.RecoveryState.Frto;
import io.rdmaraw.tcp.send.RecoveryState.Phase;

/** Tail loss probes (RFC 8985 section 7): after two RTTs of silence one segment asks for an acknowledgement. */
final class TailLossProbe {
    /** TLP.max_ack_delay: how long the peer may hold back the acknowledgement of a lone segment. */
    private static final long MAX_ACK_DELAY_NANOS = 200_000_000L;
    private static final long GRANULARITY_NANOS = 2L << TimerWheel.TICK_SHIFT;

    private TailLossProbe() {
    }

    /** Section 7.2: when to probe; NEVER if a probe would be out of place. */
    static long deadline(TcpConnection c, Flight f, long now) {
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
     * Beyond the RFC: with few segments in flight a retransmission may be the last that was sent, and lost again. RACK
     * finds that when something sent later arrives, so after two RTTs of silence something is sent. A peer that has
     * holes acknowledges at once (RFC 5681 section 4.2).
     */
    private static long deadlineInRecovery(TcpConnection c, Flight f, long now) {
        RecoveryState r = f.recovery;
        if (!c.is(Tcb.SACK) || r.probed || r.frto != Frto.OFF || c.srttNanos == 0 || c.backoff > 0) {
            return Tcb.NEVER;
        }
        boolean mayBeDelayed = f.scoreboard.sackedCount() == 0;
        return now + 2 * c.srttNanos + (mayBeDelayed ? MAX_ACK_DELAY_NANOS : GRANULARITY_NANOS);
    }

    /** Section 7.3: the next poll sends the probe. */
    static void onTimeout(TcpConnection c, long now) {
        Flight f = c.flight;
        if (f == null || f.scoreboard.isEmpty() || Recovery.waitsForPacer(c, f, now)) {
            return;
        }
        c.set(Tcb.TAIL_PROBE_DUE);
        c.setRetransmitTimer(RetransmitTimer.RTO, now + RttEstimator.backedOff(c));
    }

    /** A probe in recovery: the segment that is missing first goes once more. */
    static void onRecoveryProbe(TcpConnection c, RecoveryState r) {
        r.probed = true;
        c.engine.counters.tailLossProbes++;
    }

    static void onProbeSent(TcpConnection c, boolean retransmission) {
        c.set(Tcb.TLP_OUTSTANDING);
        c.assign(Tcb.TLP_RETRANSMISSION, retransmission);
        c.tlpEndSeq = c.sndNxt;
        c.engine.counters.tailLossProbes++;
    }

    /**
     * Section 7.4.2: what the acknowledgement says about the probe. Returns true if the probe repaired a loss, which
     * must not go unanswered by congestion control.
     */
    static boolean onAck(TcpConnection c, AckSample sample, int ack) {
        if (!c.is(Tcb.TLP_OUTSTANDING) || Sequence.before(ack, c.tlpEndSeq)) {
            return false;
        }
        if (!c.is(Tcb.TLP_RETRANSMISSION) || sample.dsack || sample.duplicate && !sample.newlySacked) {
            // New data was acknowledged, or the original and the probe have both arrived.
            c.clear(Tcb.TLP_OUTSTANDING);
            return false;
        }
        if (Sequence.after(ack, c.tlpEndSeq)) {
            // Later data is acknowledged and nothing was heard of a second copy: the probe filled a hole.
            c.clear(Tcb.TLP_OUTSTANDING);
            return true;
        }
        // The acknowledgement may be for either copy; the next ones tell.
        return false;
    }

    /** The same while nothing is in flight: the acknowledgement of a second copy says that nothing was lost. */
    static void onAckWhileIdle(TcpConnection c, Segment s) {
        if (s.ack == c.tlpEndSeq && s.payloadLength == 0) {
            c.clear(Tcb.TLP_OUTSTANDING);
        }
    }
}
