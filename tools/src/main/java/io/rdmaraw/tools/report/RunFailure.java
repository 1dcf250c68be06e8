package io.rdmaraw.tools.report;

import io.rdmaraw.tools.ToolException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/** The first thing that went wrong on a loop, for the thread that waits for the run. Thread-safe. */
public final class RunFailure {
    private final AtomicReference<Throwable> cause = new AtomicReference<>();
    private final CountDownLatch reportedLatch = new CountDownLatch(1);

    /** Only the first report counts. */
    public void report(Throwable failure) {
        cause.compareAndSet(null, failure);
        reportedLatch.countDown();
    }

    /** Opens when something went wrong. */
    public CountDownLatch latch() {
        return reportedLatch;
    }

    /** Ends the command with a sentence if something went wrong. */
    public void throwIfReported(String what) {
        Throwable reported = cause.get();
        if (reported != null) {
            throw new ToolException(what + " failed: " + reported.getMessage(), reported);
        }
    }
}
