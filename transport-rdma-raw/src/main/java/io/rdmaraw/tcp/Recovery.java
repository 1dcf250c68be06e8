package io.rdmaraw.tcp;

import io.rdmaraw.tcp.Tcb.RetransmitTimer;
import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.send.RecoveryState;
import io.rdmaraw.tcp.send.RecoveryState.Frto;
import io.rdmaraw.tcp.send.RecoveryState.Phase;
import io.rdmaraw.tcp.send.Scoreboard;
import io.rdmaraw.tcp.send.SendState;

/**
 * Loss recovery: its start and end, and the congestion window during it. Losses are detected by {@link Rack}, or
 * by three duplicate ACKs if the peer does not support SACK (RFC 6582).
 */
final class Recovery {
    private static final int DUPLICATE_THRESHOLD = 3;
    private static final int MAX_CWND = 1 << 30;
    private static final int MAX_UNDO_BYTES = 1 << 28;

    private Recovery() {
    }

    /** Performs recovery and congestion control for an ACK that the scoreboard has already processed. */
    static void onAck(TcpConnection c, SendState f, AckSample sample, Segment s, long now) {
        RecoveryState r = f.recovery;
        if (sample.dsack) {
            Rack.onDsack(c);
        }
        countDuplicates(c, f, sample);
        if (c.rate != null) {
            c.rate.onDeliveredBytes(sample, now);
        }
        if (c.is(Tcb.ECN_SENDER) && sample.ackedBytes > 0 && c.congestion.countsMarks()) {
            c.congestion.onMarksEchoed(sample.ackedBytes, Ecn.pollMarkedBytes(c, sample), c.sndUna, c.sndNxt);
        }
        if (TailLossProbe.onAck(c, sample, s.ack) && r.phase == Phase.OPEN) {
            reduceOnce(c, f, now);
        }
        if (r.phase == Phase.TIMEOUT) {
            onAckAfterTimeout(c, f, sample, s, now);
        } else if (r.phase == Phase.FAST) {
            onAckInFastRecovery(c, f, sample, s, now);
        } else if (r.undoPossible) {
            onAckAfterRecovery(c, f, sample);
        }
        // Segments that PathMtu has marked as lost before this point are too large for the path; they are no sign
        // of congestion.
        int lostBefore = f.scoreboard.lostBytes();
        detectLoss(c, f, now);
        boolean newlyLost = f.scoreboard.lostBytes() > lostBefore;
        if (r.phase == Phase.OPEN && newlyLost) {
            enterFastRecovery(c, f, sample.priorPipeBytes, now);
            reduce(c, f, sample, false);
        } else if (r.phase == Phase.FAST) {
            reduce(c, f, sample, sample.ackedBytes > 0 && !newlyLost);
        } else if (r.phase == Phase.OPEN && Ecn.isReductionPending(c, sample)) {
            r.clearUndo();
            Ecn.reduce(c, now);
        } else if (sample.ackedBytes > 0 && r.frto == Frto.OFF && c.rate == null) {
            grow(c, f, sample, now);
        }
        if (c.rate != null) {
            int window = c.cwnd;
            c.rate.onAck(c, f, sample, c.engine.rateSample, now);
            if (r.frto == Frto.SECOND_ACK) {
                // RFC 5682 section 3.1 step 2b: send two new segments, even if the minimum window of the control
                // is larger.
                c.cwnd = Math.min(c.cwnd, window);
            }
        }
        if (c.pacer != null) {
            c.pacer.update(c);
        }
    }

    /** Sets the window during recovery. A rate-based control sets its window by itself. */
    private static void reduce(TcpConnection c, SendState f, AckSample sample, boolean safe) {
        if (c.rate == null) {
            c.cwnd = Prr.onAck(c, f, sample, safe);
        }
    }

    /** Marks an entry as lost unless it is already lost or SACKed. */
    static void markLost(TcpConnection c, Scoreboard sb, int entry) {
        if (c.rate != null && !sb.isLost(entry) && !sb.isSacked(entry)) {
            sb.markLost(entry);
            c.rate.onLost(c, sb, entry);
        } else {
            sb.markLost(entry);
        }
    }

