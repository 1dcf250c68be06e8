package io.rdmaraw.testsuite.sim;

/** Computes how far a sender is ahead of its pacing rate (SO_MAX_PACING_RATE): a bucket that drains at the rate. */
final class PacedBytes {
    private static final int BURSTS_PER_SECOND = 1_000;
    private static final int MAX_BURST_BYTES = 1 << 16;
    private static final int MIN_BURST_SEGMENTS = 2;

    private final long bytesPerSecond;
    private double aheadBytes;
    private long lastNanos;

    PacedBytes(long bytesPerSecond) {
        this.bytesPerSecond = bytesPerSecond;
    }

    /**
     * Records that {@code bytes} are sent. Returns the number of bytes by which the sender is then ahead of the
     * rate.
     */
    double sent(int bytes, long nowNanos) {
        aheadBytes = Math.max(0, aheadBytes - (nowNanos - lastNanos) * 1e-9 * bytesPerSecond) + bytes;
        lastNanos = nowNanos;
        return aheadBytes;
    }

    /** Returns the number of bytes that may be sent together: one millisecond at the rate, within limits. */
    long burstBytes(int segmentBytes) {
        return Math.max(Math.min(bytesPerSecond / BURSTS_PER_SECOND, MAX_BURST_BYTES),
                MIN_BURST_SEGMENTS * segmentBytes);
    }
}
