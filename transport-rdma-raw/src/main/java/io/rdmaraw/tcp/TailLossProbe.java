package io.rdmaraw.tcp;

import io.rdmaraw.tcp.RecoveryState.Phase;
import io.rdmaraw.tcp.Tcb.RetransmitTimer;

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
        if (!c.is(Tcb.SACK) || r.phase != Phase.OPEN || r.tlpOutstanding || c.srttNanos == 0
                || f.scoreboard.sackedCount() > 0 || f.scoreboard.lostBytes() > 0 || c.backoff > 0) {
            return Tcb.NEVER;
        }
        boolean single = f.scoreboard.tail() - f.scoreboard.head() == 1;
        return now + 2 * c.srttNanos + (single ? MAX_ACK_DELAY_NANOS : GRANULARITY_NANOS);
    }

    /** Section 7.3: the next poll sends the probe. */
    static void onTimeout(TcpConnection c, long now) {
        Flight f = c.flight;
        if (f == null || f.scoreboard.isEmpty()) {
            return;
        }
        c.set(Tcb.TAIL_PROBE_DUE);
        c.setRetransmitTimer(RetransmitTimer.RTO, now + RttEstimator.backedOff(c));
    }

    static void onProbeSent(TcpConnection c, Flight f, boolean retransmission) {
        RecoveryState r = f.recovery;
        r.tlpOutstanding = true;
        r.tlpRetransmission = retransmission;
        r.tlpEndSeq = c.sndNxt;
        c.engine.counters.tailLossProbes++;
    }

    /** Section 7.4.2: what the acknowledgement says about the probe. Returns true if the probe repaired a loss. */
    static boolean onAck(TcpConnection c, Flight f, AckSample sample, int ack) {
        RecoveryState r = f.recovery;
        if (!r.tlpOutstanding || Sequence.before(ack, r.tlpEndSeq)) {
            return false;
        }
        if (!r.tlpRetransmission || sample.dsack) {
            // New data was acknowledged, or both the original and the probe arrived.
            r.tlpOutstanding = false;
            return false;
        }
        if (Sequence.after(ack, r.tlpEndSeq) || sample.ackedBytes > 0) {
            // The probe filled a hole at the tail. Section 7.4.1: that is one loss, which must not go unanswered.
            // A D-SACK would have come with this acknowledgement had the original arrived.
            r.tlpOutstanding = false;
            return true;
        }
        return false;
    }
}
