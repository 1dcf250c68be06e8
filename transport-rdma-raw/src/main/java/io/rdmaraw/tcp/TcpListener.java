package io.rdmaraw.tcp;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * A listening port of an engine (LISTEN in RFC 9293). Created by {@link TcpEngine#listen}. Use it only on the
 * engine's thread. Only the methods called at the end of a handshake may run on other threads: a connection
 * accepted by Fast Open may have moved to another engine during its handshake.
 */
public final class TcpListener {
    final TcpEngine engine;
    final long localHigh;
    final long localLow;
    final int localPort;
    final int backlog;
    private final Object attachment;
    TcpListener nextInBucket;
    /** Connections in SYN_RECEIVED on this engine. */
    int engineHalfOpenCount;
    /** Connections in SYN_RECEIVED that have moved to other engines. */
    final AtomicInteger movedHalfOpenCount = new AtomicInteger();
    /** Half-open connections already delivered to the user, on any engine; at most {@link #maxFastOpens}. */
    final FastOpenSlots fastOpenSlots = new FastOpenSlots();
    int maxFastOpens;
    /** MSS limit for accepted connections, see {@link #maxSegmentBytes}; 0: derived from the MTU. */
    int maxSegmentBytes;
    /** Receive buffer of accepted connections, in bytes; 0: the configured size. */
    int receiveBufferBytes;
    /** SO_MARK; see {@link #soMark(int)}. */
    int soMark;
    /** Number of SYN-ACK timeouts before a connection without data is accepted; 0: accepted at once. */
    int deferredTimeouts;
    /** Time at which a SYN last found the backlog full. */
    long lastOverflowNanos = Long.MIN_VALUE;
    /** Read by other engines at the end of a handshake. */
    volatile boolean closed;

    TcpListener(TcpEngine engine, long localHigh, long localLow, int localPort, int backlog, Object attachment) {
        this.engine = engine;
        this.localHigh = localHigh;
        this.localLow = localLow;
        this.localPort = localPort;
        this.backlog = backlog;
        this.attachment = attachment;
    }

    public long localHigh() {
        return localHigh;
    }

    public long localLow() {
        return localLow;
    }

    public int localPort() {
        return localPort;
    }

    public Object attachment() {
        return attachment;
    }

    public int backlog() {
        return backlog;
    }

    /** Returns the number of connections in SYN_RECEIVED, at most the backlog. */
    public int halfOpenCount() {
        return engineHalfOpenCount + movedHalfOpenCount.get();
    }

    /** Returns whether another connection may be accepted on its SYN. */
    boolean hasFastOpenSlot(long now) {
        return fastOpenSlots.hasFree(maxFastOpens, now);
    }

    /** Records that a half-open connection moves to another engine or back. It still counts in the backlog. */
    void onHalfOpenMoved(boolean away) {
        engineHalfOpenCount += away ? -1 : 1;
        movedHalfOpenCount.addAndGet(away ? 1 : -1);
    }

    /** Records that a handshake is complete. Called on the thread of the connection's engine. */
    void onHandshakeCompleted(TcpConnection c) {
        removeHalfOpen(c);
        if (c.is(Tcb.ACCEPTED_EARLY)) {
            fastOpenSlots.release();
        }
    }

    /** Records that a connection ended during the handshake. Called on the thread of the connection's engine. */
    void onHalfOpenEnded(TcpConnection c, boolean reset, long now) {
        removeHalfOpen(c);
        if (c.is(Tcb.ACCEPTED_EARLY)) {
            if (reset) {
                fastOpenSlots.releaseLater(now);
            } else {
                fastOpenSlots.release();
            }
        }
    }

    private void removeHalfOpen(TcpConnection c) {
        if (c.engine == engine) {
            engineHalfOpenCount--;
        } else {
            movedHalfOpenCount.decrementAndGet();
        }
    }

    /** Returns whether a SYN has found the backlog full during the last {@code nanos}. */
    boolean overflowedWithin(long nanos, long now) {
        return lastOverflowNanos != Long.MIN_VALUE && now - lastOverflowNanos <= nanos;
    }

    /**
     * Enables Fast Open (TCP_FASTOPEN, RFC 7413): data in SYNs is accepted from clients that return a valid
     * cookie. Such a connection is {@linkplain TcpEvents#accepted accepted} before its handshake is complete. A
     * SYN duplicated by the network may be accepted twice; the application protocol must tolerate that (section
     * 2.1).
     *
     * @param maxPending maximum number of connections in this state (section 5.1); 0, the default, disables Fast
     *     Open
     */
    public void maxFastOpens(int maxPending) {
        if (maxPending < 0) {
            throw new IllegalArgumentException(maxPending + " pending fast opens: it must be 0 or more");
        }
        maxFastOpens = maxPending;
    }

    /**
     * Delays accepting connections until they have data (TCP_DEFER_ACCEPT). As on Linux, the ACK of the handshake
     * is ignored, and the connection stays half-open and counts in the backlog. When the time is over, the
     * SYN-ACK is retransmitted. The client's answer then opens the connection, with or without data. Connections
     * created from SYN cookies are accepted at once.
     *
     * @param seconds approximate time, rounded up to the next SYN-ACK timeout; 0, the default, disables the delay
     */
    public void deferAccept(int seconds) {
        if (seconds < 0) {
            throw new IllegalArgumentException("TCP_DEFER_ACCEPT is " + seconds + " s; it must not be negative");
        }
        long timeoutNanos = engine.config.initialRtoNanos;
        long leftNanos = seconds * 1_000_000_000L;
        deferredTimeouts = 0;
        while (leftNanos > 0 && deferredTimeouts < Byte.MAX_VALUE) {
            deferredTimeouts++;
            leftNanos -= timeoutNanos;
            timeoutNanos = Math.min(2 * timeoutNanos, engine.config.maxRtoNanos);
        }
    }

    /**
     * Sets TCP_MAXSEG: the maximum payload of segments in both directions, announced in the SYN-ACK, 88 to 32,767
     * bytes including options. Default 0: derived from the MTU.
     */
    public void maxSegmentBytes(int bytes) {
        maxSegmentBytes = bytes == 0 ? 0 : TcpConnection.checkMaxSegment(bytes);
    }

    /**
     * Sets the receive buffer of accepted connections (SO_RCVBUF), 2048 to 2^30 bytes. The SYN-ACK announces a window
     * scale that fits this size. Connections created from SYN cookies use the configured scale instead. Default 0: the
     * configured size.
     */
    public void receiveBufferBytes(int bytes) {
        receiveBufferBytes = bytes == 0 ? 0 : TcpConnection.checkReceiveBuffer(bytes);
    }

    /**
     * Sets SO_MARK, the {@linkplain TcpConnection#soMark() mark} of accepted connections and of all replies to clients
     * before a connection exists. Default 0: none.
     */
    public void soMark(int value) {
        soMark = value;
    }

    /**
     * Stops listening. Accepted connections continue. Half-open ones are not accepted any more: they end at the
     * client's ACK, or at the latest when their SYN-ACK times out.
     */
    public void close() {
        if (!closed) {
            closed = true;
            engine.removeListener(this);
        }
    }
}
