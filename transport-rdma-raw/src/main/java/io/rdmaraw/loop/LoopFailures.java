package io.rdmaraw.loop;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import java.util.concurrent.TimeUnit;

/**
 * The unexpected exceptions that reached a loop: from user code in a channel, or from a bug of the transport. Only the
 * channel that caused one is closed; the loop and its other channels go on. For the loop's thread.
 */
public final class LoopFailures {
    static final long LOG_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(LoopFailures.class);

    /** Written by the loop; other threads read values that may be a little old. */
    private long count;
    private long loggedFailures;
    private long nextLogNanos = System.nanoTime();

    /** Returns how many failures the loop has survived. Any thread. */
    public long count() {
        return count;
    }

    /** Counts a failure, and logs it unless another was logged a moment ago. */
    public void add(Throwable failure) {
        count++;
        long nowNanos = System.nanoTime();
        if (nowNanos - nextLogNanos >= 0) {
            LOGGER.warn("unexpected failure in a loop, which goes on; {} since the last such line",
                    count - loggedFailures, failure);
            loggedFailures = count;
            nextLogNanos = nowNanos + LOG_INTERVAL_NANOS;
        }
    }
}
