package io.rdmaraw.tools.perf;

/** Determines the highest rate of all 10 ms windows of a run. Used by one thread. */
final class PeakMeter {
    private static final long WINDOW_NANOS = 10_000_000;

    private long windowStartNanos;
    private long windowStartCount;
    private double peakPerSecond;

    void start(long nowNanos, long count) {
        windowStartNanos = nowNanos;
        windowStartCount = count;
        peakPerSecond = 0;
    }

    void update(long nowNanos, long count) {
        long elapsed = nowNanos - windowStartNanos;
        if (elapsed >= WINDOW_NANOS) {
            peakPerSecond = Math.max(peakPerSecond, (count - windowStartCount) * 1e9 / elapsed);
            windowStartNanos = nowNanos;
            windowStartCount = count;
        }
    }

    /**
     * Returns the highest rate.
     *
     * @param averagePerSecond average of the whole run, used if the run was shorter than a window
     */
    double peakPerSecond(double averagePerSecond) {
        return Math.max(peakPerSecond, averagePerSecond);
    }
}