    /**
     * Grows the window if the connection has used it (RFC 7661), as Linux does (tcp_is_cwnd_limited). In slow start
     * it may grow to twice the bytes that were in flight during the last round trip.
     */
    private static void grow(TcpConnection c, SendState f, AckSample sample, long now) {
        int priorUna = c.sndUna - sample.ackedBytes;
        if (c.sndNxt - priorUna > f.maxFlightBytes || Sequence.afterOrAt(priorUna, f.maxFlightEndSeq)) {
            f.maxFlightBytes = c.sndNxt - priorUna;
            f.maxFlightEndSeq = c.sndNxt;
        }
        boolean used = c.cwnd < c.ssthresh ? 2L * f.maxFlightBytes > c.cwnd
                : sample.priorPipeBytes + c.sndMss > c.cwnd;
        if (used || c.is(Tcb.CWND_LIMITED)) {
            c.clear(Tcb.CWND_LIMITED);
            c.cwnd = Math.min(MAX_CWND, c.congestion.onAcked(c, sample.ackedBytes, now));
        }
    }

    /**
     * Counts duplicate ACKs for peers without SACK (RFC 5681 section 3.2, RFC 6582). Each one stands for a
     * delivered segment.
     */
    private static void countDuplicates(TcpConnection c, SendState f, AckSample sample) {
        if (c.is(Tcb.SACK)) {
            return;
        }
        RecoveryState r = f.recovery;
        if (sample.duplicateAck) {
            r.duplicateAcks++;
            int limit = Math.max(0, f.scoreboard.pipeBytes() - c.sndMss);
            int bytes = Math.min(limit, r.duplicateAckBytes + c.sndMss);
            sample.deliveredBytes += Math.max(0, bytes - r.duplicateAckBytes);
            r.duplicateAckBytes = Math.max(r.duplicateAckBytes, bytes);
        } else if (sample.ackedBytes > 0) {
            // Bytes that were already counted for duplicate ACKs must not be counted as delivered again.
            int counted = Math.min(r.duplicateAckBytes, Math.max(0, sample.ackedBytes - c.sndMss));
            r.duplicateAckBytes -= counted;
            sample.deliveredBytes = Math.max(0, sample.deliveredBytes - counted);
            r.duplicateAcks = 0;
            if (r.phase == Phase.OPEN || f.scoreboard.isEmpty()) {
                r.duplicateAckBytes = 0;
            }
        }
    }

    private static void detectLoss(TcpConnection c, SendState f, long now) {
        RecoveryState r = f.recovery;
        Scoreboard sb = f.scoreboard;
        if (sb.isEmpty()) {
            return;
        }
        if (!c.is(Tcb.SACK)) {
            // RFC 6582 section 3.2 step 2: duplicate ACKs for data of the previous recovery must not start
            // another one.
            if (r.phase == Phase.OPEN && r.duplicateAcks >= DUPLICATE_THRESHOLD
                    && Sequence.afterOrAt(c.sndUna, r.recoveryPoint)) {
                markLost(c, sb, sb.head());
            }
            return;
        }
        long timeout = Rack.detectLoss(c, f, now);
        if (timeout > 0 && now + timeout < c.retransmitDeadlineNanos) {
            c.setRetransmitTimer(RetransmitTimer.REORDERING, now + timeout);
        }
    }

    /** Detects losses when the reordering window has passed without an ACK (RFC 8985 section 6.2 step 5). */
    static void onReorderingTimeout(TcpConnection c, long now) {
        SendState f = c.sendState;
        if (f == null || f.scoreboard.isEmpty()) {
            return;
        }
        int before = f.scoreboard.lostBytes();
        // The reordering timer had replaced the RTO.
        c.setRetransmitTimer(RetransmitTimer.RTO, now + RttEstimator.backedOffRtoNanos(c));
        detectLoss(c, f, now);
        if (f.scoreboard.lostBytes() == before) {
            return;
        }
        AckSample emptySample = c.engine.ackSample;
        emptySample.reset(f.pipeBytes());
        if (f.recovery.phase == Phase.OPEN) {
            enterFastRecovery(c, f, f.pipeBytes() + f.scoreboard.lostBytes() - before, now);
        }
        if (f.recovery.phase == Phase.FAST) {
            reduce(c, f, emptySample, false);
        }
        if (c.retransmitTimer == RetransmitTimer.RTO) {
            ConnectionTimers.restartRetransmitTimer(c, f, now);
        }
    }

