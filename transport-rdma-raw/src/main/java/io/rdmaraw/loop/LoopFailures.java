package io.rdmaraw.loop;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import java.util.concurrent.TimeUnit;

/**
 * Unexpected exceptions that reached a loop, thrown by user code or by a defect of the transport. Only the
 * channel that caused one is closed; the loop continues. Used on the loop's thread only.
 */
public final class LoopFailures {
    static final long LOG_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(LoopFailures.class);

    /** Written by the loop. Other threads may read slightly stale values. */
    private long count;
    private long loggedFailures;
    private long nextLogNanos = System.nanoTime();

    /** Returns the number of failures. May be called on any thread. */
    public long count() {
        return count;
    }

    /**
     * Counts a failure. Logs it, at most once per second. Never throws: after an {@link OutOfMemoryError} the logger
     * may throw another one, which would end the loop. The next line then includes the failure in its number.
     */
    public void add(Throwable failure) {
        count++;
        long nowNanos = System.nanoTime();
        if (nowNanos - nextLogNanos >= 0) {
            nextLogNanos = nowNanos + LOG_INTERVAL_NANOS;
            try {
                LOGGER.warn("unexpected failure in a loop, which goes on; {} since the last such line",
                        count - loggedFailures, failure);
                loggedFailures = count;
            } catch (Throwable ignored) {
                // It is counted.
            }
        }
    }
}
