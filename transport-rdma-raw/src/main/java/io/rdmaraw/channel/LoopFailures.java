package io.rdmaraw.channel;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import java.util.concurrent.TimeUnit;

/**
 * The unexpected exceptions that came up to a loop: from a part of a channel that the user has made, or from an error
 * of ours. They cost what they came from; the loop, and with it all its other channels, goes on. For the loop's thread.
 */
final class LoopFailures {
    static final long LOG_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(LoopFailures.class);

    private final RdmaRawLoopStatistics statistics;
    private long loggedFailures;
    private long nextLogNanos = System.nanoTime();

    LoopFailures(RdmaRawLoopStatistics statistics) {
        this.statistics = statistics;
    }

    /** Counts a failure, and logs it unless another was logged a moment ago. */
    void add(Throwable failure) {
        statistics.failures++;
        long nowNanos = System.nanoTime();
        if (nowNanos - nextLogNanos >= 0) {
            LOGGER.warn("unexpected failure in a loop, which goes on; {} since the last such line",
                    statistics.failures - loggedFailures, failure);
            loggedFailures = statistics.failures;
            nextLogNanos = nowNanos + LOG_INTERVAL_NANOS;
        }
    }
}
