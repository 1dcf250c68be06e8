package io.rdmaraw.testsuite.net;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for a condition instead of for a time. */
public final class Await {
    private static final long PAUSE_NANOS = 1_000_000;

    private Await() {
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
