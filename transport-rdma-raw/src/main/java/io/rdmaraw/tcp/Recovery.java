package io.rdmaraw.tcp;

import io.rdmaraw.tcp.Tcb.RetransmitTimer;
import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.send.Flight;
import io.rdmaraw.tcp.send.RecoveryState;
import io.rdmaraw.tcp.send.RecoveryState.Frto;
import io.rdmaraw.tcp.send.RecoveryState.Phase;
import io.rdmaraw.tcp.send.Scoreboard;

/**
 * Loss recovery: when it begins and ends, and how the congestion window moves meanwhile. Losses are found by
 * {@link Rack}, or by three duplicate ACKs when the peer lacks SACK (RFC 6582).
 */
final class Recovery {
    private static final int DUPLICATE_THRESHOLD = 3;
    private static final int MAX_CWND = 1 << 30;

    private Recovery() {
    }

    /** After the scoreboard has taken in an acknowledgement. */
    static void onAck(TcpConnection c, Flight f, AckSample sample, Segment s, long now) {
        RecoveryState r = f.recovery;
        if (sample.dsack) {
            Rack.onDsack(c);
        }
        countDuplicates(c, f, sample);
        if (c.rate != null) {
            c.rate.onDeliveredBytes(sample, now);
        }
        if (c.is(Tcb.ECN_SENDER) && sample.ackedBytes > 0 && c.congestion.countsMarks()) {
            c.congestion.onMarksEchoed(sample.ackedBytes, Ecn.markedBytes(c, sample), c.sndUna, c.sndNxt);
        }
        if (TailLossProbe.onAck(c, sample, s.ack) && r.phase == Phase.OPEN) {
            reduceOnce(c, f, now);
        }
        if (r.phase == Phase.TIMEOUT) {
            onAckAfterTimeout(c, f, sample, s, now);
        } else if (r.phase == Phase.FAST) {
            onAckInFastRecovery(c, f, sample, s, now);
        }
        // Segments that only became too big for the path are lost as well, but no sign of congestion.
        int lostBefore = f.scoreboard.lostBytes();
        detectLoss(c, f, now);
        boolean newlyLost = f.scoreboard.lostBytes() > lostBefore;
        if (r.phase == Phase.OPEN && newlyLost) {
            enterFast(c, f, sample.priorPipeBytes, now);
            reduce(c, f, sample, false);
        } else if (r.phase == Phase.FAST) {
            reduce(c, f, sample, sample.ackedBytes > 0 && !newlyLost);
        } else if (r.phase == Phase.OPEN && Ecn.echoed(c, sample)) {
            Ecn.reduce(c, now);
        } else if (sample.ackedBytes > 0 && r.frto == Frto.OFF && c.rate == null) {
            grow(c, sample, now);
        }
        if (c.rate != null) {
            int window = c.cwnd;
            c.rate.onAck(c, f, sample, c.engine.rateSample, now);
            if (r.frto == Frto.SECOND_ACK) {
                // RFC 5682 section 3.1 step 2b: two new segments, also where the least window of a control is more.
                c.cwnd = Math.min(c.cwnd, window);
            }
        }
        if (c.pacer != null) {
            c.pacer.update(c);
        }
    }

    /** A control that measures rates has its own mind about the window in recovery. */
    private static void reduce(TcpConnection c, Flight f, AckSample sample, boolean safe) {
        if (c.rate == null) {
            c.cwnd = Prr.onAck(c, f, sample, safe);
        }
    }

    /** Takes an entry for lost, unless it is already or has arrived. */
    static void markLost(TcpConnection c, Scoreboard sb, int entry) {
        if (c.rate != null && !sb.isLost(entry) && !sb.isSacked(entry)) {
            sb.markLost(entry);
            c.rate.onLost(c, sb, entry);
        } else {
            sb.markLost(entry);
        }
    }

    private static void grow(TcpConnection c, AckSample sample, long now) {
        // RFC 9293 and RFC 7661: a window that was not used says nothing about the path. In slow start it may
        // grow to twice what was in flight.
        boolean slowStart = c.cwnd < c.ssthresh;
        long used = (long) sample.priorPipeBytes * (slowStart ? 2 : 1);
        if (c.is(Tcb.CWND_LIMITED) || used + c.sndMss > c.cwnd) {
            c.clear(Tcb.CWND_LIMITED);
            c.cwnd = Math.min(MAX_CWND, c.congestion.onAcked(c, sample.ackedBytes, now));
        }
    }

