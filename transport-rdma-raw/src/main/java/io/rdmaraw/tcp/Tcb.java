package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.send.SendState;

/**
 * The transmission control block: the variables of a connection (RFC 9293 section 3.3.1) in one object. State
 * that only some connections need is referenced and null if unused. Values up to 65,535 are of type {@code char} to
 * save memory. The functions live in classes named after their concern; {@link TcpConnection} adds the API for users.
 *
 * <p>Grouping the most used fields in a superclass was measured with 100,000 connections and was slower.
 */
abstract sealed class Tcb permits TcpConnection {
    /** A deadline that is not set. */
    static final long NEVER = Long.MAX_VALUE;
    /** Stands for the current time until {@link ConnectionTimers#schedule} fills it in. */
    static final long FROM_NOW = Long.MIN_VALUE;

    /** Purpose of the retransmission timer; TLP is the tail loss probe of RFC 8985. */
    enum RetransmitTimer { NONE, SYN, RTO, TLP, REORDERING, PERSIST }

    // ---- bits of "bits" ----
    // set by the user
    static final int NO_DELAY = 1;
    static final int KEEP_ALIVE = 1 << 1;
    static final int CLOSE_CALLED = 1 << 2;
    static final int FIN_QUEUED = 1 << 3;
    // negotiated
    static final int TIMESTAMPS = 1 << 4;
    static final int SACK = 1 << 5;
    static final int WINDOW_SCALING = 1 << 6;
    /** ECN was negotiated, so received marks are echoed. */
    static final int ECN = 1 << 7;
    // due for output
    static final int ACK_NOW = 1 << 8;
    static final int ACK_DELAYED = 1 << 9;
    static final int SYN_DUE = 1 << 10;
    static final int PROBE_DUE = 1 << 11;
    static final int TLP_DUE = 1 << 12;
    static final int OVERRIDE_SWS = 1 << 13;
    // past events
    static final int PASSIVE_OPEN = 1 << 14;
    static final int FIN_SENT = 1 << 15;
    static final int FIN_RECEIVED = 1 << 16;
    /** A tail loss probe is unacknowledged (RFC 8985 section 7.4). */
    static final int TLP_OUTSTANDING = 1 << 17;
    static final int REPORTED_TO_USER = 1 << 18;
    static final int DSACK_PENDING = 1 << 19;
    static final int CWND_LIMITED = 1 << 20;
    static final int REORDERING_SEEN = 1 << 21;
    static final int SYN_RETRANSMITTED = 1 << 22;
    /** A CE mark was received: ACKs carry ECE until CWR arrives (RFC 3168 section 6.1.3). */
    static final int ECE_PENDING = 1 << 23;
    /** The window was reduced for ECE: the next new data carries CWR (RFC 3168 section 6.1.2). */
    static final int CWR_PENDING = 1 << 24;
    /** The connection is in the engine's {@link OutputQueue} or waits in the {@link ConnectThrottle}. */
    static final int OUTPUT_QUEUED = 1 << 25;
    static final int TS_RECENT_VALID = 1 << 26;
    /** The outstanding tail loss probe was a retransmission. */
    static final int TLP_RETRANSMISSION = 1 << 27;
    /** A D-SACK has widened the reordering window in this round trip (RFC 8985 section 6.2 step 4). */
    static final int DSACK_ROUND = 1 << 28;
    /** New data is sent with ECT. */
    static final int ECN_SENDER = 1 << 29;
    /**
     * Active open: the user wants to send data in the SYN. Passive open: the SYN-ACK carries a cookie (RFC 7413).
     */
    static final int FAST_OPEN = 1 << 30;
    /**
     * The connection was delivered to the user on its SYN, and the handshake is not complete (RFC 7413 section
     * 4.2.2).
     */
    static final int ACCEPTED_EARLY = 1 << 31;

    /** Changes when the connection moves to another loop. */
    TcpEngine engine;
    final long localHigh;
    final long localLow;
    final long remoteHigh;
    final long remoteLow;
    final char localPort;
    final char remotePort;
    Object attachment;
    TcpState state = TcpState.CLOSED;
    int bits;
    /** Hash in the engine's connection table. */
    int hash;

    // ---- lists and timers ----
    TcpConnection nextInOutputQueue;
    /** Deadline at which the connection is filed in the timer wheel. */
    long wheelDeadlineNanos = NEVER;
    /** Earliest deadline of all timers at the last {@link ConnectionTimers#schedule}. */
    long deadlineNanos = NEVER;
    long retransmitDeadlineNanos = NEVER;
    RetransmitTimer retransmitTimer = RetransmitTimer.NONE;
    long ackDeadlineNanos = NEVER;
    /** Deadline of keepalive or FIN-WAIT-2. */
    long idleDeadlineNanos = NEVER;
    /** Time at which queued data last made progress or was queued, for the user timeout. */
    long lastProgressNanos;
    /** User timeout set for this connection; 0: none. */
    int userTimeoutMillis;
    TcpConnection wheelNext;
    TcpConnection wheelPrevious;
    int wheelSlot = -1;

