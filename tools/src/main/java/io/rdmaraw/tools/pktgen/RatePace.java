package io.rdmaraw.tools.pktgen;

/**
 * Keeps a rate of frames or bits, relative to the start of the run: late calls do not lower the average. A stall of up
 * to {@link #MAX_LATE_NANOS}, such as JIT compilation at the start, is fully made up for. Up to
 * {@link #MAX_BURST_NANOS} of it may be sent as one burst, and the rest at most at twice the rate. Without these
 * limits, a generator that was suspended would flood the network when it resumes.
 */
final class RatePace implements Pace {
    static final long MAX_LATE_NANOS = 1_000_000_000;
    static final long MAX_BURST_NANOS = 100_000_000;
    private static final double CATCH_UP = 2;

    private final TrafficRate rate;
    private final double nanosPerUnit;
    /**
     * Time at which the next frame is due, and the earliest time at which it may be sent while catching up after a
     * stall.
     */
    private double dueNanos;
    private double earliestNanos;

    RatePace(TrafficRate rate, long nowNanos) {
        this.rate = rate;
        nanosPerUnit = 1e9 / rate.perSecond();
        dueNanos = nowNanos;
        earliestNanos = nowNanos;
    }

    @Override
    public boolean maySend(long nowNanos, int frameBytes) {
        dueNanos = Math.max(dueNanos, nowNanos - MAX_LATE_NANOS);
        earliestNanos = Math.max(earliestNanos, nowNanos - MAX_BURST_NANOS / CATCH_UP);
        return dueNanos <= nowNanos && earliestNanos <= nowNanos;
    }

    @Override
    public void recordSent(int frameBytes) {
        double nanos = nanosPerUnit * rate.unitsOf(frameBytes);
        dueNanos += nanos;
        earliestNanos += nanos / CATCH_UP;
    }

    @Override
    public long nanosUntilNext(long nowNanos) {
        return (long) Math.max(0, Math.ceil(Math.max(dueNanos, earliestNanos) - nowNanos));
    }
}
