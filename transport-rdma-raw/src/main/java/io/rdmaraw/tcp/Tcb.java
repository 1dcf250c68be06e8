package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.send.Flight;

/**
 * The transmission control block: the variables of a connection (RFC 9293 section 3.3.1), in one object, with what only
 * some connections need behind references that are null meanwhile. The functions over them live in the classes named
 * after their concern; {@link TcpConnection} adds what a user calls. To lay out first, in a superclass, what most
 * segments need has been tried: with 100,000 connections it was slower.
 */
abstract sealed class Tcb permits TcpConnection {
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

    /** Changes when the connection moves to another loop. */
    TcpEngine engine;
    final long localHigh;
    final long localLow;
    final long remoteHigh;
    final long remoteLow;
    final char localPort;
    final char remotePort;
    /** What the user has attached. */
    Object attachment;
    TcpState state = TcpState.CLOSED;
    int bits;
    /** In the table of its engine. */
    int hash;

    // ---- lists and timers ----
    TcpConnection nextReady;
    /** Under which deadline it is filed in the wheel. */
    long wheelDeadlineNanos = NEVER;
    /** The earliest of the three below, as of the last settling. */
    long deadlineNanos = NEVER;
    long retransmitDeadlineNanos = NEVER;
    RetransmitTimer retransmitTimer = RetransmitTimer.NONE;
    long ackDeadlineNanos = NEVER;
    /** Keepalive, FIN-WAIT-2. */
    long idleDeadlineNanos = NEVER;
    /** Since when what is queued waits without progress: for the user timeout. */
    long stalledSinceNanos;
    /** Set for this connection; 0: none. */
    int userTimeoutMillis;
    TcpConnection wheelNext;
    TcpConnection wheelPrevious;
    int wheelSlot = -1;

    // ---- send sequence variables ----
    int sndUna;
    int sndNxt;
    /** Offered by the peer, scaled, in bytes. */
    int sndWnd;
    int maxSndWnd;
    int sndWl1;
    int sndWl2;
    byte sndWndShift;
    /** Most payload a segment may have, options not yet deducted except timestamps (RFC 6691). */
    int sndMss;
    /** Payload sent with our SYN; it counts as sent once the SYN-ACK acknowledges it, else it is sent again as new. */
    char fastOpenBytes;
    /** Null while a user has the connection. */
    Orphans.Entry orphan;
    /** Queue and scoreboard; null while nothing is queued or in flight. */
    Flight flight;
    long lastSendNanos;
    int iss;
    /** The MSS option of the peer. */
    char peerMss;
    /** Null while nothing of it is set or counted. */
    ConnectionExtras extras;

    /** Its SYN counts among those without an answer, see {@link SynPacer}. */
    boolean hasSynPlace;
    /** Our SYN-ACK has been acknowledged, but the server waits for data ({@link TcpListener#deferAccept}). */
    boolean acceptDeferred;

    // ---- receive sequence variables ----
    int rcvNxt;
    /** The right edge we have offered: rcvNxt + RCV.WND. */
    int rcvAdv;
    byte rcvWndShift;
    /** Differentiated services codepoint of what is sent. */
    byte dscp;
    /** Time to live or hop limit of what is sent, unsigned. */
    byte hopLimit = Segment.DEFAULT_HOP_LIMIT;
    /** Of IPv6; 0 until the first segment is sent. */
    int flowLabel;
    int receiveBufferBytes;
    /** How far {@link ReceiveTuning} may let it grow. */
    int maxReceiveBufferBytes;
    /** Round trip as a receiver sees it; 0 while unknown. */
    int receiveRttMicros;
    long tuningStampNanos;
    /** What had been read at that time since the connection began, modulo 2^32. */
    int tuningBytes;
    /** Delivered to the user and not read yet. */
    int unreadBytes;
    /** In so many pieces, about. */
    int unreadPieces;
    /** There was no memory for the last data that came, so no window is told. */
    boolean dataRefused;
    /** Out-of-order data; null while there is none. */
    Reassembly reassembly;
    long lastReceiveNanos;
    int irs;
    int finSeq;

