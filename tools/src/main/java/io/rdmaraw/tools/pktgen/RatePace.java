package io.rdmaraw.tools.pktgen;

/**
 * Holds a rate of frames or of bits by what has gone since the start, so that the mean is right however late single
 * calls are. What a stall held up is made up for, but not more than {@link #MAX_LATE_NANOS} of it: else a generator
 * that was stopped would answer with a flood.
 */
final class RatePace implements Pace {
    static final long MAX_LATE_NANOS = 100_000_000;

    private final TrafficRate rate;
    private final double nanosPerUnit;
    private double nextNanos;

    RatePace(TrafficRate rate, long nowNanos) {
        this.rate = rate;
        nanosPerUnit = 1e9 / rate.perSecond();
        nextNanos = nowNanos;
    }

    @Override
    public boolean mayGo(long nowNanos, int frameBytes) {
        if (nowNanos - nextNanos > MAX_LATE_NANOS) {
            nextNanos = nowNanos - MAX_LATE_NANOS;
        }
        return nextNanos <= nowNanos;
    }

    @Override
    public void went(int frameBytes) {
        nextNanos += nanosPerUnit * rate.unitsOf(frameBytes);
    }

    @Override
    public long nanosUntilNext(long nowNanos) {
        return (long) Math.max(0, Math.ceil(nextNanos - nowNanos));
    }
}
