package io.rdmaraw.tcp;

/**
 * What an engine has counted since it was made. Written on the engine's thread; other threads may read stale values.
 */
public final class TcpCounters {
    public long segmentsIn;
    public long segmentsOut;
    public long payloadBytesIn;
    public long payloadBytesOut;
    public long activeOpens;
    /** Of them those whose SYN had to wait for answers to others, or for time to pass. */
    public long opensDelayed;
    public long passiveOpens;
    /** Times that a connection had no answer through R1 timeouts in a row, and the path was looked at again. */
    public long suspectPaths;
    /** Segments sent again, for whatever reason. */
    public long retransmittedSegments;
    public long retransmissionTimeouts;
    public long fastRecoveries;
    public long tailLossProbes;
    /** Recoveries undone because nothing had been lost (RFC 4015). */
    public long spuriousRecoveries;
    /** The peer dropped data it had reported by SACK (RFC 2018 section 8). */
    public long sackReneges;
    public long outOfOrderSegments;
    /** Segments that brought nothing new. */
    public long duplicateSegments;
    /** Segments outside of the receive window. */
    public long unacceptableSegments;
    /** Segments dropped by PAWS (RFC 7323 section 5). */
    public long pawsDrops;
    /** Data dropped because the out-of-order memory or the receive buffer of its connection, or of all, was full. */
    public long receiveMemoryDrops;
    /** Times that a connection's data out of order was dropped again, because all together held too much. */
    public long outOfOrderPrunes;
    /** Pieces out of order copied out of the buffers they had come in, because those had become few. */
    public long outOfOrderCopies;
    public long challengeAcks;
    /** RST and SYN that RFC 5961 kept from harming a connection. */
    public long blindAttackSegments;
    public long resetsIn;
    public long resetsOut;
    /** Connections handed over with their SYN (RFC 7413). */
    public long fastOpens;
    /** Connections opened by this side whose peer has taken data with the SYN. */
    public long fastOpensTaken;
    /** Fast open cookies that were not ours, or out of date. */
    public long fastOpenCookiesRejected;
    public long synCookiesSent;
    public long synCookiesAccepted;
    /** Forged or old ones, and good ones on segments that answer no SYN-ACK of ours. */
    public long synCookiesRejected;
    /** SYN-ACKs that were due again and not sent, as SYNs overflowed the backlog. */
    public long synAcksWithheld;
    /** SYNs dropped because they carried FIN too. */
    public long synFinDrops;
    /** Acknowledgements of a handshake passed over, because the server waits for data (TCP_DEFER_ACCEPT). */
    public long acceptsDeferred;
    /** SYNs dropped because a backlog was full. */
    public long synDrops;
    public long timeWaitReuses;
    /** RSTs that did not end a TIME-WAIT, for their number or because none is to (RFC 1337). */
    public long timeWaitResetsIgnored;
    /** Connections pushed out of a full TIME-WAIT table. */
    public long timeWaitOverflows;
    public long zeroWindowProbes;
    public long keepAliveProbes;
    /** Connections that ended because the peer did not answer. */
    public long timeouts;
    /** Connections reset whose user had closed them, as their peer took nothing for too long, whatever it answered. */
    public long orphanTimeouts;
    /** Connections reset whose user had closed them, because there were too many or they held too much. */
    public long orphanOverflows;
    /** Connections aborted because a handler had released a buffer that was to be sent. */
    public long buffersReleasedEarly;
    public long pathMtuReductions;
    /** Messages of routers that had to wait for a timeout, as larger packets had arrived (RFC 5927 section 7.2). */
    public long pathMtuReductionsDelayed;
    public long pathMtuBlackHoles;
    /** Suspicions of a black hole that a large segment disproved. */
    public long pathMtuFalseAlarms;
    /** ICMP messages that matched no connection, lay outside of its window (RFC 5927), or cannot be true. */
    public long icmpIgnored;
    public long ecnReductions;
    public long congestionMarksIn;
    /** Segments of ours that peers tell to have come with a mark, by accurate ECN (RFC 9768). */
    public long congestionMarksEchoed;
    /** Answers that belong to no connection, dropped because their queue was full. */
    public long replyDrops;
    /** Segments that no connection or listener took. */
    public long unmatchedSegments;

    TcpCounters() {
    }
}
