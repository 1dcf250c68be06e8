package io.rdmaraw.tcp;

/**
 * Rarely used state of a connection: options set by the user, and counters of rare events. It is allocated on
 * first use to keep {@link Tcb} small.
 */
final class ConnectionExtras {
    /** Value of {@link #finWait2Millis} that ends the connection instead of entering FIN-WAIT-2. */
    static final int NO_FIN_WAIT_2 = -1;

    // ---- set by the user ----

    /**
     * TCP_KEEPIDLE, in milliseconds. For this option and the next three, 0 selects the value of
     * {@link TcpConfig}.
     */
    int keepAliveIdleMillis;
    int keepAliveIntervalMillis;
    byte keepAliveProbes;
    byte synRetries;
    /** Whether only full-sized segments are sent (TCP_CORK). */
    boolean corked;
    /** Maximum payload of a segment in either direction (TCP_MAXSEG), in bytes; 0: derived from the MTU. */
    char maxSegmentBytes;
    /** Maximum time in FIN-WAIT-2 after the user has closed (TCP_LINGER2); 0: the configured value. */
    int finWait2Millis;
    /**
     * The user is notified when fewer than half of these bytes are unsent (TCP_NOTSENT_LOWAT); 0: no
     * notification.
     */
    int notSentLowWaterBytes;
    /** Mark for policy routing (SO_MARK). */
    int soMark;
    /** The user has shut down the input but has not closed the connection. */
    boolean inputShutdown;
    /** The unsent bytes have reached the limit, and the user waits for the notification. */
    boolean awaitsNotSentLow;

    // ---- rare events ----

    /** Start of the last duplicate range, valid while {@link Tcb#DSACK_PENDING} is set. */
    int dsackStart;
    int dsackEnd;
    /** Sequence number of the urgent byte, valid while {@link #urgentAhead} is set. */
    int urgentSeq;
    /** The urgent byte has not been received in order yet. */
    boolean urgentAhead;
    long lastChallengeNanos = Long.MIN_VALUE;
    /** Time of the last SYN-ACK that answered a retransmitted SYN. */
    long lastRetransmittedSynNanos = Long.MIN_VALUE;
    /** SND.NXT when a D-SACK widened the reordering window, while {@link Tcb#DSACK_ROUND} is set. */
    int rackDsackRound;
    /**
     * Number of recoveries without D-SACK left until the reordering window is reset (RFC 8985 section 6.2 step
     * 4).
     */
    byte rackWindowPersist;

    /** Null unless accurate ECN was negotiated (RFC 9768). */
    AccurateEcn accurateEcn;

    // ---- path MTU below the link MTU, see PathMtu ----

    /**
     * Number of large segments still sent as probes while a black hole is suspected; otherwise
     * {@link PathMtu#TRUSTED}.
     */
    byte mtuProbesLeft = PathMtu.TRUSTED;
    /** MTU reported by a router, not applied until a timeout confirms it (RFC 5927 section 7.2); 0: none. */
    char pendingMtu;
    /** Sequence number of the segment that {@link #pendingMtu} refers to. */
    int pendingMtuSeq;
    /** End of the last large segment sent as a probe while a black hole was suspected. */
    int mtuProbeEnd;
    /** Deadline at which the link MTU is tried again. */
    long pathMtuExpiryNanos = Tcb.NEVER;

    // ---- counters ----

    long retransmittedBytes;
    /** Bytes delivered by ACKs with ECE, or reported as marked. */
    long deliveredMarkedBytes;
    /** Segments that the peer received twice, according to D-SACK. */
    int duplicatesReported;
    /** Number of segments that the peer received after a segment that was sent later. */
    int reorderings;
    long windowLimitedNanos;
    long sendBufferLimitedNanos;
    /** DSCP of the last data segment received. */
    byte receivedDscp;
}
