package io.rdmaraw.testsuite.sim;

/** How far a sender is ahead of its pacing rate (SO_MAX_PACING_RATE): a bucket that drains at the rate. */
final class PacedBytes {
    private static final int BURSTS_PER_SECOND = 1_000;
    private static final int MOST_BURST_BYTES = 1 << 16;
    private static final int LEAST_BURST_SEGMENTS = 2;

    private final long bytesPerSecond;
    private double aheadBytes;
    private long lastNanos;

    PacedBytes(long bytesPerSecond) {
        this.bytesPerSecond = bytesPerSecond;
    }

    /** So many bytes leave; returns how many the sender is ahead then. */
    double sent(int bytes, long nowNanos) {
        aheadBytes = Math.max(0, aheadBytes - (nowNanos - lastNanos) * 1e-9 * bytesPerSecond) + bytes;
        lastNanos = nowNanos;
        return aheadBytes;
    }

    /** Returns what may leave together: a millisecond's worth. */
    long burstBytes(int segmentBytes) {
        return Math.max(Math.min(bytesPerSecond / BURSTS_PER_SECOND, MOST_BURST_BYTES),
                LEAST_BURST_SEGMENTS * segmentBytes);
    }
}
