package io.rdmaraw.tcp.congestion;

/**
 * The amount of data sent in one burst at a given rate: one millisecond's worth (draft-ietf-ccwg-bbr section
 * 5.6.3; Linux sizes TSO segments in the same way).
 */
public final class SendQuantum {
    private static final int PER_SECOND = 1_000;
    private static final int MAX_BYTES = 64 << 10;
    private static final int MIN_SEGMENTS = 2;

    private SendQuantum() {
    }

    /** Returns the quantum for a rate in bytes per second: at least two segments, otherwise at most 64 KiB. */
    public static int bytes(long rate, int segmentBytes) {
        return (int) Math.max(Math.min(rate / PER_SECOND, MAX_BYTES), MIN_SEGMENTS * segmentBytes);
    }
}
