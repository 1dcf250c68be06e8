package io.rdmaraw.tcp.congestion;

/** The view of a connection that a {@link CongestionControl} has. */
public interface CongestionWindow {
    /** Returns the congestion window in bytes. */
    int congestionWindowBytes();

    /** Returns the slow start threshold in bytes, or {@link CongestionControl#UNBOUNDED}. */
    int slowStartThresholdBytes();

    /** Returns the payload of a full-sized segment in bytes. */
    int segmentBytes();

    /** Returns the smoothed RTT; 0 if unknown. */
    long smoothedRttNanos();

    /**
     * Returns whether the window is reduced less for a mark than for a loss (RFC 8511), in congestion avoidance.
     */
    boolean alternativeBackoff();

    /** Ends slow start (RFC 9406): the threshold is set to the present window. */
    void endSlowStart();
}
