package io.rdmaraw.tcp;

/**
 * Counters of an engine since its creation. The engine's thread writes them; other threads may read stale values.
 */
public final class TcpCounters {
    public long segmentsIn;
    public long segmentsOut;
    public long payloadBytesIn;
    public long payloadBytesOut;
    public long activeOpens;
    /** Active opens that were delayed to limit the number of unanswered SYNs, see ConnectThrottle. */
    public long opensDelayed;
    public long passiveOpens;
    /**
     * Times that a connection had R1 timeouts in a row without an answer, after which its path is looked up
     * again.
     */
    public long suspectPaths;
    /** Segments retransmitted for any reason. */
    public long retransmittedSegments;
    public long retransmissionTimeouts;
    public long fastRecoveries;
    public long tailLossProbes;
    /** Recoveries undone because no segment had been lost (RFC 4015). */
    public long spuriousRecoveries;
    /** Times that a peer dropped data after it had SACKed it (RFC 2018 section 8). */
    public long sackReneges;
    public long outOfOrderSegments;
    /** Segments that contained no new data. */
    public long duplicateSegments;
    /** Segments outside the receive window. */
    public long unacceptableSegments;
    /** Segments dropped by PAWS (RFC 7323 section 5). */
    public long pawsDrops;
    /**
     * Segments dropped because a receive buffer or the memory for out-of-order data was full, for the connection or
     * for all connections.
     */
    public long receiveMemoryDrops;
    /** Times that a connection's out-of-order data was dropped because all connections together held too much. */
    public long outOfOrderPrunes;
    /** Out-of-order pieces copied to release receive buffers that had become scarce. */
    public long outOfOrderCopies;
    public long challengeAcks;
    /** RST, SYN and ACK segments rejected by the checks of RFC 5961. */
    public long rejectedSegments;
    public long resetsIn;
    public long resetsOut;
    /** Connections delivered to the user on their SYN (RFC 7413). */
    public long passiveFastOpens;
    /** Active opens with data in the SYN that the peer has accepted. */
    public long activeFastOpens;
    /** Fast Open cookies that were invalid or expired. */
    public long fastOpenCookiesRejected;
    public long synCookiesSent;
    public long synCookiesAccepted;
    /** ACKs with a forged or expired SYN cookie, or without a preceding SYN-ACK of this host. */
    public long synCookiesRejected;
    /** SYN-ACK retransmissions omitted because SYNs overflowed the backlog. */
    public long synAcksWithheld;
    /** SYNs dropped because they also carried FIN. */
    public long synFinDrops;
    /** ACKs that complete a handshake but were ignored because the server waits for data (TCP_DEFER_ACCEPT). */
    public long acceptsDeferred;
    /** SYNs dropped because the backlog was full. */
    public long synDrops;
    public long timeWaitReuses;
    /**
     * RSTs that did not end a TIME-WAIT, because of their sequence number or because the configuration forbids it
     * (RFC 1337).
     */
    public long timeWaitResetsIgnored;
    /** Connections removed from a full TIME-WAIT table. */
    public long timeWaitOverflows;
    public long zeroWindowProbes;
    public long keepAliveProbes;
    /** Connections that ended because the peer did not answer. */
    public long timedOutConnections;
    /**
     * Closed connections that were reset because the peer acknowledged no data for too long, even if it answered.
     */
    public long orphanTimeouts;
    /** Closed connections that were reset because there were too many of them or they held too much data. */
    public long orphanOverflows;
    /** Connections aborted because a handler had released a buffer before it was sent. */
    public long buffersReleasedEarly;
    public long pathMtuReductions;
    /**
     * ICMP messages that were deferred until a timeout, because larger packets had arrived (RFC 5927 section
     * 7.2).
     */
    public long pathMtuReductionsDeferred;
    public long pathMtuBlackHoles;
    /** Suspected black holes refuted by the delivery of a large segment. */
    public long pathMtuFalseAlarms;
    /** ICMP messages that matched no connection, lay outside its window (RFC 5927), or were invalid. */
    public long icmpIgnored;
    public long ecnReductions;
    public long congestionMarksIn;
    /** Segments that peers reported as marked by accurate ECN (RFC 9768). */
    public long congestionMarksEchoed;
    /** Replies without a connection that were dropped because their queue was full. */
    public long droppedReplies;
    /** Segments that matched no connection and no listener. */
    public long unmatchedSegments;

    TcpCounters() {
    }
}
