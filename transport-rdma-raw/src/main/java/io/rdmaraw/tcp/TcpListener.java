package io.rdmaraw.tcp;

/**
 * A listening port of an engine (LISTEN in RFC 9293). Made by {@link TcpEngine#listen}. On the engine's thread only.
 */
public final class TcpListener {
    final TcpEngine engine;
    final long localHigh;
    final long localLow;
    final int localPort;
    final int backlog;
    private final Object attachment;
    TcpListener nextInBucket;
    int halfOpen;
    /** When a SYN last found the backlog full: cookies are accepted for a while after it. */
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

    public int localPort() {
        return localPort;
    }

    public Object attachment() {
        return attachment;
    }

    /** Connections in SYN_RECEIVED, at most the backlog. */
    public int halfOpen() {
        return halfOpen;
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
