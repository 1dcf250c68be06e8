package io.rdmaraw.metrics;

import io.netty.util.internal.UnstableApi;

/**
 * A snapshot of the state of a TCP connection, similar to {@code TCP_INFO} of Linux. Durations are in
 * nanoseconds, sizes in bytes.
 *
 * @param state                      the state of RFC 9293
 * @param congestionControl          name of the congestion control
 * @param recovering                 whether loss recovery is in progress
 * @param smoothedRttNanos           smoothed round-trip time, or 0 if unknown
 * @param minimumRttNanos            minimum round-trip time of the last five minutes, or 0 if unknown
 * @param retransmissionTimeoutNanos retransmission timeout without backoff
 * @param congestionWindowBytes      congestion window
 * @param sendWindowBytes            window advertised by the peer
 * @param receiveWindowBytes         window advertised to the peer
 * @param segmentBytes               payload of a full-sized segment sent
 * @param pathMtuBytes               path MTU in use
 * @param unacknowledgedBytes        bytes sent but not acknowledged
 * @param unsentBytes                bytes written but not sent
 * @param bytesAcked                 payload bytes that the peer has acknowledged so far. An acknowledged FIN counts as
 *                                   one byte, the SYN does not
 * @param bytesReceived              payload bytes received in order so far, including those that the application has
 *                                   not read
 * @param segmentsIn                 segments received
 * @param segmentsOut                segments sent
 * @param retransmittedSegments      segments retransmitted
 * @param timer                      the running timer, as named by ss(8): {@code on} (retransmission),
 *                                   {@code persist}, {@code keepalive}, {@code timewait} (FIN-WAIT-2); empty if
 *                                   none is running
 * @param timerNanos                 time until the timer expires
 * @param timestamps                 whether both ends use timestamps (RFC 7323)
 * @param sack                       whether both ends use selective acknowledgements (RFC 2018)
 * @param ecn                        whether ECN was negotiated (RFC 3168, RFC 9768), so that received congestion marks
 *                                   are reported to the peer
 * @param sendWindowShift            scale of the window advertised by the peer
 * @param receiveWindowShift         scale of the window advertised to the peer
 * @param rttVariationNanos          variation of the round-trip time (RTTVAR of RFC 6298)
 * @param receiveRttNanos            round-trip time as measured by the receiver, or 0 if unknown
 * @param backoff                    number of doublings of the current retransmission timeout
 * @param unansweredTimeouts         number of timeouts since the last acknowledgement from the peer
 * @param slowStartThresholdBytes    slow start threshold; 2^31 - 1 before the first loss
 * @param peerSegmentBytes           payload of a full-sized segment of the peer, as estimated from those received
 * @param receiveBufferBytes         present size of the receive buffer, the upper limit of the receive window
 * @param inFlightBytes              unacknowledged bytes that are assumed to be in the network
 * @param lostBytes                  unacknowledged bytes that are assumed lost and not retransmitted yet
 * @param sackedBytes                unacknowledged bytes that the peer has reported as received (SACK)
 * @param unreadBytes                bytes received in order that the application has not read
 * @param outOfOrderBytes            received bytes that wait for missing earlier ones
 * @param sinceLastSentNanos         time since data, a SYN or a FIN was last sent
 * @param sinceLastReceivedNanos     time since the last valid segment was received
 * @param bytesSent                  payload bytes sent, including retransmissions
 * @param retransmittedBytes         payload bytes retransmitted
 * @param deliveredBytes             {@code bytesAcked}, and the bytes that the peer has reported as received (SACK)
 * @param deliveredMarkedBytes       the part of {@code deliveredBytes} that was acknowledged with congestion
 *                                   marks
 * @param duplicatesReported         segments that the peer reported to have received twice (D-SACK)
 * @param reorderings                segments that the peer received out of order: after a segment that was sent later
 * @param busyNanos                  total time during which data was queued or in flight
 * @param windowLimitedNanos         the part of {@code busyNanos} during which only the peer's window limited
 *                                   sending
 * @param sendBufferLimitedNanos     the part of {@code busyNanos} during which the send buffer, and not the network,
 *                                   limited sending: all data in it was sent, and more data waited for room
 * @param receivedDscp               DSCP of the last data segment received
 * @param pacingRate                 pacing rate in payload bytes per second, or 0 if sending is not paced
 * @param deliveryRate               last measured delivery rate in bytes per second, or 0 if the congestion
 *                                   control measures none
 * @param applicationLimited         whether the application, and not the network, limited the measured delivery
 *                                   rate
 */
@UnstableApi
public record RdmaRawTcpInfo(String state, String congestionControl, boolean recovering, long smoothedRttNanos,
                             long minimumRttNanos, long retransmissionTimeoutNanos, int congestionWindowBytes,
                             int sendWindowBytes, int receiveWindowBytes, int segmentBytes, int pathMtuBytes,
                             int unacknowledgedBytes, int unsentBytes, long bytesAcked, long bytesReceived,
                             int segmentsIn, int segmentsOut, int retransmittedSegments, String timer,
                             long timerNanos, boolean timestamps, boolean sack, boolean ecn, int sendWindowShift,
                             int receiveWindowShift, long rttVariationNanos, long receiveRttNanos, int backoff,
                             int unansweredTimeouts, int slowStartThresholdBytes, int peerSegmentBytes,
                             int receiveBufferBytes, int inFlightBytes, int lostBytes, int sackedBytes,
                             int unreadBytes, int outOfOrderBytes, long sinceLastSentNanos,
                             long sinceLastReceivedNanos, long bytesSent, long retransmittedBytes,
                             long deliveredBytes, long deliveredMarkedBytes, int duplicatesReported, int reorderings,
                             long busyNanos, long windowLimitedNanos, long sendBufferLimitedNanos,
                             int receivedDscp, long pacingRate, long deliveryRate, boolean applicationLimited) {}
