package io.rdmaraw.tools.pktgen;

/**
 * A token bucket: how many frames may be sent now. It holds as many tokens as a burst, so that a late caller does not
 * answer with a flood. The clock is the caller's.
 */
final class FrameRate {
    private static final double NANOS_PER_SECOND = 1e9;

    private final double framesPerNano;
    private final int burst;
    private long lastNanos;
    private double tokens;

    /**
     * A bucket that is full at the start.
     *
     * @param framesPerSecond 0 for no limit
     * @param burst           frames at once, 1 or more
     */
    FrameRate(double framesPerSecond, int burst, long nowNanos) {
        framesPerNano = framesPerSecond / NANOS_PER_SECOND;
        this.burst = burst;
        lastNanos = nowNanos;
        tokens = burst;
    }

    /** Frames that may be sent now, at most a burst. Those that are not sent can be asked for again. */
    int available(long nowNanos) {
        if (framesPerNano == 0) {
            return burst;
        }
        tokens = Math.min(burst, tokens + (nowNanos - lastNanos) * framesPerNano);
        lastNanos = nowNanos;
        return (int) tokens;
    }

    /** Frames were sent. */
    void take(int frames) {
        if (framesPerNano != 0) {
            tokens -= frames;
        }
    }

    /** Nanoseconds until at least one frame may be sent. */
    long nanosUntilNext() {
        return framesPerNano == 0 || tokens >= 1 ? 0 : (long) Math.ceil((1 - tokens) / framesPerNano);
    }
}
