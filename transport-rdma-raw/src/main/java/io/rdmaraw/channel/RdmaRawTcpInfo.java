package io.rdmaraw.channel;

import io.rdmaraw.tcp.TcpConnectionInfo;

/**
 * Where a connection stands: a picture of one moment. Times are nanoseconds, sizes bytes.
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
 */
public record RdmaRawTcpInfo(String state, String congestionControl, boolean recovering, long smoothedRttNanos,
                             long minimumRttNanos, long retransmissionTimeoutNanos, int congestionWindowBytes,
                             int sendWindowBytes, int receiveWindowBytes, int segmentBytes, int pathMtuBytes,
                             int unacknowledgedBytes, int unsentBytes, long bytesAcked, long bytesReceived,
                             int segmentsIn, int segmentsOut, int retransmittedSegments) {
    static RdmaRawTcpInfo of(TcpConnectionInfo info) {
        return new RdmaRawTcpInfo(info.state().name(), info.congestionControl(), info.recovering(),
                info.smoothedRttNanos(), info.minimumRttNanos(), info.timeoutNanos(), info.congestionWindowBytes(),
                info.sendWindowBytes(), info.receiveWindowBytes(), info.segmentBytes(), info.pathMtuBytes(),
                info.unacknowledgedBytes(), info.unsentBytes(), info.bytesAcked(), info.bytesReceived(),
                info.segmentsIn(), info.segmentsOut(), info.retransmittedSegments());
    }
}
