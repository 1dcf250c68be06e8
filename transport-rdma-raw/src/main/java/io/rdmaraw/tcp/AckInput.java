package io.rdmaraw.tcp;

import io.rdmaraw.tcp.Tcb.RetransmitTimer;
import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.tcp.send.Flight;
import io.rdmaraw.tcp.send.RecoveryState;
import io.rdmaraw.tcp.send.Scoreboard;

/** The ACK field, the window and the SACK option of an arriving segment (RFC 9293 section 3.10.7.4, fifth check). */
final class AckInput {
    /** 16 times the timeout: room for an RTT that has grown by as much since it was last measured. */
    private static final int MAX_BACKOFF_AFTER_PROGRESS = 4;

    /** A FIN has a number of its own. */
    private static final int FIN_LENGTH = 1;

    private AckInput() {
    }

    /** Returns false if the segment must be dropped, or if the connection has ended. */
    static boolean process(TcpConnection c, Segment s, long now) {
        int ack = s.ack;
        if (Sequence.after(ack, c.sndNxt) || Sequence.before(ack, c.sndUna - c.maxSndWnd)) {
            // RFC 5961 section 5.2: neither acknowledges what was never sent nor what was sent long ago.
            c.engine.counters.blindAttackSegments++;
            if (s.payloadLength > 0) {
                // Delayed by more than a window, perhaps: its sender is told at once where we stand.
                AckPolicy.onDisorder(c);
            } else {
                AckPolicy.challenge(c, now);
            }
            return false;
        }
        SegmentInput.updateTsRecent(c, s, now);
        boolean old = Sequence.before(ack, c.sndUna);
        boolean windowChanged = !old && updateWindow(c, s);
        if (c.retransmitTimer == RetransmitTimer.PERSIST || c.sndWnd == 0 && c.orphan == null) {
            onAnswerToProbe(c);
        }
        Flight f = c.flight;
        if (f == null || f.isIdle()) {
            if (c.is(Tcb.TLP_OUTSTANDING)) {
                TailLossProbe.onAckWhileIdle(c, s);
            }
            if (c.is(Tcb.ECN)) {
                AccurateEcn.onAckWhileIdle(c, s);
            }
            return true;
        }
        AckSample sample = c.engine.sample;
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
        // RFC 5681 section 2: nothing new, no data, nothing else it could be for
        sample.duplicate = ack == una && s.payloadLength == 0 && !windowChanged && !s.has(TcpFlags.FIN)
                && !f.scoreboard.isEmpty();
        measure(c, s, sample, now);
        if (!f.scoreboard.isEmpty() || sample.ackedBytes > 0) {
            Recovery.onAck(c, f, sample, s, now);
        }
        if (sample.ackedBytes > 0 || sample.newlySacked) {
            f.recovery.probed = false;
            rearm(c, f, now);
        }
        int left = sample.ackedBytes > 0 ? f.queue.acknowledge(ack) : 0;
        if (sample.ackedBytes > 0 && c.orphan != null) {
            c.engine.orphans.onProgress(c, now);
        }
        releaseIfIdle(c, f);
        if (left > 0) {
            c.engine.events.acked(c, left);
        }
        return c.state != TcpState.CLOSED;
    }

    private static void rearm(TcpConnection c, Flight f, long now) {
        boolean reordering = c.retransmitTimer == RetransmitTimer.REORDERING;
        long deadline = c.retransmitDeadlineNanos;
        ConnectionTimers.restart(c, f, now);
        if (reordering && deadline > now && deadline < c.retransmitDeadlineNanos) {
            c.setRetransmitTimer(RetransmitTimer.REORDERING, deadline);
        }
    }

    static void releaseIfIdle(TcpConnection c, Flight f) {
        if (f.scoreboard.isEmpty() && f.queue.isEmpty() && (!c.is(Tcb.FIN_QUEUED) || c.is(Tcb.FIN_SENT))) {
            SendTimes.end(c, f);
            if (!f.rest()) {
                release(c, f);
            }
        }
    }

    /** Gives back what nothing is in flight of. */
    static void release(TcpConnection c, Flight f) {
        c.flight = null;
        c.engine.pools.give(f);
    }

