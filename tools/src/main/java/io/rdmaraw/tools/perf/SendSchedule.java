package io.rdmaraw.tools.perf;

/**
 * When frames are meant to be sent: bursts at a fixed distance from the start on. What is late stays due, so a stall is
 * made up for and the rate is held; and the time at which a frame was meant to go is known however late it went.
 */
final class SendSchedule {
    private final int burst;
    private final double nanosPerBurst;
    private long startNanos;

    private SendSchedule(int burst, double nanosPerBurst) {
        this.burst = burst;
        this.nanosPerBurst = nanosPerBurst;
    }

    /** Every frame as soon as it can go. */
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

    /** Frames that should have been sent by now. */
    long due(long nowNanos) {
        return isUnlimited() ? Long.MAX_VALUE : ((long) ((nowNanos - startNanos) / nanosPerBurst) + 1) * burst;
    }

    /** When the frame of this number, counted from 0, was meant to go. */
    long intendedNanos(long number) {
        return startNanos + (long) (number / burst * nanosPerBurst);
    }
}
