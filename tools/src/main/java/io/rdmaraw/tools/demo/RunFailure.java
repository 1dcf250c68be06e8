package io.rdmaraw.tools.demo;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/** The first thing that went wrong on a loop, for the thread that waits for the run. Thread-safe. */
final class RunFailure {
    private final AtomicReference<Throwable> cause = new AtomicReference<>();
    private final CountDownLatch reported = new CountDownLatch(1);

    void report(Throwable failure) {
        cause.compareAndSet(null, failure);
        reported.countDown();
    }

    /** Opens when something went wrong. */
    CountDownLatch latch() {
        return reported;
    }

    /** Null while all is well. */
    Throwable cause() {
        return cause.get();
    }
}