    /** RFC 5681 section 3.2 and RFC 6582, for peers without SACK: each duplicate ACK is a segment that arrived. */
    private static void countDuplicates(TcpConnection c, Flight f, AckSample sample) {
        if (c.is(Tcb.SACK)) {
            return;
        }
        RecoveryState r = f.recovery;
        if (sample.duplicate) {
            r.duplicateAcks++;
            int limit = Math.max(0, f.scoreboard.pipeBytes() - c.sndMss);
            int bytes = Math.min(limit, r.duplicateAckBytes + c.sndMss);
            sample.deliveredBytes += Math.max(0, bytes - r.duplicateAckBytes);
            r.duplicateAckBytes = Math.max(r.duplicateAckBytes, bytes);
        } else if (sample.ackedBytes > 0) {
            // What was acknowledged now and counted as a duplicate before has been delivered once.
            int counted = Math.min(r.duplicateAckBytes, Math.max(0, sample.ackedBytes - c.sndMss));
            r.duplicateAckBytes -= counted;
            sample.deliveredBytes = Math.max(0, sample.deliveredBytes - counted);
            r.duplicateAcks = 0;
            if (r.phase == Phase.OPEN || f.scoreboard.isEmpty()) {
                r.duplicateAckBytes = 0;
            }
        }
    }

    private static void detectLoss(TcpConnection c, Flight f, long now) {
        RecoveryState r = f.recovery;
        Scoreboard sb = f.scoreboard;
        if (sb.isEmpty()) {
            return;
        }
        if (!c.is(Tcb.SACK)) {
            // RFC 6582 section 3.2 step 2; the ACK of what a former recovery sent must not begin another.
            if (r.phase == Phase.OPEN && r.duplicateAcks >= DUPLICATE_THRESHOLD
                    && Sequence.afterOrAt(c.sndUna, r.endSeq)) {
                markLost(c, sb, sb.head());
            }
            return;
        }
        long timeout = Rack.detectLoss(c, f, now);
        if (timeout > 0 && now + timeout < c.retransmitDeadlineNanos) {
            c.setRetransmitTimer(RetransmitTimer.REORDERING, now + timeout);
        }
    }

    /** RFC 8985 section 6.2 step 5: the reordering window has passed without news. */
    static void onReorderingTimeout(TcpConnection c, long now) {
        Flight f = c.flight;
        if (f == null || f.scoreboard.isEmpty()) {
            return;
        }
        int before = f.scoreboard.lostBytes();
        // The timer stood in the place of the RTO.
        c.setRetransmitTimer(RetransmitTimer.RTO, now + RttEstimator.backedOff(c));
        detectLoss(c, f, now);
        if (f.scoreboard.lostBytes() == before) {
            return;
        }
        AckSample none = c.engine.sample;
        none.reset(f.pipeBytes());
        if (f.recovery.phase == Phase.OPEN) {
            enterFast(c, f, f.pipeBytes() + f.scoreboard.lostBytes() - before, now);
        }
        if (f.recovery.phase == Phase.FAST) {
            reduce(c, f, none, false);
        }
        if (c.retransmitTimer == RetransmitTimer.RTO) {
            ConnectionTimers.restart(c, f, now);
        }
    }

    // ---- fast recovery ----

    private static void enterFast(TcpConnection c, Flight f, int priorPipeBytes, long now) {
        RecoveryState r = f.recovery;
        beginUndo(c, r);
        r.phase = Phase.FAST;
        r.endSeq = c.sndNxt;
        c.clear(Tcb.TLP_OUTSTANDING);
        c.ssthresh = c.congestion.onCongestion(c, flightBytes(c), now);
        Prr.start(r, priorPipeBytes);
        Ecn.onReduction(c);
        c.engine.counters.fastRecoveries++;
    }

    /** FlightSize of RFC 5681: sent and not acknowledged. */
    private static int flightBytes(TcpConnection c) {
        return c.sndNxt - c.sndUna;
    }

    private static void onAckInFastRecovery(TcpConnection c, Flight f, AckSample sample, Segment s, long now) {
        RecoveryState r = f.recovery;
        boolean advanced = sample.ackedBytes > 0;
        if (mayUndo(c, r, s, sample)) {
            undo(c, f, sample);
            return;
        }
        if (!advanced) {
            return;
        }
        if (Sequence.afterOrAt(c.sndUna, r.endSeq)) {
            // RFC 9937 section 6.2: all that was outstanding at the beginning has arrived.
            c.cwnd = c.rate == null ? Math.max(c.ssthresh, c.sndMss) : c.cwnd;
            leave(c, r);
        } else if (!c.is(Tcb.SACK) && !f.scoreboard.isEmpty()) {
            // RFC 6582 section 3.2: a partial acknowledgement says that the next segment is lost too.
            markLost(c, f.scoreboard, f.scoreboard.head());
        }
    }

