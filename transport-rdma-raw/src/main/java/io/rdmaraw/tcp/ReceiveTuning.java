package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;

/**
 * Grows the receive buffer with the path (dynamic right-sizing, Fisk and Feng 2001, as Linux does): it should hold
 * twice what the user reads in a round trip, so that a sender in slow start is never held up by the window. It never
 * shrinks.
 */
final class ReceiveTuning {
    /** Room for the growth of a round trip, on top of what was read in the last. */
    private static final int GROWTH = 2;
    private static final int SPARE_SEGMENTS = 16;
    private static final long MILLI = 1_000_000;

    private ReceiveTuning() {
    }

    /** Data has arrived in order. */
    static void onData(TcpConnection c, Segment s, long now) {
        if (c.receiveBufferBytes >= c.maxReceiveBufferBytes) {
            return;
        }
        measureRtt(c, s, now);
        if (c.receiveRttNanos == 0 || now - c.tuningStampNanos < c.receiveRttNanos) {
            return;
        }
        long read = c.bytesIn - c.unreadBytes;
        long copied = read - c.tuningBytes;
        c.tuningStampNanos = now;
        c.tuningBytes = read;
        long wanted = GROWTH * copied + (long) SPARE_SEGMENTS * c.receiveMss;
        if (wanted > c.receiveBufferBytes && !c.engine.receiveMemory.isUnderPressure()) {
            c.receiveBufferBytes = (int) Math.min(wanted, c.maxReceiveBufferBytes);
        }
    }

    /**
     * The round trip as a receiver sees it: from the acknowledgement that a data segment echoes to that segment.
     * Without timestamps what the handshake has measured.
     */
    private static void measureRtt(TcpConnection c, Segment s, long now) {
        long sample = c.srttNanos;
        if (s.timestamps && c.is(Tcb.TIMESTAMPS) && s.payloadLength >= c.receiveMss) {
            int millis = c.timestamp(now) - s.tsEcho;
            if (millis < 0) {
                return;
            }
            sample = Math.max(1, millis) * MILLI;
        }
        c.receiveRttNanos = c.receiveRttNanos == 0 ? sample : c.receiveRttNanos + (sample - c.receiveRttNanos) / 8;
    }
}
