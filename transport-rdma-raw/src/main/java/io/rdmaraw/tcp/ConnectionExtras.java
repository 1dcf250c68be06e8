package io.rdmaraw.tcp;

/**
 * What few connections have: settings that their users have made, and counts of what seldom happens. A connection gets
 * one when the first of these comes, so that the others do not pay for it.
 */
final class ConnectionExtras {
    /** {@link #finWait2Millis} of a connection that does not wait for the peer's FIN at all. */
    static final int NO_FIN_WAIT_2 = -1;

    // ---- set by the user ----

    /** Those of keepalive and of SYNs are 0 where the configuration's hold. */
    int keepAliveIdleMillis;
    int keepAliveIntervalMillis;
    byte keepAliveProbes;
    byte synRetries;
    /** Only full segments go out (TCP_CORK). */
    boolean corked;
    /** Most payload of a segment, in either direction (TCP_MAXSEG); 0: what the MTU allows. */
    char maxSegmentBytes;
    /** How long FIN-WAIT-2 lasts once the user has closed (TCP_LINGER2); 0: the configuration's. */
    int finWait2Millis;
    /** The user is told when less than half of it is unsent (TCP_NOTSENT_LOWAT); 0: never. */
    int notSentLowWaterBytes;
    /** The user has as much unsent as it wants, and waits. */
    boolean awaitsNotSentLow;

    // ---- counted ----

    long retransmittedBytes;
    /** Delivered by acknowledgements with ECE. */
    long deliveredMarkedBytes;
    /** Segments that the peer has got twice, by D-SACK. */
    int duplicatesReported;
    /** Times that something older arrived after something newer. */
    int reorderings;
    long windowLimitedNanos;
    long sendBufferLimitedNanos;
    /** Differentiated services codepoint of the last data. */
    byte receivedDscp;
}
