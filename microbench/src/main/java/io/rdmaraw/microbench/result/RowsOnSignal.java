package io.rdmaraw.microbench.result;

import io.rdmaraw.testsuite.net.Leftovers;
import io.rdmaraw.tools.command.ExitCode;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * If a bench is interrupted by Ctrl-C or SIGTERM, prints its rows so far and removes its networks. This runs in a
 * shutdown hook, because the thread of the bench is in the middle of a measurement.
 */
public final class RowsOnSignal {
    private static final long PATIENCE_MILLIS = 500;

    private final PrintWriter err;
    private final Consumer<BenchReport> printer;
    private final CountDownLatch come = new CountDownLatch(1);
    private final Thread hook = new Thread(this::tell, "rows on signal");
    /**
     * Whether the bench or the hook has printed the result, which must be printed only once. Guarded by this object.
     */
    private boolean isPrinted;

    private RowsOnSignal(PrintWriter err, Consumer<BenchReport> printer) {
        this.err = err;
        this.printer = printer;
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /**
     * Runs a bench and prints its result, or its rows so far if a signal interrupts it.
     *
     * @param err receives the message about the interruption
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
            // Ctrl-C also ends the programs that the bench has started, so the bench may fail before the hook runs.
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

    /** Returns false to the first caller, which must print the result, and true to later callers. */
    private synchronized boolean isAhead() {
        boolean before = isPrinted;
        isPrinted = true;
        return before;
    }

    private boolean hasCome() {
        return come.getCount() == 0;
    }

    /** Waits briefly for the signal and returns whether it has arrived. The children may receive it first. */
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
            // The hook is running, and the JVM waits for it.
        }
    }
}
