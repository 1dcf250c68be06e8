package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.LostSegment;
import io.rdmaraw.tcp.congestion.RateBasedControl;
import io.rdmaraw.tcp.congestion.RateSample;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.send.RecoveryState.Phase;
import io.rdmaraw.tcp.send.Scoreboard;
import io.rdmaraw.tcp.send.SendRecords;
import io.rdmaraw.tcp.send.SendState;

/**
 * Measures the delivery rate of a connection (draft-ietf-ccwg-bbr section 4.1) and passes the samples to a
 * {@link RateBasedControl}. Only connections with such a control have an instance.
 */
final class DeliveryRate {
    private static final long SECOND_NANOS = 1_000_000_000L;
    private static final int MAX_CWND = 1 << 30;

    final RateBasedControl control;
    /** C.delivered, in bytes. */
    private long deliveredBytes;
    private long deliveredNanos;
    /** C.first_send_time: send time of the most recently sent segment that was delivered. */
    private long firstSentNanos;
    /** C.lost, in bytes. */
    private long lostBytes;
    /** C.app_limited: samples are application-limited until this many bytes have been delivered; 0: not limited. */
    private long appLimitedUntilBytes;
    /**
     * Last rate that describes the path, in bytes per second. An application-limited sample replaces it only if
     * it is higher.
     */
    private long reportedRate;
    private boolean reportedAppLimited;

    // of the ACK being processed
    private long priorNanos;
    private long sendElapsedNanos;
    private int newestEndSeq;

    DeliveryRate(RateBasedControl control) {
        this.control = control;
    }

    /** Sets the congestion control of a connection. Creates or removes its rate measurement and pacing. */
    static void setCongestionControl(TcpConnection c, CongestionControl control) {
        if (c.rate != null) {
            // A rate-based control sets no ssthresh. Without one, the next control would treat the window as
            // unlimited after recovery.
            c.ssthresh = Math.max(c.cwnd, 2 * c.sndMss);
        }
        c.congestion = control;
        c.rate = control instanceof RateBasedControl rateBased ? new DeliveryRate(rateBased) : null;
        if (c.rate != null && c.sendState != null) {
            c.sendState.scoreboard.startRecording();
        }
        Pacer.configure(c);
    }

    /**
     * OnPacketSent: records the state of the connection when an entry is sent or retransmitted. The entry already
     * counts as in flight.
     */
    void onSent(TcpConnection c, SendState f, int entry, long now) {
        Scoreboard sb = f.scoreboard;
        long pipe = sb.pipeBytes();
        if (pipe <= sb.lengthOf(entry)) {
            firstSentNanos = now;
            deliveredNanos = now;
            if (appLimitedUntilBytes != 0) {
                control.onRestart(c, now);
                c.pacer.update(c);
            }
        }
        sb.records().recordSent(entry, deliveredBytes, deliveredNanos, firstSentNanos, lostBytes, pipe,
                appLimitedUntilBytes != 0);
    }

    /** UpdateRateSample: handles the delivery of an entry. */
    void onDelivered(Scoreboard sb, int entry, RateSample sample, long now) {
        SendRecords records = sb.records();
        if (!records.isMeasured(entry)) {
            return;
        }
        long sent = sb.sentNanos(entry);
        int end = sb.endSeq(entry);
        boolean newest = sample.priorDeliveredBytes < 0 || sent > firstSentNanos
                || sent == firstSentNanos && Sequence.after(end, newestEndSeq);
        if (!newest) {
            return;
        }
        sample.priorDeliveredBytes = records.deliveredBytes(entry);
        sample.appLimited = records.isAppLimited(entry);
        sample.flightAtSendBytes = records.flightBytes(entry);
        sample.lostBytes = records.lostBytes(entry);
        priorNanos = records.deliveredNanos(entry);
        sendElapsedNanos = sent - records.firstSentNanos(entry);
        firstSentNanos = sent;
        newestEndSeq = end;
    }

