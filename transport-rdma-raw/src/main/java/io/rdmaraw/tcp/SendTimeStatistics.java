package io.rdmaraw.tcp;

import io.rdmaraw.tcp.send.SendState;
import io.rdmaraw.tcp.send.SendState.Limit;

/**
 * Measures how long a connection has had data to send, and how long the peer's window or its own send buffer
 * prevented sending. Linux's TCP_INFO has the same values (tcp_chrono).
 */
final class SendTimeStatistics {
    private static final long NANOS_PER_MILLI = 1_000_000;

    private SendTimeStatistics() {
    }

    static void begin(TcpConnection c, SendState f) {
        f.busySinceNanos = c.engine.now();
    }

    /** Ends the busy time when nothing is queued or in flight any more. */
    static void end(TcpConnection c, SendState f) {
        long now = c.engine.now();
        setLimit(c, f, Limit.NONE, now);
        // Counts the millisecond boundaries crossed, as Linux counts jiffies. Many busy times are shorter than a
        // millisecond; rounding each of them down would add up to 0.
        c.busyMillis += (int) (now / NANOS_PER_MILLI - f.busySinceNanos / NANOS_PER_MILLI);
    }

    /** Sets the window or buffer that limits sending from now on; NONE if neither does. */
    static void setLimit(TcpConnection c, SendState f, Limit limit, long now) {
        if (f.limit != limit) {
            change(c, f, limit, now);
        }
    }

    private static void change(TcpConnection c, SendState f, Limit limit, long now) {
        if (f.limit == Limit.PEER_WINDOW) {
            c.requireExtras().windowLimitedNanos += now - f.limitSinceNanos;
        } else if (f.limit == Limit.SEND_BUFFER) {
            c.requireExtras().sendBufferLimitedNanos += now - f.limitSinceNanos;
        }
        f.limit = limit;
        f.limitSinceNanos = now;
    }

    static long busyNanos(TcpConnection c, long now) {
        return c.busyMillis * NANOS_PER_MILLI + (c.isSending() ? now - c.sendState.busySinceNanos : 0);
    }

    static long windowLimitedNanos(TcpConnection c, long now) {
        return (c.extras == null ? 0 : c.extras.windowLimitedNanos) + sinceLimited(c, Limit.PEER_WINDOW, now);
    }

    static long sendBufferLimitedNanos(TcpConnection c, long now) {
        return (c.extras == null ? 0 : c.extras.sendBufferLimitedNanos) + sinceLimited(c, Limit.SEND_BUFFER, now);
    }

    /** Returns how long the connection has been limited by {@code limit} without interruption, in nanoseconds. */
    private static long sinceLimited(TcpConnection c, Limit limit, long now) {
        return !c.isSending() || c.sendState.limit != limit ? 0 : now - c.sendState.limitSinceNanos;
    }
}
