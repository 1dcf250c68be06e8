package io.rdmaraw.tools.bench.server;

import io.rdmaraw.tools.report.BenchReport;
import io.rdmaraw.tools.report.Json;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** What the benches of servers have in common. */
abstract class ServerBenchCommand implements Callable<Integer> {
    @Option(names = "--runs", paramLabel = "N", defaultValue = "7", description = "runs of each case, 1 to 100")
    private int runs;

    @Option(names = "--quick", description = "fewer and shorter runs: about a minute")
    private boolean quick;

    @Option(names = "--json", description = "print the result as one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec;

    /** The generators, the first of which warms the server up. */
    abstract List<LoadGenerator> generators();

    @Override
    public final Integer call() {
        if (runs < 1 || runs > 100) {
            throw new ParameterException(spec.commandLine(), "--runs must be 1 to 100");
        }
        PrintWriter progress = spec.commandLine().getErr();
        BenchReport.warnIfBusy(progress);
        ServerBench.Options options = quick ? new ServerBench.Options(Math.min(runs, 2), 2, 3)
                : new ServerBench.Options(runs, 5, 5);
        BenchReport report = new ServerBench(spec.name(), generators(), options, progress).run();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            Json.print(out, report.toJson());
        } else {
            report.printTable(out);
        }
        return 0;
    }
}
