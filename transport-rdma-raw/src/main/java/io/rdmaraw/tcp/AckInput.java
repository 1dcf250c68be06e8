package io.rdmaraw.tcp;

import io.rdmaraw.tcp.Tcb.RetransmitTimer;
import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.tcp.send.RecoveryState;
import io.rdmaraw.tcp.send.Scoreboard;
import io.rdmaraw.tcp.send.SendState;

/**
 * Processes the ACK field, the window and the SACK option of an arriving segment (RFC 9293 section 3.10.7.4,
 * fifth check).
 */
final class AckInput {
    /**
     * Maximum backoff after progress. It allows 16 times the base timeout, in case the RTT has grown that much
     * since the last sample.
     */
    private static final int MAX_BACKOFF_AFTER_PROGRESS = 4;

    /** Sequence space that a FIN occupies. */
    private static final int FIN_LENGTH = 1;

    private AckInput() {
    }

    /** Returns false if the segment must be dropped or the connection has ended. */
    static boolean process(TcpConnection c, Segment s, long now) {
        int ack = s.ack;
        if (Sequence.after(ack, c.sndNxt) || Sequence.before(ack, c.sndUna - c.maxSndWnd)) {
            // RFC 5961 section 5.2: the ACK covers data that was never sent, or data acknowledged more than a
            // window ago.
            c.engine.counters.rejectedSegments++;
            if (s.payloadLength > 0) {
                // The segment may have been delayed by more than a window. Its sender gets an ACK at once.
                AckPolicy.ackImmediately(c);
            } else {
                AckPolicy.scheduleChallengeAck(c, now);
            }
            return false;
        }
        SegmentInput.updateTsRecent(c, s, now);
        boolean old = Sequence.before(ack, c.sndUna);
        boolean windowChanged = !old && updateWindow(c, s);
        if (c.retransmitTimer == RetransmitTimer.PERSIST || c.sndWnd == 0 && c.orphan == null) {
            onProbeAcknowledged(c);
        }
        SendState f = c.sendState;
        if (f == null || f.isIdle()) {
            if (c.is(Tcb.TLP_OUTSTANDING)) {
                TailLossProbe.onAckWhileIdle(c, s);
            }
            if (c.is(Tcb.ECN)) {
                AccurateEcn.onAckWhileIdle(c, s);
            }
            return true;
        }
        AckSample sample = c.engine.ackSample;
        sample.reset(f.pipeBytes());
        if (c.rate != null) {
            c.engine.rateSample.reset();
        }
        int sackedBefore = f.scoreboard.sackedBytes();
        int una = c.sndUna;
        if (!old && ack != una) {
            acknowledge(c, f, s, sample, now);
        }
        if (s.sackCount > 0 && c.is(Tcb.SACK)) {
            SackInput.process(c, f, s, sample, now);
        }
        sample.deliveredBytes = sample.ackedBytes + f.scoreboard.sackedBytes() - sackedBefore;
        if (c.is(Tcb.ECN)) {
            Ecn.onAck(c, s, sample);
        }
        // RFC 5681 section 2: a duplicate ACK acknowledges nothing new and has no data, no FIN and no window
        // change.
        sample.duplicateAck = ack == una && s.payloadLength == 0 && !windowChanged && !s.has(TcpFlags.FIN)
                && !f.scoreboard.isEmpty();
        measure(c, s, sample, now);
        if (!f.scoreboard.isEmpty() || sample.ackedBytes > 0) {
            Recovery.onAck(c, f, sample, s, now);
        }
        if (sample.ackedBytes > 0 || sample.newlySacked) {
            f.recovery.probeOutstanding = false;
            rearmTimer(c, f, now);
        }
        int removedBytes = sample.ackedBytes > 0 ? f.queue.acknowledge(ack) : 0;
        if (sample.ackedBytes > 0 && c.orphan != null) {
            c.engine.orphans.onProgress(c, now);
        }
        releaseIfIdle(c, f);
        if (removedBytes > 0) {
            c.engine.events.acked(c, removedBytes);
        }
        return c.state != TcpState.CLOSED;
    }

    private static void rearmTimer(TcpConnection c, SendState f, long now) {
        boolean reordering = c.retransmitTimer == RetransmitTimer.REORDERING;
        long deadline = c.retransmitDeadlineNanos;
        ConnectionTimers.restartRetransmitTimer(c, f, now);
        if (reordering && deadline > now && deadline < c.retransmitDeadlineNanos) {
            c.setRetransmitTimer(RetransmitTimer.REORDERING, deadline);
        }
    }

    static void releaseIfIdle(TcpConnection c, SendState f) {
        if (f.scoreboard.isEmpty() && f.queue.isEmpty() && (!c.is(Tcb.FIN_QUEUED) || c.is(Tcb.FIN_SENT))) {
            SendTimeStatistics.end(c, f);
            if (!f.markIdle()) {
                release(c, f);
            }
        }
    }

    /** Detaches the send state of a connection that has nothing in flight, and returns it to the pool. */
    static void release(TcpConnection c, SendState f) {
        c.sendState = null;
        c.engine.pools.releaseSendState(f);
    }

