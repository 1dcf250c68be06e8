package io.rdmaraw.tcp;

import io.rdmaraw.tcp.send.Flight;
import io.rdmaraw.tcp.send.Flight.Limit;

/**
 * How long a connection has had something to send, and what kept it from sending meanwhile, if it was not the path: the
 * peer's window, or its own send buffer. As TCP_INFO of Linux tells (tcp_chrono).
 */
final class SendTimes {
    private static final long MILLI_NANOS = 1_000_000;

    private SendTimes() {
    }

    static void begin(TcpConnection c, Flight f) {
        f.busySinceNanos = c.engine.now();
    }

    /** Nothing is queued or in flight any more. */
    static void end(TcpConnection c, Flight f) {
        long now = c.engine.now();
        limited(c, f, Limit.NONE, now);
        // As Linux counts in jiffies: boundaries that were passed, so that short times are right on average.
        c.busyMillis += (int) (now / MILLI_NANOS - f.busySinceNanos / MILLI_NANOS);
    }

    /** Says what keeps new data back from now on. */
    static void limited(TcpConnection c, Flight f, Limit limit, long now) {
        if (f.limit != limit) {
            change(c, f, limit, now);
        }
    }

    private static void change(TcpConnection c, Flight f, Limit limit, long now) {
        if (f.limit == Limit.PEER_WINDOW) {
            c.requireExtras().windowLimitedNanos += now - f.limitSinceNanos;
        } else if (f.limit == Limit.SEND_BUFFER) {
            c.requireExtras().sendBufferLimitedNanos += now - f.limitSinceNanos;
        }
        f.limit = limit;
        f.limitSinceNanos = now;
    }

    static long busyNanos(TcpConnection c, long now) {
        return c.busyMillis * MILLI_NANOS + (c.isSending() ? now - c.flight.busySinceNanos : 0);
    }

    static long windowLimitedNanos(TcpConnection c, long now) {
        return (c.extras == null ? 0 : c.extras.windowLimitedNanos) + now(c, Limit.PEER_WINDOW, now);
    }

    static long sendBufferLimitedNanos(TcpConnection c, long now) {
        return (c.extras == null ? 0 : c.extras.sendBufferLimitedNanos) + now(c, Limit.SEND_BUFFER, now);
    }

    /** How long the connection has been limited by this without a break. */
    private static long now(TcpConnection c, Limit limit, long now) {
        return !c.isSending() || c.flight.limit != limit ? 0 : now - c.flight.limitSinceNanos;
    }
}