    private static void leave(TcpConnection c, RecoveryState r) {
        r.phase = Phase.OPEN;
        r.frto = Frto.OFF;
        r.duplicateAcks = 0;
        r.duplicateAckBytes = 0;
        r.clearUndo();
        Rack.onRecoveryEnd(c);
        if (c.rate != null) {
            c.rate.control.onRecoveryEnd();
        }
    }

    /** One loss was found and is repaired already (RFC 8985 section 7.4.1), so there is nothing to recover. */
    private static void reduceOnce(TcpConnection c, Flight f, long now) {
        int flight = Math.max(flightBytes(c), c.cwnd);
        // For one that measures rates it is no more than a mark: no recovery follows that would end.
        c.ssthresh = c.rate == null ? c.congestion.onCongestion(c, flight, now) : c.congestion.onMarked(c, flight, now);
        c.cwnd = Math.min(c.cwnd, c.ssthresh);
        Ecn.onReduction(c);
    }

    /** What is to be sent again has not left yet: that the peer is silent says nothing, the timeout begins later. */
    static boolean waitsForPacer(TcpConnection c, Flight f, long now) {
        if (f.scoreboard.lostBytes() == 0 || c.pacer == null || c.pacer.isOpen(now)) {
            return false;
        }
        c.setRetransmitTimer(RetransmitTimer.RTO, Pacer.leavesNanos(c, now) + RttEstimator.backedOff(c));
        return true;
    }

    // ---- after a timeout ----

    /** The retransmission timer ran out (RFC 6298 section 5.4 to 5.6). */
    static void onTimeout(TcpConnection c, long now) {
        Flight f = c.flight;
        if (f == null || f.scoreboard.isEmpty()) {
            return;
        }
        if (waitsForPacer(c, f, now) || ConnectionTimers.giveUp(c)) {
            return;
        }
        c.engine.counters.retransmissionTimeouts++;
        RecoveryState r = f.recovery;
        Scoreboard sb = f.scoreboard;
        ConnectionTimers.countTimeout(c);
        boolean first = r.phase != Phase.TIMEOUT || c.unansweredTimeouts == 1;
        if (r.phase == Phase.OPEN || first && r.phase == Phase.TIMEOUT) {
            beginUndo(c, r);
            // RFC 5681 section 3.1: ssthresh falls once for the first retransmission of a segment.
            c.ssthresh = c.congestion.onCongestion(c, flightBytes(c), now);
        }
        c.congestion.onTimeout(now);
        if (sb.isSacked(sb.head())) {
            // RFC 2018 section 8: what was reported must have been acknowledged by now.
            c.engine.counters.sackReneges++;
            sb.forgetSacks();
        }
        r.duplicateAcks = 0;
        r.duplicateAckBytes = 0;
        c.clear(Tcb.TLP_OUTSTANDING);
        c.clear(Tcb.TAIL_PROBE_DUE);
        if (c.is(Tcb.SACK)) {
            Rack.markOnTimeout(c, f, now);
        } else {
            markAllLost(c, sb);
        }
        r.phase = Phase.TIMEOUT;
        r.endSeq = c.sndNxt;
        // RFC 5682 section 3.1: only the first timeout of a segment can be told to be spurious.
        r.frto = first ? Frto.FIRST_ACK : Frto.OFF;
        PathMtu.onTimeout(c, f, now);
        // RFC 5681 section 3.1: the loss window is one segment, on top of what is not taken for lost.
        c.cwnd = f.pipeBytes() + c.sndMss;
        Ecn.onReduction(c);
        // RFC 6298 section 5.6 counts from the retransmission, which the pacer may hold back.
        c.setRetransmitTimer(RetransmitTimer.RTO, Pacer.leavesNanos(c, now) + RttEstimator.backedOff(c));
    }

    /** What waits for the pacer leaves earlier than its timeout was counted from. */
    static void onPacingChange(TcpConnection c, long now) {
        if (c.retransmitTimer == RetransmitTimer.RTO) {
            long deadlineNanos = Pacer.leavesNanos(c, now) + RttEstimator.backedOff(c);
            c.setRetransmitTimer(RetransmitTimer.RTO, Math.min(c.retransmitDeadlineNanos, deadlineNanos));
        }
    }

    private static void markAllLost(TcpConnection c, Scoreboard sb) {
        for (int entry = sb.head(); entry != sb.tail(); entry++) {
            markLost(c, sb, entry);
        }
    }

