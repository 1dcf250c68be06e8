package io.rdmaraw.tcp.congestion;

/** What a {@link CongestionControl} may see of a connection. */
public interface CongestionWindow {
    /** The congestion window in bytes. */
    int congestionWindowBytes();

    /** The slow start threshold in bytes, or {@link CongestionControl#UNBOUNDED}. */
    int slowStartThresholdBytes();

    /** Payload bytes of a full segment. */
    int segmentBytes();

    /** Smoothed RTT, 0 while unknown. */
    long smoothedRttNanos();

    /** Whether a mark shall cost less than a loss (RFC 8511); only in congestion avoidance. */
    boolean alternativeBackoff();

    /** Ends slow start where it stands (RFC 9406): the threshold becomes the window. */
    void endSlowStart();
}
