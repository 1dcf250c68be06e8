package io.rdmaraw.tools.pktgen;

import io.netty.buffer.ByteBuf;

/**
 * The last 18 bytes of a frame, from which the receiver computes loss, reordering and latency: a stream, a number
 * within the stream, and the send time. The number and the time are each followed by their complement. This keeps the
 * checksums of the frame valid and distinguishes probes from other frames. The time is the low half of
 * {@link System#nanoTime()}, which all processes of a host share, so latencies of up to 4.29 s can be measured.
 */
final class TrafficProbe {
    static final int LENGTH_BYTES = 18;
    static final int MAX_STREAMS = 1 << 16;

    private TrafficProbe() {
    }

    /**
     * Writes the stream, and placeholders with the checksum of the final values for the rest. Must be called before
     * checksums are computed.
     */
    static void prepare(byte[] payload, int stream) {
        int at = payload.length - LENGTH_BYTES;
        payload[at] = (byte) (stream >>> 8);
        payload[at + 1] = (byte) stream;
        putInt(payload, at + 2, 0);
        putInt(payload, at + 6, ~0);
        putInt(payload, at + 10, 0);
        putInt(payload, at + 14, ~0);
    }

    private static void putInt(byte[] bytes, int at, int value) {
        for (int i = 0; i < Integer.BYTES; i++) {
            bytes[at + i] = (byte) (value >>> 24 - 8 * i);
        }
    }

    /** Writes the number and the time into a prepared frame. */
    static void write(ByteBuf frame, int number, long nowNanos) {
        int at = frame.writerIndex() - LENGTH_BYTES + 2;
        frame.setInt(at, number).setInt(at + 4, ~number);
        frame.setInt(at + 8, (int) nowNanos).setInt(at + 12, ~(int) nowNanos);
    }

    static int streamOf(byte[] frame) {
        int at = frame.length - LENGTH_BYTES;
        return (frame[at] & 0xff) << 8 | frame[at + 1] & 0xff;
    }

    /** Returns whether a received frame ends with a probe. */
    static boolean isIn(ByteBuf frame) {
        int at = frame.writerIndex() - LENGTH_BYTES + 2;
        return frame.readableBytes() >= LENGTH_BYTES && frame.getInt(at) == ~frame.getInt(at + 4)
                && frame.getInt(at + 8) == ~frame.getInt(at + 12);
    }

    static int stream(ByteBuf frame) {
        return frame.getUnsignedShort(frame.writerIndex() - LENGTH_BYTES);
    }

    static int number(ByteBuf frame) {
        return frame.getInt(frame.writerIndex() - LENGTH_BYTES + 2);
    }

    static long latencyNanos(ByteBuf frame, long nowNanos) {
        return Integer.toUnsignedLong((int) nowNanos - frame.getInt(frame.writerIndex() - LENGTH_BYTES + 10));
    }
}
