package io.rdmaraw.channel;

import java.util.concurrent.TimeUnit;

/**
 * How often a queue is recovered and how often that is logged: a queue that fails again as soon as it works must
 * neither fill the log nor take the loop's time from the other queues. Used by one thread.
 */
final class RecoveryPace {
    /** Recoveries without a pause; one more comes with each interval. */
    static final int BURST = 8;
    static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    static final long LOG_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** The time at which the bucket is full again. */
    private long fullAtNanos;
    private long nextLogNanos;
    private long recoveriesSinceLog;
    private long lostSinceLog;

    RecoveryPace(long nowNanos) {
        fullAtNanos = nowNanos;
        nextLogNanos = nowNanos;
    }

    /** Returns how long to wait before the next recovery; 0 takes the right to one now. */
    long take(long nowNanos) {
        long pending = Math.max(0, fullAtNanos - nowNanos);
        long wait = pending - (BURST - 1) * INTERVAL_NANOS;
        if (wait > 0) {
            return wait;
        }
        fullAtNanos = nowNanos + pending + INTERVAL_NANOS;
        return 0;
    }

    /** Notes a recovery; returns what to log, or null while it is too early for another line. */
    String report(long nowNanos, long lostFrames) {
        recoveriesSinceLog++;
        lostSinceLog += lostFrames;
        if (nextLogNanos - nowNanos > 0) {
            return null;
        }
        String text = recoveriesSinceLog == 1
                ? "the queue pair failed and was recovered in place; " + lostSinceLog + " frames in flight were lost"
                : "the queue pair failed " + recoveriesSinceLog + " times since the last such line and was recovered"
                        + " in place; " + lostSinceLog + " frames in flight were lost";
        recoveriesSinceLog = 0;
        lostSinceLog = 0;
        nextLogNanos = nowNanos + LOG_INTERVAL_NANOS;
        return text;
    }
}
