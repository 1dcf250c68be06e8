package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.send.Flight;

/**
 * Those variables of a connection that nearly every segment reads or writes. They are a class of their own because the
 * JVM lays out the fields of a superclass side by side: with many connections the time of a segment is that of the
 * cache lines it has to fetch, and these are six of the eight that a connection takes.
 */
abstract sealed class HotTcb permits Tcb {
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

    // ---- lists and timers ----
    TcpConnection nextReady;
    /** Under which deadline it is filed in the wheel. */
    long wheelDeadlineNanos = Tcb.NEVER;
    /** The earliest of the three below, as of the last settling. */
    long deadlineNanos = Tcb.NEVER;
    long retransmitDeadlineNanos = Tcb.NEVER;
    Tcb.RetransmitTimer retransmitTimer = Tcb.RetransmitTimer.NONE;
    long ackDeadlineNanos = Tcb.NEVER;
    /** Keepalive, FIN-WAIT-2. */
    long idleDeadlineNanos = Tcb.NEVER;
    /** Since when what is queued waits without progress: for the user timeout. */
    long stalledSinceNanos;
    /** Set for this connection; 0: none. */
    int userTimeoutMillis;

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
    long receiveRttNanos;
    long tuningStampNanos;
    /** What had been read at that time since the connection began. */
    long tuningBytes;
    /** Delivered to the user and not read yet. */
    int unreadBytes;
    /** In so many pieces, about. */
    int unreadPieces;
    /** There was no memory for the last data that came, so no window is told. */
    boolean dataRefused;
    /** Out-of-order data; null while there is none. */
    Reassembly reassembly;
    long lastReceiveNanos;

    // ---- acknowledgement policy ----
    int lastAckSent;
    /** Full segments of the peer: what "full-sized" means for delayed acknowledgements. */
    char receiveMss;
    /** Length of the last one that came in order without PSH; 0 after one with it. */
    char lastSegmentBytes;
    /** Acknowledgements to send at once before delaying begins. */
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
    int cwnd;
    int ssthresh = CongestionControl.UNBOUNDED;

    // ---- RACK (RFC 8985 section 5.2) ----
    long rackSentNanos;
    long rackRttNanos;
    long minRttNanos = Tcb.NEVER;
    long minRttStampNanos;
    int rackEndSeq;
    int rackForwardAck;
    byte rackWindowMultiplier = 1;

    // ---- statistics ----
    long bytesIn;
    long bytesAcked;
    int segmentsIn;
    int segmentsOut;

    // ---- path MTU ----
    long pathMtuExpiryNanos = Tcb.NEVER;
    /** While a black hole is suspected: how many large segments may still try. Else {@link PathMtu#TRUSTED}. */
    byte mtuProbesLeft = PathMtu.TRUSTED;
    /** Most sequence space of a segment of ours that has arrived, as far as it fits the MTU now believed. */
    char largestDelivered;
    /** A router's word that waits for a timeout (RFC 5927 section 7.2); 0: none. */
    char pendingMtu;

    HotTcb(TcpEngine engine, long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow,
            int remotePort) {
        this.engine = engine;
        this.localHigh = localHigh;
        this.localLow = localLow;
        this.localPort = (char) localPort;
        this.remoteHigh = remoteHigh;
        this.remoteLow = remoteLow;
        this.remotePort = (char) remotePort;
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
        retransmitDeadlineNanos = Tcb.NEVER;
        retransmitTimer = Tcb.RetransmitTimer.NONE;
    }

    final void setRetransmitTimer(Tcb.RetransmitTimer timer, long deadlineNanos) {
        retransmitTimer = timer;
        retransmitDeadlineNanos = deadlineNanos;
    }
}
