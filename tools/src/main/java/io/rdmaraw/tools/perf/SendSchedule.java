package io.rdmaraw.tools.perf;

/**
 * A schedule of bursts at a fixed interval from the start. Late frames stay due, so the sender catches up after a stall
 * and keeps the rate. The scheduled time of a frame does not depend on when it was sent.
 */
final class SendSchedule {
    private final int burst;
    private final double nanosPerBurst;
    private long startNanos;

    private SendSchedule(int burst, double nanosPerBurst) {
        this.burst = burst;
        this.nanosPerBurst = nanosPerBurst;
    }

    /** Returns a schedule on which all frames are due immediately. */
    static SendSchedule unlimited() {
        return new SendSchedule(1, 0);
    }

    static SendSchedule every(double nanosPerBurst, int burst) {
        return new SendSchedule(burst, nanosPerBurst);
    }

    static SendSchedule ofRate(double framesPerSecond, int burst) {
        return framesPerSecond == 0 ? unlimited() : every(burst * 1e9 / framesPerSecond, burst);
    }

    void start(long nowNanos) {
        startNanos = nowNanos;
    }

    boolean isUnlimited() {
        return nanosPerBurst == 0;
    }

    /** Returns the number of frames due by now, counted from the start. */
    long due(long nowNanos) {
        return isUnlimited() ? Long.MAX_VALUE : ((long) ((nowNanos - startNanos) / nanosPerBurst) + 1) * burst;
    }

    /** Returns the scheduled time of the frame with this number, counted from 0. */
    long intendedNanos(long number) {
        return startNanos + (long) (number / burst * nanosPerBurst);
    }
}
