package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.send.RecoveryState;
import io.rdmaraw.tcp.send.SendState;

/**
 * A snapshot of a connection's state, like Linux's TCP_INFO. Times are in nanoseconds, sizes in bytes.
 *
 * @param recovering            whether loss recovery is in progress
 * @param timestamps            whether both ends use timestamps (RFC 7323)
 * @param sack                  whether both ends use SACK (RFC 2018)
 * @param ecn                   whether ECN was negotiated (RFC 3168, RFC 9768), so that received congestion marks are
 *     reported to the peer
 * @param sendWindowShift       scale factor of the windows that the peer advertises
 * @param receiveWindowShift    scale factor of the windows advertised to the peer
 * @param smoothedRttNanos      smoothed RTT; 0 if unknown
 * @param rttVariationNanos     RTT variation (RTTVAR of RFC 6298)
 * @param minimumRttNanos       minimum RTT of the last five minutes; 0 if unknown
 * @param retransmissionTimeoutNanos retransmission timeout without backoff
 * @param backoff               number of doublings of the current retransmission timeout
 * @param unansweredTimeouts    number of timeouts since the last acknowledgement from the peer
 * @param congestionWindowBytes congestion window
 * @param slowStartThresholdBytes slow start threshold, or {@link CongestionControl#UNBOUNDED}
 * @param segmentBytes          payload of a full-sized segment sent
 * @param peerSegmentBytes      payload of a full-sized segment of the peer, as estimated from those received
 * @param pathMtuBytes          path MTU in use
 * @param sendWindowBytes       window advertised by the peer
 * @param receiveWindowBytes    window advertised to the peer
 * @param receiveBufferBytes    present size of the receive buffer, the upper limit of the receive window
 * @param unacknowledgedBytes   sent but not acknowledged
 * @param inFlightBytes         estimate of the unacknowledged bytes that are in the network
 * @param lostBytes             unacknowledged bytes marked as lost and not retransmitted yet
 * @param sackedBytes           unacknowledged bytes that the peer has SACKed
 * @param unsentBytes           queued but not sent
 * @param unreadBytes           bytes received in order that the user has not read
 * @param outOfOrderBytes       received out of order, waiting for earlier data
 * @param bytesAcked            payload bytes that the peer has acknowledged so far. An acknowledged FIN counts as one
 *     byte, the SYN does not
 * @param bytesReceived         payload bytes received in order so far, including those that the user has not read
 * @param segmentsIn            segments received
 * @param segmentsOut           segments sent
 * @param retransmittedSegments segments retransmitted
 * @param sinceLastSentNanos    time since data, a SYN or a FIN was last sent
 * @param sinceLastReceivedNanos time since the last valid segment was received
 * @param timer                 the running timer, named as in ss(8): {@code on}, {@code persist},
 *     {@code keepalive} or {@code timewait}; empty if none is running
 * @param timerNanos            time until this timer expires
 * @param bytesSent             payload bytes sent, including retransmissions
 * @param retransmittedBytes    payload bytes retransmitted
 * @param deliveredBytes        bytesAcked, and the bytes that the peer has SACKed
 * @param deliveredMarkedBytes  delivered bytes for which the peer reported congestion marks
 * @param duplicatesReported    segments that the peer received twice (D-SACK)
 * @param reorderings           segments that the peer received after a segment that was sent later
 * @param busyNanos             total time with data queued or in flight
 * @param windowLimitedNanos    part of busyNanos in which only the peer's window prevented sending
 * @param sendBufferLimitedNanos part of busyNanos in which all data was sent and the user waited for room in the
 *     send buffer
 * @param receiveRttNanos       RTT measured at the receiver; 0 if unknown
 * @param receivedDscp          DSCP of the last data segment received
 * @param pacingRate            pacing rate in payload bytes per second; 0 if data is not paced
 * @param deliveryRate          last measured delivery rate in bytes per second; 0 if the congestion control does
 *     not measure rates
 * @param applicationLimited    whether the delivery rate was limited by a lack of data to send
 */
public record TcpConnectionInfo(TcpState state, String congestionControl, boolean recovering, boolean timestamps,
        boolean sack, boolean ecn, int sendWindowShift, int receiveWindowShift, long smoothedRttNanos,
        long rttVariationNanos, long minimumRttNanos, long retransmissionTimeoutNanos, int backoff,
        int unansweredTimeouts, int congestionWindowBytes, int slowStartThresholdBytes, int segmentBytes,
        int peerSegmentBytes, int pathMtuBytes, int sendWindowBytes, int receiveWindowBytes, int receiveBufferBytes,
        int unacknowledgedBytes, int inFlightBytes, int lostBytes, int sackedBytes, int unsentBytes, int unreadBytes,
        int outOfOrderBytes, long bytesAcked, long bytesReceived, int segmentsIn, int segmentsOut,
        int retransmittedSegments, long sinceLastSentNanos, long sinceLastReceivedNanos, String timer,
        long timerNanos, long bytesSent, long retransmittedBytes, long deliveredBytes, long deliveredMarkedBytes,
        int duplicatesReported, int reorderings, long busyNanos, long windowLimitedNanos, long sendBufferLimitedNanos,
        long receiveRttNanos, int receivedDscp, long pacingRate, long deliveryRate, boolean applicationLimited) {
    private static final ConnectionExtras NO_EXTRAS = new ConnectionExtras();

    static TcpConnectionInfo of(TcpConnection c) {
        SendState f = c.sendState;
        ConnectionExtras extras = c.extras == null ? NO_EXTRAS : c.extras;
        int sackedBytes = f == null ? 0 : f.scoreboard.sackedBytes();
        int unacknowledgedBytes = c.sndNxt - c.sndUna;
        long now = c.engine.now();
        return new TcpConnectionInfo(c.state, c.congestion.name(),
                f != null && f.recovery.phase != RecoveryState.Phase.OPEN, c.is(Tcb.TIMESTAMPS), c.is(Tcb.SACK),
                c.is(Tcb.ECN), c.sndWndShift, c.rcvWndShift, c.srttNanos, c.rttvarNanos,
                c.minRttNanos == Tcb.NEVER ? 0 : c.minRttNanos, c.rtoNanos, c.backoff, c.unansweredTimeouts,
                c.cwnd, c.ssthresh, c.sndMss, c.receiveMss, c.mtu, c.sndWnd, c.rcvAdv - c.rcvNxt,
                c.receiveBufferBytes, unacknowledgedBytes, c.inFlightBytes(),
                f == null ? 0 : f.scoreboard.lostBytes(), sackedBytes,
                c.unsentBytes(),
                c.unreadBytes, c.outOfOrderBytes(), c.bytesAcked, c.bytesIn, c.segmentsIn, c.segmentsOut,
                c.retransmittedSegments, now - c.lastSendNanos, now - c.lastReceiveNanos, ConnectionTimers.timerName(c),
                Math.max(0, ConnectionTimers.reportedDeadline(c) - now),
                c.bytesAcked + unacknowledgedBytes + extras.retransmittedBytes, extras.retransmittedBytes,
                c.bytesAcked + sackedBytes, extras.deliveredMarkedBytes, extras.duplicatesReported,
                extras.reorderings, SendTimeStatistics.busyNanos(c, now), SendTimeStatistics.windowLimitedNanos(c, now),
                SendTimeStatistics.sendBufferLimitedNanos(c, now), c.receiveRttMicros * 1_000L, extras.receivedDscp,
                c.pacingRate(), c.rate == null ? 0 : c.rate.reportedRate(),
                c.rate != null && c.rate.isReportedAppLimited());
    }
}
