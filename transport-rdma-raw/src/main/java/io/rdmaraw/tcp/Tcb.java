package io.rdmaraw.tcp;

/**
 * The transmission control block: the variables of a connection (RFC 9293 section 3.3.1), in one object, with what only
 * some connections need behind references that are null meanwhile. Here are the bits and those variables that few
 * segments need; the others are in {@link HotTcb}. The functions over them live in the classes named after their
 * concern; {@link TcpConnection} adds what a user calls.
 */
abstract sealed class Tcb extends HotTcb permits TcpConnection {
    /** A deadline that never comes. */
    static final long NEVER = Long.MAX_VALUE;
    /** A time to be filled in with the next poll: a user's call does not know how late it is. */
    static final long FROM_NOW = Long.MIN_VALUE;

    /** What the retransmission deadline stands for. */
    enum RetransmitTimer { NONE, SYN, RTO, TAIL_LOSS_PROBE, REORDERING, PERSIST }

    // ---- bits of "bits" ----
    // asked for by the user
    static final int NO_DELAY = 1;
    static final int KEEP_ALIVE = 1 << 1;
    static final int CLOSE_CALLED = 1 << 2;
    static final int FIN_QUEUED = 1 << 3;
    // negotiated
    static final int TIMESTAMPS = 1 << 4;
    static final int SACK = 1 << 5;
    static final int WINDOW_SCALING = 1 << 6;
    /** Marks are echoed. */
    static final int ECN = 1 << 7;
    // due for output
    static final int ACK_NOW = 1 << 8;
    static final int ACK_DELAYED = 1 << 9;
    static final int SYN_DUE = 1 << 10;
    static final int PROBE_DUE = 1 << 11;
    static final int TAIL_PROBE_DUE = 1 << 12;
    static final int OVERRIDE_SWS = 1 << 13;
    // what happened
    static final int PASSIVE_OPEN = 1 << 14;
    static final int FIN_SENT = 1 << 15;
    static final int FIN_SEEN = 1 << 16;
    /** A tail loss probe is out (RFC 8985 section 7.4). */
    static final int TLP_OUTSTANDING = 1 << 17;
    static final int REPORTED = 1 << 18;
    static final int DSACK_PENDING = 1 << 19;
    static final int CWND_LIMITED = 1 << 20;
    static final int REORDERING_SEEN = 1 << 21;
    static final int SYN_RETRANSMITTED = 1 << 22;
    /** CE has arrived: acknowledge with ECE until CWR comes (RFC 3168 section 6.1.3). */
    static final int ECE_OWED = 1 << 23;
    /** The window was reduced for ECE: tell with CWR (RFC 3168 section 6.1.2). */
    static final int CWR_OWED = 1 << 24;
    /** In the engine's list of connections that may have something to send. */
    static final int READY = 1 << 25;
    static final int TS_RECENT_VALID = 1 << 26;
    /** It was a retransmission. */
    static final int TLP_RETRANSMISSION = 1 << 27;
    /** A D-SACK has widened the reordering window in this round (RFC 8985 section 6.2 step 4). */
    static final int DSACK_ROUND = 1 << 28;
    /** Our data is sent as ECN-capable. */
    static final int ECN_SENDER = 1 << 29;
    /** Of an active open: the user wants data in the SYN. Of a passive one: the SYN-ACK carries a cookie (RFC 7413). */
    static final int FAST_OPEN = 1 << 30;
    /** The user has this connection since its SYN, before the handshake is complete (RFC 7413 section 4.2.2). */
    static final int EARLY = 1 << 31;

    /** In the table of its engine. */
    int hash;

    // ---- lists and timers ----
    TcpConnection wheelNext;
    TcpConnection wheelPrevious;
    int wheelSlot = -1;
    /** Set for this connection; 0: the configuration's. */
    int keepAliveIdleMillis;
    /** Set for this connection; 0: the configuration's. */
    int keepAliveIntervalMillis;
    /** Set for this connection; 0: the configuration's. */
    byte keepAliveProbes;

    // ---- send sequence variables ----
    int iss;
    /** The MSS option of the peer. */
    char peerMss;

    /** Its SYN counts among those without an answer, see {@link SynPacer}. */
    boolean hasSynPlace;

    // ---- receive sequence variables ----
    int irs;
    int finSeq;
    int dsackStart;
    int dsackEnd;

    // ---- congestion ----
    /** SND.NXT at the last reduction for ECE: one reduction per window. */
    int ecnEndSeq;
    /** TLP.end_seq of RFC 8985 section 7.1; outlives what was in flight. */
    int tlpEndSeq;

    // ---- RACK (RFC 8985 section 5.2) ----
    int rackDsackRound;
    byte rackWindowPersist;

    // ---- statistics ----
    int retransmittedSegments;

    // ---- path MTU ----
    char mtu;
    char linkMtu;
    /** Behind the last large segment that was tried while a black hole was suspected. */
    int mtuProbeEnd;
    /** The segment that {@link #pendingMtu} is about. */
    int pendingMtuSeq;
    long lastChallengeNanos = Long.MIN_VALUE;

    Tcb(TcpEngine engine, long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow,
            int remotePort) {
        super(engine, localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort);
        hash = engine.connections.hash(localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort);
    }
}
