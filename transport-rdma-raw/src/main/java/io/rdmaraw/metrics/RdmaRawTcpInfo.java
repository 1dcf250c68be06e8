package io.rdmaraw.metrics;

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
 */
public record RdmaRawTcpInfo(String state, String congestionControl, boolean recovering, long smoothedRttNanos,
                             long minimumRttNanos, long retransmissionTimeoutNanos, int congestionWindowBytes,
                             int sendWindowBytes, int receiveWindowBytes, int segmentBytes, int pathMtuBytes,
                             int unacknowledgedBytes, int unsentBytes, long bytesAcked, long bytesReceived,
                             int segmentsIn, int segmentsOut, int retransmittedSegments, String timer,
                             long timerNanos) {}
