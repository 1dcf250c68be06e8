package io.rdmaraw.device;

import io.rdmaraw.loop.TokenBucket;

import java.util.concurrent.TimeUnit;

/**
 * Limits how often a queue is recovered and how often that is logged: a queue that fails as soon as it works must
 * neither fill the log nor take the loop's time from the other queues. Used by one thread.
 */
public final class RecoveryRateLimiter {
    /** Recoveries without a pause; one more comes with each interval. */
    public static final int BURST = 8;
    public static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    static final long LOG_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final TokenBucket bucket = new TokenBucket(BURST, INTERVAL_NANOS);
    private long nextLogNanos;
    private long recoveriesSinceLog;
    private long lostSinceLog;

    RecoveryRateLimiter(long nowNanos) {
        nextLogNanos = nowNanos;
    }

    /** Returns how long to wait before the next recovery; 0 takes the right to one now. */
    long take(long nowNanos) {
        return bucket.take(nowNanos);
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