    // ---- fast recovery ----

    private static void enterFastRecovery(TcpConnection c, SendState f, int priorPipeBytes, long now) {
        RecoveryState r = f.recovery;
        beginUndo(c, f);
        r.phase = Phase.FAST;
        r.recoveryPoint = c.sndNxt;
        c.clear(Tcb.TLP_OUTSTANDING);
        c.ssthresh = c.congestion.onCongestion(c, flightBytes(c), now);
        Prr.start(r, priorPipeBytes);
        Ecn.onReduction(c);
        c.engine.counters.fastRecoveries++;
    }

    /** Returns the FlightSize of RFC 5681: bytes sent but not acknowledged. */
    private static int flightBytes(TcpConnection c) {
        return c.sndNxt - c.sndUna;
    }

    private static void onAckInFastRecovery(TcpConnection c, SendState f, AckSample sample, Segment s, long now) {
        RecoveryState r = f.recovery;
        boolean advanced = sample.ackedBytes > 0;
        if (mayUndo(c, r, s, sample)) {
            undo(c, f, sample);
            return;
        }
        if (!advanced) {
            return;
        }
        if (Sequence.afterOrAt(c.sndUna, r.recoveryPoint)) {
            // RFC 9937 section 6.2: all data outstanding at the start of recovery is acknowledged.
            c.cwnd = c.rate == null ? Math.max(c.ssthresh, c.sndMss) : c.cwnd;
            endRecovery(c, r);
        } else if (!c.is(Tcb.SACK) && !f.scoreboard.isEmpty()) {
            // RFC 6582 section 3.2: after a partial ACK, the next segment is lost too.
            markLost(c, f.scoreboard, f.scoreboard.head());
        }
    }

    private static void endRecovery(TcpConnection c, RecoveryState r) {
        r.phase = Phase.OPEN;
        r.frto = Frto.OFF;
        r.duplicateAcks = 0;
        r.duplicateAckBytes = 0;
        if (r.undoRetransmissions <= 0) {
            r.clearUndo();
        }
        Rack.onRecoveryEnd(c);
        if (c.rate != null) {
            c.rate.control.onRecoveryEnd();
        }
    }

    /**
     * Reduces the window for a loss that the probe has already repaired (RFC 8985 section 7.4.1). No recovery is
     * started.
     */
    private static void reduceOnce(TcpConnection c, SendState f, long now) {
        int flight = Math.max(flightBytes(c), c.cwnd);
        f.recovery.clearUndo();
        // A rate-based control would wait for the end of a recovery. No recovery follows, so it handles an ECN mark.
        c.ssthresh = c.rate == null ? c.congestion.onCongestion(c, flight, now)
                : c.congestion.onEcnMark(c, flight, now);
        c.cwnd = Math.min(c.cwnd, c.ssthresh);
        Ecn.onReduction(c);
    }

    /**
     * Restarts the retransmission timeout if the pacer still holds back the data to retransmit: the peer's silence
     * means nothing then. The timeout counts from the time at which the data is sent. Returns whether it was
     * restarted.
     */
    static boolean restartRtoIfPaced(TcpConnection c, SendState f, long now) {
        if (f.scoreboard.lostBytes() == 0 || c.pacer == null || c.pacer.checkOpen(now)) {
            return false;
        }
        c.setRetransmitTimer(RetransmitTimer.RTO, Pacer.nextSendNanos(c, now) + RttEstimator.backedOffRtoNanos(c));
        return true;
    }

    // ---- after a timeout ----

