package io.rdmaraw.metrics;

import io.netty.util.internal.UnstableApi;

/**
 * A snapshot of a connection's state. Times are nanoseconds, sizes bytes.
 *
 * @param state of RFC 9293
 * @param congestionControl its name
 * @param recovering whether losses are being repaired
 * @param smoothedRttNanos smoothed round-trip time, 0 while unknown
 * @param minimumRttNanos the least of the last minutes, 0 while unknown
 * @param retransmissionTimeoutNanos without backoff
 * @param congestionWindowBytes the congestion window
 * @param sendWindowBytes the window that the peer offers
 * @param receiveWindowBytes the window offered to the peer
 * @param segmentBytes payload of a full segment
 * @param pathMtuBytes the path MTU in use
 * @param unacknowledgedBytes sent and not acknowledged
 * @param unsentBytes written and not sent
 * @param bytesAcked acknowledged since the connection began
 * @param bytesReceived received in order since the connection began
 * @param segmentsIn received
 * @param segmentsOut sent
 * @param retransmittedSegments sent again
 * @param timer the timer that runs, as ss(8) calls it: {@code on} (retransmission), {@code persist}, {@code keepalive},
 *              {@code timewait} (FIN-WAIT-2); empty while none does
 * @param timerNanos until it expires
 * @param timestamps whether both ends use timestamps (RFC 7323)
 * @param sack whether both ends use selective acknowledgements (RFC 2018)
 * @param ecn whether congestion marks are echoed (RFC 3168)
 * @param sendWindowShift scale of the windows that the peer offers
 * @param receiveWindowShift scale of the windows offered to the peer
 * @param rttVariationNanos mean deviation of the round-trip time
 * @param receiveRttNanos round trip as measured by what is received, 0 while unknown
 * @param backoff doublings of the timeout in force
 * @param unansweredTimeouts timeouts since the peer last acknowledged something
 * @param slowStartThresholdBytes of the congestion window; 2^31 - 1 before the first loss
 * @param peerSegmentBytes the largest segment that the peer has sent
 * @param receiveBufferBytes what the window offered to the peer may grow to as the reader keeps up
 * @param inFlightBytes of the unacknowledged, believed to be in the network
 * @param lostBytes of them, believed lost and not sent again yet
 * @param sackedBytes of them, reported to have arrived
 * @param unreadBytes delivered and not read
 * @param outOfOrderBytes held because something before them is missing
 * @param sinceLastSentNanos time since data was sent
 * @param sinceLastReceivedNanos time since the peer was last heard
 * @param bytesSent payload sent, what was sent again included
 * @param retransmittedBytes of that, sent again
 * @param deliveredBytes acknowledged or reported to have arrived
 * @param deliveredMarkedBytes of that, by acknowledgements that tell of congestion marks
 * @param duplicatesReported segments that the peer has got twice (D-SACK)
 * @param reorderings times that something older arrived at the peer after something newer
 * @param busyNanos how long something has been queued or in flight, altogether
 * @param windowLimitedNanos of that, kept from sending more by the peer's window alone
 * @param sendBufferLimitedNanos of that, with all sent, while more was written than the send buffer takes
 * @param receivedDscp differentiated services codepoint of the last data received
 * @param pacingRate bytes of payload per second that data is paced at, 0 where it is not
 * @param deliveryRate bytes per second that arrive, as last measured; 0 where the congestion control measures none
 * @param applicationLimited whether that was no more because there was no more to send
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
