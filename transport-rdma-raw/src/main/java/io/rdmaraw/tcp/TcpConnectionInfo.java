package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.send.Flight;
import io.rdmaraw.tcp.send.RecoveryState;

/**
 * Where a connection stands: a picture of one moment, as TCP_INFO of Linux gives. Times are nanoseconds, sizes bytes.
 *
 * @param recovering            whether losses are being repaired
 * @param timestamps            whether both ends use timestamps (RFC 7323)
 * @param sack                  whether both ends use SACK (RFC 2018)
 * @param ecn                   whether congestion marks are echoed (RFC 3168)
 * @param sendWindowShift       scale of the windows the peer offers
 * @param receiveWindowShift    scale of the windows offered to the peer
 * @param smoothedRttNanos      smoothed RTT; 0 while unknown
 * @param rttVariationNanos     its mean deviation
 * @param minimumRttNanos       the least RTT of the last minutes; 0 while unknown
 * @param timeoutNanos          retransmission timeout without backoff
 * @param backoff               doublings of the timeout in force
 * @param unansweredTimeouts    timeouts since the peer last acknowledged something
 * @param congestionWindowBytes the congestion window
 * @param slowStartThresholdBytes its threshold, or {@link CongestionControl#UNBOUNDED}
 * @param segmentBytes          payload of a full segment
 * @param peerSegmentBytes      the largest segment the peer has sent
 * @param pathMtuBytes          the path MTU in use
 * @param sendWindowBytes       the window the peer offers
 * @param receiveWindowBytes    the window offered to the peer
 * @param receiveBufferBytes    what that window may grow to as the reader keeps up
 * @param unacknowledgedBytes   sent and not acknowledged
 * @param inFlightBytes         of these, believed to be in the network
 * @param lostBytes             of these, believed lost and not sent again yet
 * @param sackedBytes           of these, reported to have arrived
 * @param unsentBytes           queued and not sent
 * @param unreadBytes           delivered and not read
 * @param outOfOrderBytes       held because something before them is missing
 * @param bytesAcked            acknowledged since the connection began, SYN and FIN included
 * @param bytesReceived         delivered since the connection began
 * @param segmentsIn            received
 * @param segmentsOut           sent
 * @param retransmittedSegments sent again
 * @param sinceLastSentNanos    time since something that takes sequence space was sent
 * @param sinceLastReceivedNanos time since the peer was last heard
 * @param timer                 the timer that runs, as ss(8) calls it: {@code on}, {@code persist}, {@code keepalive},
 *                              {@code timewait}; empty while none does
 * @param timerNanos            until it expires
 * @param bytesSent             payload sent, what was sent again included
 * @param retransmittedBytes    of that, sent again
 * @param deliveredBytes        acknowledged or reported to have arrived
 * @param deliveredMarkedBytes  of that, by acknowledgements that tell of congestion marks
 * @param duplicatesReported    segments that the peer has got twice (D-SACK)
 * @param reorderings           times that something older arrived at the peer after something newer
 * @param busyNanos             how long something has been queued or in flight, altogether
 * @param windowLimitedNanos    of that, kept from sending more by the peer's window alone
 * @param sendBufferLimitedNanos of that, with all sent, while the user had more than the send buffer takes
 * @param receiveRttNanos       round trip as measured by what is received; 0 while unknown
 * @param receivedDscp          differentiated services codepoint of the last data received
 * @param pacingRate            bytes of payload per second that data is paced at; 0 where it is not
 * @param deliveryRate          bytes per second that arrive, as last measured; 0 where the congestion control measures
 *                              none
 * @param applicationLimited    whether that was no more because there was no more to send
 */
public record TcpConnectionInfo(TcpState state, String congestionControl, boolean recovering, boolean timestamps,
        boolean sack, boolean ecn, int sendWindowShift, int receiveWindowShift, long smoothedRttNanos,
        long rttVariationNanos, long minimumRttNanos, long timeoutNanos, int backoff, int unansweredTimeouts,
        int congestionWindowBytes, int slowStartThresholdBytes, int segmentBytes, int peerSegmentBytes,
        int pathMtuBytes, int sendWindowBytes, int receiveWindowBytes, int receiveBufferBytes,
        int unacknowledgedBytes, int inFlightBytes, int lostBytes, int sackedBytes, int unsentBytes, int unreadBytes,
        int outOfOrderBytes, long bytesAcked, long bytesReceived, int segmentsIn, int segmentsOut,
        int retransmittedSegments, long sinceLastSentNanos, long sinceLastReceivedNanos, String timer,
        long timerNanos, long bytesSent, long retransmittedBytes, long deliveredBytes, long deliveredMarkedBytes,
        int duplicatesReported, int reorderings, long busyNanos, long windowLimitedNanos, long sendBufferLimitedNanos,
        long receiveRttNanos, int receivedDscp, long pacingRate, long deliveryRate, boolean applicationLimited) {
    private static final ConnectionExtras NOTHING = new ConnectionExtras();

    static TcpConnectionInfo of(TcpConnection c) {
        Flight f = c.flight;
        ConnectionExtras extras = c.extras == null ? NOTHING : c.extras;
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
                c.retransmittedSegments, now - c.lastSendNanos, now - c.lastReceiveNanos, ConnectionTimers.name(c),
                Math.max(0, ConnectionTimers.shownDeadline(c) - now),
                c.bytesAcked + unacknowledgedBytes + extras.retransmittedBytes, extras.retransmittedBytes,
                c.bytesAcked + sackedBytes, extras.deliveredMarkedBytes, extras.duplicatesReported,
                extras.reorderings, SendTimes.busyNanos(c, now), SendTimes.windowLimitedNanos(c, now),
                SendTimes.sendBufferLimitedNanos(c, now), c.receiveRttMicros * 1_000L, extras.receivedDscp,
                c.pacingRate(), c.rate == null ? 0 : c.rate.shownRate(), c.rate != null && c.rate.isShownAppLimited());
    }
}
