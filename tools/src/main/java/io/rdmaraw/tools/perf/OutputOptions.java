package io.rdmaraw.tools.perf;

import io.rdmaraw.tools.output.Environment;
import java.io.PrintWriter;
import picocli.CommandLine.Option;

/** The options that control the output. */
final class OutputOptions {
    @Option(names = "--json", description = "print the result as one JSON object, with perftest's names in it")
    private boolean json;

    @Option(names = {"--report_gbits", "--report-gbits"}, description = "Gbit/s in place of MiB/s")
    private boolean gigabits;

    @Option(names = {"-F", "--CPU-freq"}, description = "say nothing of other programs that use the processors")
    private boolean quiet;

    /** Prints a warning if other programs use the processors. */
    void warnIfBusy(PrintWriter err) {
        if (!quiet) {
            Environment.warnIfBusy(err);
        }
    }

    boolean json() {
        return json;
    }

    boolean gigabits() {
        return gigabits;
    }
}