    private static void onAckAfterTimeout(TcpConnection c, Flight f, AckSample sample, Segment s, long now) {
        RecoveryState r = f.recovery;
        boolean advanced = sample.ackedBytes > 0;
        if (r.frto == Frto.SECOND_ACK && sample.originalDelivered || mayUndo(c, r, s, sample)) {
            // RFC 5682 section 3.1 step 3b, RFC 3522: the originals arrive, the timeout was spurious. The first
            // acknowledgement proves nothing, whatever it covers: the originals may have come long before, and the
            // SACK blocks that told of them may be lost or stripped on the path.
            f.scoreboard.forgetLosses();
            undo(c, f, sample);
            return;
        }
        if (Sequence.afterOrAt(c.sndUna, r.endSeq)) {
            leave(c, r);
            return;
        }
        switch (r.frto) {
            case FIRST_ACK -> {
                // Step 2: an advance lets new data out instead of retransmissions. What else comes is a loss, or, with
                // SACK, waited out.
                if (!advanced && c.is(Tcb.SACK)) {
                    return;
                }
                boolean newData = advanced && SegmentOutput.hasSendableData(c, f);
                r.frto = newData ? Frto.SECOND_ACK : Frto.OFF;
                if (newData) {
                    c.cwnd = f.pipeBytes() + 2 * c.sndMss;
                }
            }
            case SECOND_ACK -> {
                // Step 3a: a duplicate acknowledgement for new data: the segments are lost indeed. It allows up to
                // three segments, the two new ones and one again.
                r.frto = Frto.OFF;
                if (!advanced) {
                    c.cwnd = Math.max(c.cwnd, f.pipeBytes() + c.sndMss);
                }
            }
            case OFF -> {
            }
        }
    }

    // ---- undo (RFC 4015, RFC 3522) ----

    private static void beginUndo(TcpConnection c, RecoveryState r) {
        r.undoPossible = true;
        r.undoCwnd = c.cwnd;
        // pipe_prev of RFC 4015 section 3
        r.undoSsthresh = Math.max(c.ssthresh, flightBytes(c));
        r.undoSeq = c.sndUna;
        r.undoRetransmissions = -1;
        r.retransmitStamped = false;
    }

    static void onRetransmission(TcpConnection c, RecoveryState r, long now) {
        if (r.undoPossible) {
            r.undoRetransmissions = Math.max(0, r.undoRetransmissions) + 1;
            if (!r.retransmitStamped) {
                r.retransmitStamped = true;
                r.retransmitTimestamp = c.timestamp(now);
            }
        }
    }

    /** A D-SACK (RFC 3708): one retransmission was not needed. */
    static void onDuplicateReported(RecoveryState r, int start, int end) {
        if (r.undoPossible && r.undoRetransmissions > 0 && Sequence.afterOrAt(start, r.undoSeq)
                && Sequence.beforeOrAt(end, r.endSeq)) {
            r.undoRetransmissions--;
        }
    }

    private static boolean mayUndo(TcpConnection c, RecoveryState r, Segment s, AckSample sample) {
        if (!r.undoPossible || sample.marked) {
            // RFC 4015 section 3.2: a mark is a sign of congestion of its own.
            return false;
        }
        if (r.undoRetransmissions == 0) {
            return true;
        }
        // RFC 3522 section 3.2: the acknowledgement echoes a time before the first retransmission.
        return sample.ackedBytes > 0 && r.retransmitStamped && c.is(Tcb.TIMESTAMPS) && s.timestamps
                && Sequence.before(s.tsEcho, r.retransmitTimestamp);
    }

    /**
     * RFC 4015 section 3.2 step 6: no burst may follow, so the window restarts from what is in flight, and gets to
     * where it was by slow start. Step 8, a new RTT estimate from the original, is left out: when the acknowledgement
     * of the original was lost it would be the timeout that is measured.
     */
    private static void undo(TcpConnection c, Flight f, AckSample sample) {
        RecoveryState r = f.recovery;
        int burst = Math.min(Math.max(sample.ackedBytes, c.sndMss), SegmentOutput.initialWindow(c));
        c.cwnd = Math.max(c.cwnd, Math.min(r.undoCwnd, f.pipeBytes() + burst));
        c.ssthresh = Math.max(c.ssthresh, r.undoSsthresh);
        c.congestion.onUndo();
        c.clear(Tcb.CWR_OWED);
        c.engine.counters.spuriousRecoveries++;
        leave(c, r);
    }
}
