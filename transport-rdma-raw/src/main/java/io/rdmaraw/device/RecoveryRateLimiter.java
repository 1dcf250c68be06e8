package io.rdmaraw.device;

import io.rdmaraw.loop.TokenBucket;

import java.util.concurrent.TimeUnit;

/**
 * Limits the rate of recoveries and of their log lines. A queue that fails again and again must not fill the
 * log or take the loop's time from other queues. For one thread.
 */
public final class RecoveryRateLimiter {
    /** Number of recoveries without a pause. One more is permitted per interval. */
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

    /** Returns the time to wait before the next recovery, in nanoseconds; 0 permits one now and counts it. */
    long acquire(long nowNanos) {
        return bucket.acquire(nowNanos);
    }

    /** Counts a recovery and returns a log line, or null if the last line is too recent. */
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
