package io.rdmaraw.tools.bench;

import io.rdmaraw.tools.report.BenchReport;
import io.rdmaraw.tools.report.Json;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code rdma-raw bench tcp-core}. */
@Command(name = "tcp-core", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "Request-response through the TCP core with both ends on one core and no device, and the cost of "
                + "idle connections. Rates are per second of processor time. Needs 2 GB of heap.")
final class TcpCoreCommand implements Callable<Integer> {
    private static final int MAXIMUM_CONNECTIONS = 1_000_000;

    @Option(names = {"-c", "--connections"}, paramLabel = "N", split = ",", defaultValue = "1,1000,10000,100000",
            description = "how many connections, one case each")
    private List<Integer> connections;

    @Option(names = "--runs", paramLabel = "N", defaultValue = "7", description = "runs of each case, 1 to 100")
    private int runs;

    @Option(names = "--quick", description = "fewer and shorter runs: less than a minute")
    private boolean quick;

    @Option(names = "--json", description = "print the result as one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        if (runs < 1 || runs > 100 || connections.stream().anyMatch(n -> n < 1 || n > MAXIMUM_CONNECTIONS)) {
            throw new ParameterException(spec.commandLine(), "--runs must be 1 to 100 and --connections 1 to "
                    + MAXIMUM_CONNECTIONS);
        }
        TcpCoreBenchOptions options = quick ? new TcpCoreBenchOptions(connections, Math.min(runs, 3), 0.5, 2)
                : new TcpCoreBenchOptions(connections, runs, 1, 4);
        BenchReport.warnIfBusy(spec.commandLine().getErr());
        BenchReport report = new TcpCoreBench(options, spec.commandLine().getErr()).run();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            Json.print(out, report.toJson());
        } else {
            report.printTable(out);
        }
        return 0;
    }
}
