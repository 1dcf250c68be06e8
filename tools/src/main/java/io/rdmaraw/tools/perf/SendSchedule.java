package io.rdmaraw.tools.perf;

/**
 * When frames are due: bursts at a fixed interval from the start. Late frames stay due, so the sender catches up after
 * a stall and keeps the rate, and the due time of each frame is known however late it was sent.
 */
final class SendSchedule {
    private final int burst;
    private final double nanosPerBurst;
    private long startNanos;

    private SendSchedule(int burst, double nanosPerBurst) {
        this.burst = burst;
        this.nanosPerBurst = nanosPerBurst;
    }

    /** Returns a schedule on which every frame is due at once. */
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

    /** Returns how many frames are due by now. */
    long due(long nowNanos) {
        return isUnlimited() ? Long.MAX_VALUE : ((long) ((nowNanos - startNanos) / nanosPerBurst) + 1) * burst;
    }

    /** Returns when the frame with this number, counted from 0, was due. */
    long intendedNanos(long number) {
        return startNanos + (long) (number / burst * nanosPerBurst);
    }
}
