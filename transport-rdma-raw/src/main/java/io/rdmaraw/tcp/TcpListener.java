package io.rdmaraw.tcp;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * A listening port of an engine (LISTEN in RFC 9293). Made by {@link TcpEngine#listen}. On the engine's thread only,
 * except for what the end of a handshake calls: the user of a fast open has its connection before that, and may have
 * taken it to another engine.
 */
public final class TcpListener {
    final TcpEngine engine;
    final long localHigh;
    final long localLow;
    final int localPort;
    final int backlog;
    private final Object attachment;
    TcpListener nextInBucket;
    /** Those in SYN_RECEIVED that are with this engine. */
    int halfOpen;
    /** Those that have gone to other engines. */
    final AtomicInteger halfOpenElsewhere = new AtomicInteger();
    /** Half-open connections that the user has already, wherever; at most {@link #maxFastOpens}. */
    final FastOpenPlaces fastOpens = new FastOpenPlaces();
    int maxFastOpens;
    /** What {@link #maxSegment} says; 0: what the MTU allows. */
    int maxSegmentBytes;
    /** What {@link #mark} says. */
    int mark;
    /** So many times the SYN-ACK is due again before a connection is accepted without data; 0: none is waited for. */
    int deferredTimeouts;
    /** When a SYN last found the backlog full. */
    long lastOverflowNanos = Long.MIN_VALUE;
    /** Other engines look at it when a handshake ends with them. */
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

    /** Connections in SYN_RECEIVED, at most the backlog. */
    public int halfOpen() {
        return halfOpen + halfOpenElsewhere.get();
    }

    /** Whether one more connection may be handed over with its SYN. */
    boolean hasFastOpenPlace(long now) {
        return fastOpens.isFree(maxFastOpens, now);
    }

    /** A half-open connection leaves this engine, or comes back to it; its place stays taken. */
    void halfOpenMoves(boolean away) {
        halfOpen += away ? -1 : 1;
        halfOpenElsewhere.addAndGet(away ? 1 : -1);
    }

    /** The handshake of a connection is complete. On the thread of the engine that it is with. */
    void handshakeCompleted(TcpConnection c) {
        noLongerHalfOpen(c);
        if (c.is(Tcb.EARLY)) {
            fastOpens.giveBack();
        }
    }

    /** A connection has ended before its handshake was complete. On the thread of the engine that it is with. */
    void halfOpenEnded(TcpConnection c, boolean reset, long now) {
        noLongerHalfOpen(c);
        if (c.is(Tcb.EARLY)) {
            if (reset) {
                fastOpens.giveBackLater(now);
            } else {
                fastOpens.giveBack();
            }
        }
    }

    private void noLongerHalfOpen(TcpConnection c) {
        if (c.engine == engine) {
            halfOpen--;
        } else {
            halfOpenElsewhere.decrementAndGet();
        }
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
     * What the {@linkplain TcpConnection#mark() mark} is of the connections, and of all that answers clients before
     * there is one (SO_MARK); 0, the default, for none.
     */
    public void mark(int value) {
        mark = value;
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
