package io.rdmaraw.microbench.result;

import io.rdmaraw.tools.output.Environment;
import io.rdmaraw.tools.output.Json;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The options that all benches share. This class also prints the result, as a table or as one JSON object, and a
 * warning if the machine is busy.
 */
public final class BenchOptions {
    private static final int MAX_RUNS = 100;

    @Option(names = "--runs", paramLabel = "N", defaultValue = "7", description = "runs of each case, 1 to 100")
    private int runs;

    @Option(names = "--quick", description = "fewer and shorter runs")
    private boolean quick;

    @Option(names = "--json", description = "print the result as one JSON object")
    private boolean json;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    /** Returns whether the user requested fewer and shorter runs. */
    public boolean quick() {
        return quick;
    }

    /**
     * Returns the number of runs of each case.
     *
     * @param maxWhenQuick upper limit with {@code --quick}
     */
    public int runs(int maxWhenQuick) {
        return quick ? Math.min(runs, maxWhenQuick) : runs;
    }

    /** Rejects the command line with the given message unless the condition holds. */
    public void require(boolean right, String fault) {
        if (!right) {
            throw new ParameterException(spec.commandLine(), fault);
        }
    }

    /** Returns the writer for progress lines. */
    public PrintWriter progress() {
        return spec.commandLine().getErr();
    }

    /** Runs a bench, prints its result, and returns the exit code. */
    public int print(Callable<BenchReport> bench) throws Exception {
        require(runs >= 1 && runs <= MAX_RUNS, "--runs must be 1 to " + MAX_RUNS);
        Environment.warnIfBusy(progress());
        return RowsOnSignal.run(bench, progress(), this::print);
    }

    private void print(BenchReport report) {
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            Json.print(out, report.toJson());
        } else {
            report.printTable(out);
        }
    }
}
