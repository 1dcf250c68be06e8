package io.rdmaraw.tcp;

import java.util.ArrayDeque;

/**
 * A listening port of an engine (LISTEN in RFC 9293). Made by {@link TcpEngine#listen}. On the engine's thread only.
 */
public final class TcpListener {
    /** As Linux. */
    private static final long RESET_FAST_OPEN_NANOS = 60_000_000_000L;

    final TcpEngine engine;
    final long localHigh;
    final long localLow;
    final int localPort;
    final int backlog;
    private final Object attachment;
    TcpListener nextInBucket;
    int halfOpen;
    /** Half-open connections that the user has already; at most {@link #maxFastOpens}. */
    int fastOpens;
    int maxFastOpens;
    /** What {@link #maxSegment} says; 0: what the MTU allows. */
    int maxSegmentBytes;
    /** So many times the SYN-ACK is due again before a connection is accepted without data; 0: none is waited for. */
    int deferredTimeouts;
    /** When the places of pending fast opens that were reset are free again, the earliest first; null: none yet. */
    private ArrayDeque<Long> resetFastOpens;
    /** When a SYN last found the backlog full. */
    long lastOverflowNanos = Long.MIN_VALUE;
    boolean closed;

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

    /** Connections in SYN_RECEIVED, at most the backlog. */
    public int halfOpen() {
        return halfOpen;
    }

    /** Whether one more connection may be handed over with its SYN. */
    boolean hasFastOpenPlace(long now) {
        while (resetFastOpens != null && !resetFastOpens.isEmpty() && resetFastOpens.peek() <= now) {
            resetFastOpens.poll();
            fastOpens--;
        }
        return fastOpens < maxFastOpens;
    }

    /** A connection has ended before its handshake was complete. */
    void halfOpenEnded(TcpConnection c, boolean reset, long now) {
        halfOpen--;
        if (c.is(Tcb.EARLY)) {
            fastOpenEnded(reset, now);
        }
    }

    /**
     * A pending fast open has ended. The host that a forged SYN names answers with RST; its place counts as taken for a
     * while, or an attacker who uses others' addresses would never meet the bound (RFC 7413 section 5.1; Linux too).
     */
    private void fastOpenEnded(boolean reset, long now) {
        if (!reset) {
            fastOpens--;
            return;
        }
        if (resetFastOpens == null) {
            resetFastOpens = new ArrayDeque<>();
        }
        resetFastOpens.add(now + RESET_FAST_OPEN_NANOS);
    }

    /** Tells whether a SYN has found the backlog full lately. */
    boolean overflowedWithin(long nanos, long now) {
        return lastOverflowNanos != Long.MIN_VALUE && now - lastOverflowNanos <= nanos;
    }

    /**
     * Takes data with SYNs from now on (TCP_FASTOPEN, RFC 7413), from clients that return a cookie. Such a connection
     * is {@linkplain TcpEvents#accepted accepted} before its handshake is complete; a SYN that the network has
     * duplicated may then be accepted twice, so the protocol above must bear that (section 2.1).
     *
     * @param maxPending connections that may be in that state at a time (section 5.1); 0, the default, for none
     */
    public void fastOpen(int maxPending) {
        if (maxPending < 0) {
            throw new IllegalArgumentException(maxPending + " pending fast opens: it must be 0 or more");
        }
        maxFastOpens = maxPending;
    }

    /**
     * Waits for data before connections are accepted (TCP_DEFER_ACCEPT). As on Linux the end of the handshake alone is
     * passed over, the connection stays half open and counts in the backlog. When the time is over the SYN-ACK goes
     * out again, and what the client answers opens the connection, with data or without. Connections of SYN cookies are
     * accepted at once.
     *
     * @param seconds how long, about: rounded up to a time at which the SYN-ACK would be due again; 0, the default, not
     *                to wait
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
     * The most payload of a segment that clients are told in the SYN-ACK, and that is sent to them (TCP_MAXSEG): 88 to
     * 32,767 bytes, options included; 0, the default, for what the MTU allows.
     */
    public void maxSegment(int bytes) {
        maxSegmentBytes = bytes == 0 ? 0 : TcpConnection.checkMaxSegment(bytes);
    }

    /**
     * Stops listening. Connections that were accepted live on, half-open ones are dropped when their SYN-ACK is due.
     */
    public void close() {
        if (!closed) {
            closed = true;
            engine.removeListener(this);
        }
    }
}
