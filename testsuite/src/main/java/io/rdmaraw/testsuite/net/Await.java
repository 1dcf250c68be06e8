package io.rdmaraw.testsuite.net;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for a condition instead of a fixed time. */
public final class Await {
    /** Time limit for events that are immediate on an idle host. Only a failing test waits this long. */
    public static final Duration PATIENCE = Duration.ofSeconds(60);
    /** {@link #PATIENCE} in milliseconds. */
    public static final int PATIENCE_MILLIS = (int) PATIENCE.toMillis();

    private static final long PAUSE_NANOS = 1_000_000;

    private Await() {
    }

    /** Same as {@link #until(String, Duration, BooleanSupplier)} with {@link #PATIENCE}. */
    public static void until(String what, BooleanSupplier condition) {
        until(what, PATIENCE, condition);
    }

    /**
     * Waits until the condition is true.
     *
     * @param limit maximum time to wait
     * @throws AssertionError if the condition is false when the limit has passed; the message is "waited LIMIT for"
     *     followed by the given text
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
