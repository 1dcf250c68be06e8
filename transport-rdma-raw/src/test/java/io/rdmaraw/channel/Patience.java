package io.rdmaraw.channel;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Time limit of waits for events that are immediate on an idle host. Only a failing test waits this long, and it names
 * the event.
 */
final class Patience {
    static final int SECONDS = 50;
    static final int MILLIS = SECONDS * 1_000;
    static final long NANOS = SECONDS * 1_000_000_000L;
    /** Limit of waits that continue as long as there is progress. */
    private static final long PROGRESS_NANOS = TimeUnit.MINUTES.toNanos(10);

    private Patience() {
    }

    /**
     * Polls a condition until it holds.
     *
     * @param what description of the condition for the failure message
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

    /**
     * Waits until a latch opens, as long as its count decreases within the time limit, for ten minutes at most. A busy
     * machine may need longer than the time limit for all of many steps.
     *
     * @param what description of the steps for the failure message
     */
    static void whileProgress(CountDownLatch steps, String what) throws InterruptedException {
        long beganNanos = System.nanoTime();
        long before;
        do {
            before = steps.getCount();
        } while (!steps.await(SECONDS, TimeUnit.SECONDS) && steps.getCount() < before
                && System.nanoTime() - beganNanos < PROGRESS_NANOS);
        if (steps.getCount() > 0) {
            throw new AssertionError(steps.getCount() + " " + what);
        }
    }
}
