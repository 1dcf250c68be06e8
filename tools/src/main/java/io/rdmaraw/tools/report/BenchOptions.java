package io.rdmaraw.tools.report;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** What every bench takes, and how it is run: a warning when the machine is busy, then a table or one JSON object. */
public final class BenchOptions {
    private static final int MOST_RUNS = 100;

    @Option(names = "--runs", paramLabel = "N", defaultValue = "7", description = "runs of each case, 1 to 100")
    private int runs;

    @Option(names = "--quick", description = "fewer and shorter runs: about a minute")
    private boolean quick;

    @Option(names = "--json", description = "print the result as one JSON object")
    private boolean json;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    /** Whether less of everything is wanted. */
    public boolean quick() {
        return quick;
    }

    /**
     * Returns the runs of each case.
     *
     * @param mostWhenQuick the most of them with {@code --quick}
     */
    public int runs(int mostWhenQuick) {
        return quick ? Math.min(runs, mostWhenQuick) : runs;
    }

    /** Refuses the command's own options with one sentence unless they are right. */
    public void require(boolean right, String fault) {
        if (!right) {
            throw new ParameterException(spec.commandLine(), fault);
        }
    }

    /** Where a bench tells how far it is. */
    public PrintWriter progress() {
        return spec.commandLine().getErr();
    }

    /** Runs a bench and prints what it found; returns the exit code. */
    public int print(Callable<BenchReport> bench) throws Exception {
        require(runs >= 1 && runs <= MOST_RUNS, "--runs must be 1 to " + MOST_RUNS);
        BenchReport.warnIfBusy(progress());
        BenchReport report = bench.call();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            Json.print(out, report.toJson());
        } else {
            report.printTable(out);
        }
        return 0;
    }
}