    /** Handles the expiry of the retransmission timer (RFC 6298 rules 5.4 to 5.6). */
    static void onTimeout(TcpConnection c, long now) {
        SendState f = c.sendState;
        if (f == null || f.scoreboard.isEmpty()) {
            return;
        }
        if (restartRtoIfPaced(c, f, now) || ConnectionTimers.endIfTimedOut(c)) {
            return;
        }
        c.engine.counters.retransmissionTimeouts++;
        RecoveryState r = f.recovery;
        Scoreboard sb = f.scoreboard;
        ConnectionTimers.onUnansweredTimeout(c);
        boolean first = r.phase != Phase.TIMEOUT || c.unansweredTimeouts == 1;
        if (r.phase == Phase.OPEN || first && r.phase == Phase.TIMEOUT) {
            beginUndo(c, f);
            // RFC 5681 section 3.1: ssthresh is reduced only for the first timeout of a segment.
            c.ssthresh = c.congestion.onCongestion(c, flightBytes(c), now);
        }
        c.congestion.onTimeout(now);
        if (sb.isSacked(sb.head())) {
            // RFC 2018 section 8: the first segment is SACKed but still not acknowledged, so the peer has dropped
            // it.
            c.engine.counters.sackReneges++;
            sb.markSackedLost();
        }
        r.duplicateAcks = 0;
        r.duplicateAckBytes = 0;
        c.clear(Tcb.TLP_OUTSTANDING);
        c.clear(Tcb.TLP_DUE);
        if (c.is(Tcb.SACK)) {
            Rack.markOnTimeout(c, f, now);
        } else {
            markAllLost(c, sb);
        }
        r.phase = Phase.TIMEOUT;
        r.recoveryPoint = c.sndNxt;
        // RFC 5682 section 3.1: only the first timeout of a segment can be detected as spurious.
        r.frto = first ? Frto.FIRST_ACK : Frto.OFF;
        PathMtu.onTimeout(c, f, now);
        // RFC 5681 section 3.1: the loss window is one segment, in addition to data that is not marked as lost.
        c.cwnd = f.pipeBytes() + c.sndMss;
        Ecn.onReduction(c);
        // RFC 6298 rule 5.6: the timeout counts from the retransmission, which the pacer may delay.
        c.setRetransmitTimer(RetransmitTimer.RTO, Pacer.nextSendNanos(c, now) + RttEstimator.backedOffRtoNanos(c));
    }

    /**
     * Shortens the retransmission timeout after a change of the pacing rate, if the data held back is now sent
     * earlier.
     */
    static void onPacingChange(TcpConnection c, long now) {
        if (c.retransmitTimer == RetransmitTimer.RTO) {
            long deadlineNanos = Pacer.nextSendNanos(c, now) + RttEstimator.backedOffRtoNanos(c);
            c.setRetransmitTimer(RetransmitTimer.RTO, Math.min(c.retransmitDeadlineNanos, deadlineNanos));
        }
    }

    private static void markAllLost(TcpConnection c, Scoreboard sb) {
        for (int entry = sb.head(); entry != sb.tail(); entry++) {
            markLost(c, sb, entry);
        }
    }

    private static void onAckAfterTimeout(TcpConnection c, SendState f, AckSample sample, Segment s, long now) {
        RecoveryState r = f.recovery;
        boolean advanced = sample.ackedBytes > 0;
        if (r.frto == Frto.SECOND_ACK && sample.originalDelivered || mayUndo(c, r, s, sample)) {
            // RFC 5682 section 3.1 step 3b, RFC 3522: an original segment was delivered, so the timeout was
            // spurious. The first ACK does not count. The originals may have arrived long before, and their SACK
            // blocks may have been lost or stripped on the path.
            f.scoreboard.clearLosses();
            undo(c, f, sample);
            return;
        }
        if (Sequence.afterOrAt(c.sndUna, r.recoveryPoint)) {
            endRecovery(c, r);
            return;
        }
        switch (r.frto) {
            case FIRST_ACK -> {
                // Step 2: after an advance, new data is sent instead of retransmissions. Any other ACK means a
                // loss; with SACK, a duplicate ACK is ignored.
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
                // Step 3a: a duplicate ACK for the new data shows a real loss. Up to three segments may be in
                // flight: the two new ones and a retransmission.
                r.frto = Frto.OFF;
                if (!advanced) {
                    c.cwnd = Math.max(c.cwnd, f.pipeBytes() + c.sndMss);
                }
            }
            case OFF -> {
            }
        }
    }

    // ---- undo (RFC 4015, RFC 3522, RFC 3708) ----

    private static void beginUndo(TcpConnection c, SendState f) {
        RecoveryState r = f.recovery;
        // D-SACKs for these retransmissions may still arrive. They must not count for the new ones.
        int earlier = r.undoPossible ? retransmissionsInFlight(f.scoreboard, r.undoEndSeq) : 0;
        r.undoPossible = true;
        r.undoCwnd = c.cwnd;
        // pipe_prev of RFC 4015 section 3
        r.undoSsthresh = Math.max(c.ssthresh, flightBytes(c));
        r.undoSeq = c.sndUna;
        r.undoEndSeq = earlier > 0 ? r.undoEndSeq : c.sndUna;
        r.undoRetransmissions = earlier > 0 ? earlier : -1;
        r.retransmitStamped = false;
    }

