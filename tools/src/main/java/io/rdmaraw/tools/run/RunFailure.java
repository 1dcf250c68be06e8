package io.rdmaraw.tools.run;

import io.rdmaraw.tools.command.ToolException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/** Passes the first failure on an event loop to the thread that waits for the run. Thread-safe. */
public final class RunFailure {
    private final AtomicReference<Throwable> cause = new AtomicReference<>();
    private final CountDownLatch reportedLatch = new CountDownLatch(1);

    /** Reports a failure. Later reports are ignored. */
    public void report(Throwable failure) {
        cause.compareAndSet(null, failure);
        reportedLatch.countDown();
    }

    /** Returns a latch that opens on a failure. */
    public CountDownLatch latch() {
        return reportedLatch;
    }

    /** Throws an exception with a message of one sentence if a failure was reported. */
    public void throwIfReported(String what) {
        Throwable reported = cause.get();
        if (reported != null) {
            throw new ToolException(what + " failed: " + reported.getMessage(), reported);
        }
    }
}
