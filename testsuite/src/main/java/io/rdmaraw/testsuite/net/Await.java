package io.rdmaraw.testsuite.net;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for a condition instead of for a time. */
public final class Await {
    /** How long a test waits for what comes at once on an idle host: only a test that fails waits so long. */
    public static final Duration PATIENCE = Duration.ofSeconds(60);
    /** {@link #PATIENCE} for calls that take milliseconds. */
    public static final int PATIENCE_MILLIS = (int) PATIENCE.toMillis();

    private static final long PAUSE_NANOS = 1_000_000;

    private Await() {
    }

    /** As {@link #until(String, Duration, BooleanSupplier)}, with {@link #PATIENCE}. */
    public static void until(String what, BooleanSupplier condition) {
        until(what, PATIENCE, condition);
    }

    /**
     * Returns as soon as the condition holds.
     *
     * @param what   completes the sentence "waited ... for", for the failure
     * @throws AssertionError if it does not hold within the limit
     */
    public static void until(String what, Duration limit, BooleanSupplier condition) {
        long deadline = System.nanoTime() + limit.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("waited " + limit + " for " + what);
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }
}
