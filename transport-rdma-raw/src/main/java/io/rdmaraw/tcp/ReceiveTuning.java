package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;

/**
 * Grows the receive buffer with the bandwidth-delay product (dynamic right-sizing, Fisk and Feng 2001, as Linux
 * does). The buffer should hold twice the bytes that the user reads per round trip, so that the window never
 * limits a sender in slow start. It never shrinks.
 */
final class ReceiveTuning {
    /** Factor that allows for a growth of the rate in the next round trip. */
    private static final int GROWTH = 2;
    private static final int SPARE_SEGMENTS = 16;
    private static final long NANOS_PER_MICRO = 1_000;
    private static final long MICROS_PER_MILLI = 1_000;

    private ReceiveTuning() {
    }

    /** Handles data that arrived in order. */
    static void onData(TcpConnection c, Segment s, long now) {
        if (c.receiveBufferBytes >= c.maxReceiveBufferBytes) {
            return;
        }
        measureRtt(c, s, now);
        if (c.receiveRttMicros == 0 || now - c.tuningStampNanos < c.receiveRttMicros * NANOS_PER_MICRO) {
            return;
        }
        long read = c.bytesIn - c.unreadBytes;
        long copied = Integer.toUnsignedLong((int) read - c.tuningBytes);
        c.tuningStampNanos = now;
        c.tuningBytes = (int) read;
        long wanted = GROWTH * copied + (long) SPARE_SEGMENTS * c.receiveMss;
        if (wanted > c.receiveBufferBytes && !c.engine.receiveMemory.isUnderPressure()) {
            c.receiveBufferBytes = (int) Math.min(wanted, c.maxReceiveBufferBytes);
        }
    }

    /**
     * Measures the RTT at the receiver: from an ACK to the data segment that echoes its timestamp. Without
     * timestamps, the RTT of the handshake is used.
     */
    private static void measureRtt(TcpConnection c, Segment s, long now) {
        // 0 before the first sample
        long sample = Math.ceilDiv(c.srttNanos, NANOS_PER_MICRO);
        if (s.timestamps && c.is(Tcb.TIMESTAMPS) && s.payloadLength >= c.receiveMss) {
            int millis = c.timestamp(now) - s.tsEcho;
            if (millis < 0) {
                return;
            }
            sample = Math.max(1, millis) * MICROS_PER_MILLI;
        }
        long smoothed = c.receiveRttMicros == 0 ? sample : c.receiveRttMicros + (sample - c.receiveRttMicros) / 8;
        c.receiveRttMicros = (int) Math.min(smoothed, Integer.MAX_VALUE);
    }
}