    // ---- send sequence variables ----
    int sndUna;
    int sndNxt;
    /** Window advertised by the peer in bytes, after scaling. */
    int sndWnd;
    int maxSndWnd;
    int sndWl1;
    int sndWl2;
    byte sndWndShift;
    /** Maximum payload of a segment (RFC 6691), reduced by the timestamp option but not by other options. */
    int sndMss;
    /**
     * Payload sent with our SYN. It counts as sent only if the SYN-ACK acknowledges it; otherwise it is sent
     * again as new data.
     */
    char synDataBytes;
    /** Null until the user closes the connection. */
    Orphans.Entry orphan;
    /** Queue and scoreboard; null while nothing is queued or in flight. */
    SendState sendState;
    long lastSendNanos;
    int iss;
    /** MSS option of the peer. */
    char peerMss;
    /** Null until one of its fields is used. */
    ConnectionExtras extras;

    /** The SYN of this connection counts as unanswered in {@link ConnectThrottle}. */
    boolean hasSynSlot;
    /** The peer has acknowledged our SYN-ACK, but the server waits for data ({@link TcpListener#deferAccept}). */
    boolean acceptDeferred;

    // ---- receive sequence variables ----
    int rcvNxt;
    /** Right edge of the advertised window: rcvNxt + RCV.WND. */
    int rcvAdv;
    byte rcvWndShift;
    // headers of sent segments
    /** DSCP of sent segments. */
    byte dscp;
    /** TTL or hop limit of sent segments, unsigned. */
    byte hopLimit = Segment.DEFAULT_HOP_LIMIT;
    /** IPv6 flow label; 0 until the first segment is sent. */
    int flowLabel;

    // receive buffer
    int receiveBufferBytes;
    /** Limit to which {@link ReceiveTuning} may grow the receive buffer. */
    int maxReceiveBufferBytes;
    /** RTT measured at the receiver; 0 if unknown. */
    int receiveRttMicros;
    long tuningStampNanos;
    /** Bytes read by the user until {@link #tuningStampNanos}, modulo 2^32. */
    int tuningBytes;
    /** Bytes delivered to the user but not read. */
    int unreadBytes;
    /** Estimated number of pieces that the unread bytes consist of. */
    int unreadPieces;
    /** The last data was refused for lack of memory, so a window of 0 is advertised. */
    boolean dataRefused;
    /** Out-of-order data; null while there is none. */
    Reassembly reassembly;
    long lastReceiveNanos;
    /** Source MAC address of the peer's last acceptable segment; 0 if unknown. */
    long peerMac;
    int irs;
    int finSeq;

    // ---- acknowledgement policy ----
    int lastAckSent;
    /** Estimated size of the peer's full-sized segments, for delayed ACKs. */
    char receiveMss;
    /** Length of the last segment in order without PSH; 0 after a segment with PSH. */
    char lastSegmentBytes;
    /** Number of ACKs still sent without delay, or {@link AckPolicy#ALWAYS_QUICK}. */
    byte quickAcks;
    /** Duplicate ACKs owed to a peer without SACK, one per out-of-order segment. */
    byte pendingDuplicateAcks;

    // ---- timestamps ----
    int timestampOffset;
    int tsRecent;
    long tsRecentNanos;

    // ---- RTT and timeouts ----
    long srttNanos;
    long rttvarNanos;
    long rtoNanos;
    /** Number of times the timeout is doubled. An RTT sample resets it; other acknowledgements may reduce it. */
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
    /** SND.NXT at the last window reduction, so that ECE causes only one reduction per window. */
    int ecnEndSeq;
    /** TLP.end_seq of RFC 8985 section 7.1. It is still needed when nothing is in flight. */
    int tlpEndSeq;

    // ---- RACK (RFC 8985 section 5.2) ----
    long rackSentNanos;
    long rackRttNanos;
    long minRttNanos = NEVER;
    long minRttStampNanos;
    int rackEndSeq;
    int rackForwardAck;
    /** RACK.reo_wnd_mult; bounded only so that it cannot overflow. */
    char rackWindowMultiplier = 1;

    // ---- statistics ----
    /** Busy time until the flight last became empty, see {@link SendTimeStatistics}. */
    int busyMillis;
    long bytesIn;
    long bytesAcked;
    int segmentsIn;
    int segmentsOut;
    int retransmittedSegments;

    // ---- path MTU ----
    /** Largest sequence length of a delivered segment, limited by the MTU in use. */
    char largestDeliveredBytes;
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

    /** Returns the limit of payload and TCP options that the user has set for both directions, in bytes. */
    final int maxSegmentBytes() {
        return extras == null || extras.maxSegmentBytes == 0 ? Integer.MAX_VALUE : extras.maxSegmentBytes;
    }

    final boolean isCorked() {
        return extras != null && extras.corked;
    }

    final boolean isIpv4() {
        return remoteHigh == 0 && remoteLow >>> 32 == 0xFFFF;
    }

    /** Returns the length of the IP and TCP headers without options. */
    final int headerBytes() {
        return isIpv4() ? 40 : 60;
    }

    /** Returns the timestamp clock value (RFC 7323 section 4.1). It ticks every millisecond. */
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
