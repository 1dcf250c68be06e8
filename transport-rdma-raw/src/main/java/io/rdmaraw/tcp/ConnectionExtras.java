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
    /** What policy rules may ask for (SO_MARK). */
    int mark;
    /** The user has as much unsent as it wants, and waits. */
    boolean awaitsNotSentLow;

    // ---- what seldom happens ----

    /** The last duplicate, while {@link Tcb#DSACK_PENDING} is set. */
    int dsackStart;
    int dsackEnd;
    long lastChallengeNanos = Long.MIN_VALUE;
    /** SND.NXT when a D-SACK widened the reordering window, while {@link Tcb#DSACK_ROUND} is set. */
    int rackDsackRound;
    /** Recoveries without a D-SACK until it is small again (RFC 8985 section 6.2 step 4). */
    byte rackWindowPersist;

    /** Null unless both ends count marks (RFC 9768). */
    AccurateEcn accurateEcn;

    // ---- path MTU below the link's, see PathMtu ----

    /** While a black hole is suspected: how many large segments may still try. Else {@link PathMtu#TRUSTED}. */
    byte mtuProbesLeft = PathMtu.TRUSTED;
    /** A router's word that waits for a timeout (RFC 5927 section 7.2); 0: none. */
    char pendingMtu;
    /** The segment that {@link #pendingMtu} is about. */
    int pendingMtuSeq;
    /** Behind the last large segment that was tried while a black hole was suspected. */
    int mtuProbeEnd;
    /** When the link's MTU is tried again. */
    long pathMtuExpiryNanos = Tcb.NEVER;

    // ---- counted ----

    long retransmittedBytes;
    /** Delivered by acknowledgements with ECE, or told to have come with a mark. */
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
