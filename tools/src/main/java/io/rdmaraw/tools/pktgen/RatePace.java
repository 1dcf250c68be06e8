package io.rdmaraw.tools.pktgen;

/**
 * Holds a rate of frames or of bits by what has gone since the start, so that the mean is right however late single
 * calls are. What a stall of up to {@link #MAX_LATE_NANOS} held up, such as the compiler's start, is all made up for,
 * but what is more than {@link #MAX_BURST_NANOS} of it at twice the rate at most: else a generator that was stopped
 * would answer with a flood.
 */
final class RatePace implements Pace {
    static final long MAX_LATE_NANOS = 1_000_000_000;
    static final long MAX_BURST_NANOS = 100_000_000;
    private static final double CATCH_UP = 2;

    private final TrafficRate rate;
    private final double nanosPerUnit;
    /** When the next frame is due, and when it may be sent at the earliest while catching up after a stall. */
    private double dueNanos;
    private double earliestNanos;

    RatePace(TrafficRate rate, long nowNanos) {
        this.rate = rate;
        nanosPerUnit = 1e9 / rate.perSecond();
        dueNanos = nowNanos;
        earliestNanos = nowNanos;
    }

    @Override
    public boolean mayGo(long nowNanos, int frameBytes) {
        dueNanos = Math.max(dueNanos, nowNanos - MAX_LATE_NANOS);
        earliestNanos = Math.max(earliestNanos, nowNanos - MAX_BURST_NANOS / CATCH_UP);
        return dueNanos <= nowNanos && earliestNanos <= nowNanos;
    }

    @Override
    public void went(int frameBytes) {
        double nanos = nanosPerUnit * rate.unitsOf(frameBytes);
        dueNanos += nanos;
        earliestNanos += nanos / CATCH_UP;
    }

    @Override
    public long nanosUntilNext(long nowNanos) {
        return (long) Math.max(0, Math.ceil(Math.max(dueNanos, earliestNanos) - nowNanos));
    }
}
