package io.rdmaraw.microbench.result;

import io.rdmaraw.testsuite.net.Leftovers;
import io.rdmaraw.tools.command.ExitCode;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Tells what a bench has measured when it is interrupted (Ctrl-C, SIGTERM), and removes the networks that it made: the
 * bench's own thread is in the middle of a measurement then, and does not come to either.
 */
public final class RowsOnSignal {
    private static final long PATIENCE_MILLIS = 500;

    private final PrintWriter err;
    private final Consumer<BenchReport> printer;
    private final CountDownLatch come = new CountDownLatch(1);
    private final Thread hook = new Thread(this::tell, "rows on signal");
    /** Guarded by this: the result is printed once, by the bench or by the hook. */
    private boolean isPrinted;

    private RowsOnSignal(PrintWriter err, Consumer<BenchReport> printer) {
        this.err = err;
        this.printer = printer;
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /**
     * Runs a bench and prints its result, or what there is of it when the signal comes.
     *
     * @param err for the sentence that it was interrupted
     * @return the exit code
     */
    public static int run(Callable<BenchReport> bench, PrintWriter err, Consumer<BenchReport> printer)
            throws Exception {
        RowsOnSignal signal = new RowsOnSignal(err, printer);
        try {
            BenchReport report = bench.call();
            if (!signal.isAhead()) {
                printer.accept(report);
            }
        } catch (Exception e) {
            // Ctrl-C ends the programs that a bench has started as well, and the bench fails for want of them.
            if (!signal.comes()) {
                throw e;
            }
        } finally {
            signal.close();
        }
        return signal.hasCome() ? ExitCode.INTERRUPTED : 0;
    }

    private void tell() {
        come.countDown();
        if (!isAhead()) {
            BenchReport rows = RowsSoFar.latest();
            err.println("rdma-raw: interrupted" + (rows == null ? " before anything was measured"
                    : "; what was measured until then, of fewer runs:"));
            err.flush();
            if (rows != null) {
                rows.interrupt();
                printer.accept(rows);
            }
            Leftovers.removeOwn();
        }
    }

    /** Returns false the first time, to the thread that is to print the result. */
    private synchronized boolean isAhead() {
        boolean before = isPrinted;
        isPrinted = true;
        return before;
    }

    private boolean hasCome() {
        return come.getCount() == 0;
    }

    /** Returns whether the signal comes within a moment: it does not reach this process and its children at once. */
    private boolean comes() {
        try {
            return come.await(PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void close() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException goingDown) {
            // It is running, and the JVM waits for it.
        }
    }
}