    // ---- acknowledgement policy ----
    int lastAckSent;
    /** Full segments of the peer: what "full-sized" means for delayed acknowledgements. */
    char receiveMss;
    /** Length of the last one that came in order without PSH; 0 after one with it. */
    char lastSegmentBytes;
    /** Acknowledgements to send at once before delaying begins, or {@link AckPolicy#ALWAYS_QUICK}. */
    byte quickAcks;
    /** Duplicate ACKs owed to a peer without SACK, one for each segment out of order. */
    byte duplicateAcksOwed;

    // ---- timestamps ----
    int timestampOffset;
    int tsRecent;
    long tsRecentNanos;

    // ---- RTT and timeouts ----
    long srttNanos;
    long rttvarNanos;
    long rtoNanos;
    /** Doublings of the timeout since the last RTT sample. */
    byte backoff;
    /** Timeouts since the peer last answered. */
    byte unansweredTimeouts;
    byte keepAliveProbesSent;

    // ---- congestion ----
    CongestionControl congestion;
    /** Null unless the congestion control measures rates. */
    DeliveryRate rate;
    /** Null unless data is paced. */
    Pacer pacer;
    int cwnd;
    int ssthresh = CongestionControl.UNBOUNDED;
    /** SND.NXT at the last reduction for ECE: one reduction per window. */
    int ecnEndSeq;
    /** TLP.end_seq of RFC 8985 section 7.1; outlives what was in flight. */
    int tlpEndSeq;

    // ---- RACK (RFC 8985 section 5.2) ----
    long rackSentNanos;
    long rackRttNanos;
    long minRttNanos = NEVER;
    long minRttStampNanos;
    int rackEndSeq;
    int rackForwardAck;
    byte rackWindowMultiplier = 1;

    // ---- statistics ----
    /** As of the last time that there was nothing to send or in flight, see {@link SendTimes}. */
    int busyMillis;
    long bytesIn;
    long bytesAcked;
    int segmentsIn;
    int segmentsOut;
    int retransmittedSegments;

    // ---- path MTU ----
    /** Most sequence space of a segment of ours that has arrived, as far as it fits the MTU now believed. */
    char largestDelivered;
    char mtu;
    char linkMtu;

    Tcb(TcpEngine engine, long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow,
            int remotePort) {
        this.engine = engine;
        this.localHigh = localHigh;
        this.localLow = localLow;
        this.localPort = (char) localPort;
        this.remoteHigh = remoteHigh;
        this.remoteLow = remoteLow;
        this.remotePort = (char) remotePort;
        hash = engine.connections.hash(localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort);
    }

    final boolean is(int bit) {
        return (bits & bit) != 0;
    }

    final void set(int bit) {
        bits |= bit;
    }

    final void clear(int bit) {
        bits &= ~bit;
    }

    final void assign(int bit, boolean on) {
        bits = on ? bits | bit : bits & ~bit;
    }

    final boolean matches(long lh, long ll, int lp, long rh, long rl, int rp) {
        return remoteLow == rl && remotePort == rp && localPort == lp && localLow == ll && remoteHigh == rh
                && localHigh == lh;
    }

    final ConnectionExtras requireExtras() {
        if (extras == null) {
            extras = new ConnectionExtras();
        }
        return extras;
    }

    /** What the user lets a segment have at most, in either direction. */
    final int maxSegmentBytes() {
        return extras == null || extras.maxSegmentBytes == 0 ? Integer.MAX_VALUE : extras.maxSegmentBytes;
    }

    final boolean isCorked() {
        return extras != null && extras.corked;
    }

    final boolean isIpv4() {
        return remoteHigh == 0 && remoteLow >>> 32 == 0xFFFF;
    }

    /** Bytes of the IP and TCP headers without options. */
    final int headerBytes() {
        return isIpv4() ? 40 : 60;
    }

    /** RFC 7323 section 4.1: a clock of 1 ms. */
    final int timestamp(long nowNanos) {
        return (int) (nowNanos / 1_000_000) + timestampOffset;
    }

    final void stopRetransmitTimer() {
        retransmitDeadlineNanos = NEVER;
        retransmitTimer = RetransmitTimer.NONE;
    }

    final void setRetransmitTimer(RetransmitTimer timer, long deadlineNanos) {
        retransmitTimer = timer;
        retransmitDeadlineNanos = deadlineNanos;
    }
}
