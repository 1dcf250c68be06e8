package io.rdmaraw.channel;

import java.util.function.BooleanSupplier;

/** How long a test waits for what comes at once on an idle host. Only a test that fails waits so long, and says why. */
final class Patience {
    static final int SECONDS = 50;
    static final int MILLIS = SECONDS * 1_000;
    static final long NANOS = SECONDS * 1_000_000_000L;

    private Patience() {
    }

    /**
     * Looks again and again until something holds.
     *
     * @param what is waited for, in words that the failure says
     */
    static void until(BooleanSupplier holds, String what) {
        long beganNanos = System.nanoTime();
        while (!holds.getAsBoolean()) {
            if (System.nanoTime() - beganNanos > NANOS || Thread.currentThread().isInterrupted()) {
                throw new AssertionError("waited in vain for " + what);
            }
            Thread.onSpinWait();
        }
    }
}