    /** RFC 9293 section 3.10.7.4: the window of a newer segment replaces the old one. */
    private static boolean updateWindow(TcpConnection c, Segment s) {
        if (Sequence.before(s.ack, c.sndUna) || !(Sequence.after(s.ack, c.sndUna)
                || Sequence.before(c.sndWl1, s.seq)
                || c.sndWl1 == s.seq && Sequence.beforeOrAt(c.sndWl2, s.ack))) {
            return false;
        }
        int window = Handshake.offeredWindow(c, s);
        boolean changed = window != c.sndWnd;
        if (c.sndWnd == 0 && changed) {
            c.stalledSinceNanos = c.engine.now();
        }
        c.sndWnd = window;
        c.sndWl1 = s.seq;
        c.sndWl2 = s.ack;
        c.maxSndWnd = Math.max(c.maxSndWnd, window);
        return changed;
    }

    /**
     * RFC 9293 section 3.8.6.1: while the peer answers, a closed window is no reason to give up. A user may do so, and
     * for one who has closed the connection {@link Orphans} does.
     */
    private static void onAnswerToProbe(TcpConnection c) {
        c.unansweredTimeouts = 0;
        if (c.sndWnd > 0 && c.retransmitTimer == RetransmitTimer.PERSIST && !ConnectionTimers.isHeldByCork(c)) {
            c.backoff = 0;
            c.stopRetransmitTimer();
        }
    }

    private static void acknowledge(TcpConnection c, Flight f, Segment s, AckSample sample, long now) {
        int ack = s.ack;
        Scoreboard sb = f.scoreboard;
        RecoveryState r = f.recovery;
        sample.ackedBytes = ack - c.sndUna;
        c.bytesAcked += sample.ackedBytes;
        c.stalledSinceNanos = now;
        c.sndUna = ack;
        c.unansweredTimeouts = 0;
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
            // Without SACK an acknowledgement past a retransmission doesn't tell when the rest arrived.
            sample.originalDelivered = false;
        }
    }

    /** An entry is reported to have arrived for the first time, in order or by SACK. */
    static void onDelivered(TcpConnection c, Scoreboard sb, int entry, RecoveryState r, Segment s, AckSample sample,
            long now) {
        int end = sb.endSeq(entry);
        int length = end - sb.startSeq(entry);
        long sent = sb.sentNanos(entry);
        sample.deliveredSegments++;
        boolean retransmitted = sb.isRetransmitted(entry);
        if (retransmitted) {
            sample.retransmissionDelivered = true;
            sample.retransmittedNanos = Math.max(sample.retransmittedNanos, sent);
        } else {
            long rtt = now - sent;
            sample.rttNanos = sample.rttNanos == AckSample.NO_RTT ? rtt : sample.rttNanos;
            sample.shortRttNanos = rtt;
            if (Sequence.beforeOrAt(end, r.endSeq)) {
                sample.originalDelivered = true;
            }
            if (length > c.sndMss + FIN_LENGTH) {
                PathMtu.onLargeDelivered(c);
            }
        }
        if (length > c.largestDelivered) {
            c.largestDelivered = (char) length;
        }
        if (c.is(Tcb.SACK)) {
            Rack.onDelivered(c, end, sent, retransmitted, s, now);
        }
        if (c.rate != null) {
            c.rate.onDelivered(sb, entry, c.engine.rateSample, now);
        }
    }

    /** RFC 6298 section 3, Karn: no sample from what was sent twice, unless timestamps tell which was acknowledged. */
    private static void measure(TcpConnection c, Segment s, AckSample sample, long now) {
        if (sample.rttNanos != AckSample.NO_RTT && !sample.retransmissionDelivered) {
            RttEstimator.sample(c, sample.rttNanos);
            RttEstimator.sampleMinimum(c, sample.shortRttNanos, now);
            c.congestion.onRttSample(c, sample.shortRttNanos, s.ack, c.sndNxt);
        } else if (sample.ackedBytes > 0) {
            measureByTimestamp(c, s, sample, now);
        }
    }

    /**
     * RFC 7323 section 4.1, for what was sent more than once. Only an echo of the latest transmission is a round trip:
     * an earlier time is echoed when the first copy arrived late, but also when it arrived in time and its
     * acknowledgement was lost, and a sample of all the timeouts since then would carry the RTO away.
     */
    private static void measureByTimestamp(TcpConnection c, Segment s, AckSample sample, long now) {
        if (c.is(Tcb.TIMESTAMPS) && s.timestamps && sample.retransmissionDelivered
                && Sequence.afterOrAt(s.tsEcho, c.timestamp(sample.retransmittedNanos))) {
            RttEstimator.sample(c, now - sample.retransmittedNanos);
        } else {
            // RFC 6298 section 5 keeps the backoff until there is a sample. When all that is in flight was sent twice
            // there may be none for long; so progress caps it.
            c.backoff = (byte) Math.min(c.backoff, MAX_BACKOFF_AFTER_PROGRESS);
        }
    }
}