    /** Handles an entry that was just marked as lost. */
    void onLost(TcpConnection c, Scoreboard sb, int entry) {
        lostBytes += sb.lengthOf(entry);
        SendRecords records = sb.records();
        if (records.isMeasured(entry)) {
            LostSegment lost = c.engine.lostSegment;
            lost.startSeq = sb.startSeq(entry);
            lost.lengthBytes = sb.lengthOf(entry);
            lost.flightAtSendBytes = records.flightBytes(entry);
            lost.lostSinceSentBytes = lostBytes - records.lostBytes(entry);
            lost.appLimited = records.isAppLimited(entry);
            lost.totalDeliveredBytes = deliveredBytes;
            lost.selectiveAcks = c.is(Tcb.SACK);
            control.onSegmentLost(c, lost, c.engine.now());
        }
    }

    /** Updates the delivered bytes for an ACK, before its losses are detected. */
    void onDeliveredBytes(AckSample ack, long now) {
        if (ack.deliveredBytes > 0) {
            deliveredBytes += ack.deliveredBytes;
            deliveredNanos = now;
        }
        if (appLimitedUntilBytes != 0 && deliveredBytes > appLimitedUntilBytes) {
            appLimitedUntilBytes = 0;
        }
    }

    /** GenerateRateSample: completes the sample of an ACK and passes it to the control. */
    void onAck(TcpConnection c, SendState f, AckSample ack, RateSample sample, long now) {
        if (sample.priorDeliveredBytes >= 0) {
            long interval = Math.max(sendElapsedNanos, now - priorNanos);
            sample.deliveredBytes = deliveredBytes - sample.priorDeliveredBytes;
            sample.lostBytes = lostBytes - sample.lostBytes;
            // A shorter interval belongs to a segment that was retransmitted although the original has arrived.
            if (interval > 0 && interval >= c.minRttNanos) {
                sample.deliveryRate = (long) ((double) sample.deliveredBytes * SECOND_NANOS / interval);
                if (!sample.appLimited || sample.deliveryRate >= reportedRate) {
                    reportedRate = sample.deliveryRate;
                    reportedAppLimited = sample.appLimited;
                }
            }
        }
        sample.rttNanos = ack.retransmissionDelivered ? RateSample.NO_RTT : ack.latestRttNanos;
        sample.newlyDeliveredBytes = ack.deliveredBytes;
        sample.totalDeliveredBytes = deliveredBytes;
        sample.inFlightBytes = f.pipeBytes();
        sample.windowLimited = c.is(Tcb.CWND_LIMITED) || ack.priorPipeBytes + c.sndMss > c.cwnd;
        sample.selectiveAcks = c.is(Tcb.SACK);
        sample.recovering = f.recovery.phase != Phase.OPEN;
        c.clear(Tcb.CWND_LIMITED);
        c.cwnd = Math.clamp(control.onRateSample(c, sample, now), c.sndMss, MAX_CWND);
        if (sample.ignoreLowRates) {
            markAppLimited(sample.inFlightBytes);
        }
    }

    /** Returns the rate for TCP_INFO, in bytes per second; 0 before the first sample. */
    long reportedRate() {
        return reportedRate;
    }

    /** Returns whether {@link #reportedRate} was limited by the application. */
    boolean isReportedAppLimited() {
        return reportedAppLimited;
    }

    /** CheckIfApplicationLimited: called when the connection has nothing more to send for now. */
    void onNothingToSend(TcpConnection c, SendState f) {
        if (f == null) {
            markAppLimited(0);
            return;
        }
        int pipe = f.pipeBytes();
        int unsent = f.queue.endSeq() - c.sndNxt;
        if (unsent < c.sndMss && pipe < c.cwnd && f.scoreboard.lostBytes() == 0) {
            markAppLimited(pipe);
        }
    }

    private void markAppLimited(long inFlightBytes) {
        appLimitedUntilBytes = Math.max(1, deliveredBytes + inFlightBytes);
    }
}