    private static int retransmissionsInFlight(Scoreboard sb, int endSeq) {
        int count = 0;
        for (int entry = sb.head(); entry != sb.tail() && Sequence.before(sb.startSeq(entry), endSeq); entry++) {
            sb.visitedEntries++;
            count += sb.isRetransmitted(entry) && !sb.isSacked(entry) ? 1 : 0;
        }
        return count;
    }

    static void onRetransmission(TcpConnection c, RecoveryState r, int endSeq, long now) {
        if (r.undoPossible) {
            r.undoEndSeq = Sequence.max(r.undoEndSeq, endSeq);
            r.undoRetransmissions = Math.max(0, r.undoRetransmissions) + 1;
            if (!r.retransmitStamped) {
                r.retransmitStamped = true;
                r.retransmitTimestamp = c.timestamp(now);
            }
        }
    }

    /**
     * Counts a D-SACK: retransmissions were unnecessary (RFC 3708 section 3). The peer may report adjacent segments
     * together.
     */
    static void onDuplicateReported(TcpConnection c, RecoveryState r, int start, int end) {
        if (r.undoPossible && r.undoRetransmissions > 0 && Sequence.afterOrAt(start, r.undoSeq)
                && Sequence.beforeOrAt(end, r.undoEndSeq)) {
            r.undoRetransmissions = Math.max(0, r.undoRetransmissions - Math.ceilDiv(end - start, c.sndMss));
        }
    }

    /** Undoes a recovery that has ended, if the last D-SACK for it arrives now (RFC 3708 section 3). */
    private static void onAckAfterRecovery(TcpConnection c, SendState f, AckSample sample) {
        if (isProvenSpurious(f.recovery, sample)) {
            undo(c, f, sample);
        } else if (c.sndUna - f.recovery.undoEndSeq > MAX_UNDO_BYTES) {
            // Sequence numbers will wrap. Another D-SACK must not seem to be one for this recovery.
            f.recovery.clearUndo();
        }
    }

    /** Returns whether D-SACKs have reported all retransmissions of the recovery, which may have ended since. */
    private static boolean isProvenSpurious(RecoveryState r, AckSample sample) {
        return r.undoPossible && r.undoRetransmissions == 0 && r.retransmitStamped && !sample.marked;
    }

    private static boolean mayUndo(TcpConnection c, RecoveryState r, Segment s, AckSample sample) {
        if (!r.undoPossible || sample.marked) {
            // RFC 4015 section 3.2: the ECN mark is itself a sign of congestion.
            return false;
        }
        if (isProvenSpurious(r, sample)) {
            return true;
        }
        // RFC 3522 section 3.2: the ACK echoes a timestamp before the first retransmission.
        return sample.ackedBytes > 0 && r.retransmitStamped && c.is(Tcb.TIMESTAMPS) && s.timestamps
                && Sequence.before(s.tsEcho, r.retransmitTimestamp);
    }

    /**
     * Undoes a spurious recovery (RFC 4015 section 3.2). Step 6: to avoid a burst, the window restarts from the
     * data in flight and returns to its old value by slow start. Step 8, an RTT sample from the original, is
     * omitted: if the ACK of the original was lost, the sample would include the timeout.
     */
    private static void undo(TcpConnection c, SendState f, AckSample sample) {
        RecoveryState r = f.recovery;
        int burst = Math.min(Math.max(sample.ackedBytes, c.sndMss), SegmentOutput.initialWindow(c));
        c.cwnd = Math.max(c.cwnd, Math.min(r.undoCwnd, f.pipeBytes() + burst));
        c.ssthresh = Math.max(c.ssthresh, r.undoSsthresh);
        c.congestion.onUndo();
        c.clear(Tcb.CWR_PENDING);
        c.engine.counters.spuriousRecoveries++;
        boolean ended = r.phase == Phase.OPEN;
        r.clearUndo();
        if (!ended) {
            endRecovery(c, r);
        } else if (c.rate != null) {
            c.rate.control.onRecoveryEnd();
        }
    }
}
