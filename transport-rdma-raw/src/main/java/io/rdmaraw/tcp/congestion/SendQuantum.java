package io.rdmaraw.tcp.congestion;

/** What leaves together at a rate: a millisecond's worth (draft-ietf-ccwg-bbr section 5.6.3; as Linux sizes TSO). */
public final class SendQuantum {
    private static final int PER_SECOND = 1_000;
    private static final int MOST_BYTES = 64 << 10;
    private static final int LEAST_SEGMENTS = 2;

    private SendQuantum() {
    }

    /** Returns the quantum of a rate in bytes per second: two segments at least, 64 KiB at most. */
    public static int bytes(long rate, int segmentBytes) {
        return (int) Math.max(Math.min(rate / PER_SECOND, MOST_BYTES), LEAST_SEGMENTS * segmentBytes);
    }
}