    /**
     * Updates the send window if the segment is newer than the last update (RFC 9293 section 3.10.7.4). Returns
     * whether the window has changed.
     */
    private static boolean updateWindow(TcpConnection c, Segment s) {
        if (Sequence.before(s.ack, c.sndUna) || !(Sequence.after(s.ack, c.sndUna)
                || Sequence.before(c.sndWl1, s.seq)
                || c.sndWl1 == s.seq && Sequence.beforeOrAt(c.sndWl2, s.ack))) {
            return false;
        }
        int window = Handshake.offeredWindow(c, s);
        boolean changed = window != c.sndWnd;
        if (c.sndWnd == 0 && changed) {
            c.lastProgressNanos = c.engine.now();
        }
        c.sndWnd = window;
        c.sndWl1 = s.seq;
        c.sndWl2 = s.ack;
        Handshake.updateMaxSendWindow(c, window);
        return changed;
    }

    /**
     * Resets the timeout count when the peer answers a probe. A closed window does not time out while the peer
     * answers (RFC 9293 section 3.8.6.1). The user may set a timeout; {@link Orphans} limits closed connections.
     */
    private static void onProbeAcknowledged(TcpConnection c) {
        c.unansweredTimeouts = 0;
        if (c.sndWnd > 0 && c.retransmitTimer == RetransmitTimer.PERSIST && !ConnectionTimers.isHeldByCork(c)) {
            c.backoff = 0;
            c.stopRetransmitTimer();
        }
    }

    private static void acknowledge(TcpConnection c, SendState f, Segment s, AckSample sample, long now) {
        int ack = s.ack;
        Scoreboard sb = f.scoreboard;
        RecoveryState r = f.recovery;
        sample.ackedBytes = ack - c.sndUna;
        c.bytesAcked += sample.ackedBytes;
        c.lastProgressNanos = now;
        c.sndUna = ack;
        c.unansweredTimeouts = 0;
        f.recordUse();
        while (!sb.isEmpty() && Sequence.beforeOrAt(sb.endSeq(sb.head()), ack)) {
            int entry = sb.head();
            if (!sb.isSacked(entry)) {
                onDelivered(c, sb, entry, r, s, sample, now);
            }
            sb.removeHead();
        }
        if (!sb.isEmpty() && Sequence.before(sb.startSeq(), ack)) {
            sb.trimHead(ack);
        }
        if (c.extras != null && c.extras.pendingMtu != 0) {
            PathMtu.onProgress(c);
        }
        if (sample.retransmissionDelivered && !c.is(Tcb.SACK)) {
            // Without SACK, an ACK beyond a retransmission does not show when the other segments arrived.
            sample.originalDelivered = false;
        }
    }

    /** Records an entry as delivered for the first time, by cumulative ACK or by SACK. */
    static void onDelivered(TcpConnection c, Scoreboard sb, int entry, RecoveryState r, Segment s, AckSample sample,
            long now) {
        int end = sb.endSeq(entry);
        int length = end - sb.startSeq(entry);
        long sent = sb.sentNanos(entry);
        sample.deliveredSegments++;
        boolean retransmitted = sb.isRetransmitted(entry);
        if (retransmitted) {
            sample.retransmissionDelivered = true;
            sample.retransmissionSentNanos = Math.max(sample.retransmissionSentNanos, sent);
        } else {
            long rtt = now - sent;
            sample.rttNanos = sample.rttNanos == AckSample.NO_RTT ? rtt : sample.rttNanos;
            sample.latestRttNanos = rtt;
            if (Sequence.beforeOrAt(end, r.recoveryPoint)) {
                sample.originalDelivered = true;
            }
            if (length > c.sndMss + FIN_LENGTH) {
                PathMtu.onLargeDelivered(c);
            }
        }
        if (length > c.largestDeliveredBytes) {
            c.largestDeliveredBytes = (char) length;
        }
        if (c.is(Tcb.SACK)) {
            Rack.onDelivered(c, end, sent, retransmitted, s, now);
        }
        if (c.rate != null) {
            c.rate.onDelivered(sb, entry, c.engine.rateSample, now);
        }
    }

    /**
     * Takes an RTT sample. Retransmitted data gives none unless timestamps identify the acknowledged copy (Karn's
     * algorithm, RFC 6298 section 3).
     */
    private static void measure(TcpConnection c, Segment s, AckSample sample, long now) {
        if (sample.rttNanos != AckSample.NO_RTT && !sample.retransmissionDelivered) {
            RttEstimator.sample(c, sample.rttNanos);
            RttEstimator.sampleMinimum(c, sample.latestRttNanos, now);
            c.congestion.onRttSample(c, sample.latestRttNanos, s.ack, c.sndNxt);
        } else if (sample.ackedBytes > 0) {
            measureByTimestamp(c, s, sample, now);
        }
    }

    /**
     * Takes an RTT sample of retransmitted data from the timestamp echo (RFC 7323 section 4.1). Only an echo of
     * the latest transmission is valid. An older echo also arrives if the first copy arrived in time and its ACK
     * was lost. Such a sample would include the timeouts since then and inflate the RTO.
     */
    private static void measureByTimestamp(TcpConnection c, Segment s, AckSample sample, long now) {
        if (c.is(Tcb.TIMESTAMPS) && s.timestamps && sample.retransmissionDelivered
                && Sequence.afterOrAt(s.tsEcho, c.timestamp(sample.retransmissionSentNanos))) {
            RttEstimator.sample(c, now - sample.retransmissionSentNanos);
        } else {
            // RFC 6298 section 5 keeps the backoff until the next sample. If all data in flight was
            // retransmitted, no sample may be available for long; the backoff is therefore limited when there is
            // progress.
            c.backoff = (byte) Math.min(c.backoff, MAX_BACKOFF_AFTER_PROGRESS);
        }
    }
}
