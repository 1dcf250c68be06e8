package io.rdmaraw.microbench.tcpcore;

import io.rdmaraw.microbench.result.BenchOptions;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Implements {@code rdma-raw bench tcp-core}. */
@Command(name = "tcp-core", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "Request-response through the TCP core with both ends on one core and no device, and the cost of "
                + "idle connections. Rates are per second of processor time. Needs 2 GB of heap.")
public final class TcpCoreCommand implements Callable<Integer> {
    private static final int MAXIMUM_CONNECTIONS = 1_000_000;

    @Option(names = {"-c", "--connections"}, paramLabel = "N", split = ",", defaultValue = "1,1000,10000,100000",
            description = "how many connections, one case each")
    private List<Integer> connections;

    @Option(names = "--shuffled", description = "have the connections take turns in an order of chance, as peers"
            + " do, and not in the order in which they lie in memory (cases tcp-core.rr.shuffled)")
    private boolean shuffled;

    @Mixin
    private BenchOptions options;

    @Override
    public Integer call() throws Exception {
        options.require(connections.stream().allMatch(n -> n >= 1 && n <= MAXIMUM_CONNECTIONS),
                "--connections must be 1 to " + MAXIMUM_CONNECTIONS);
        int runs = options.runs(3);
        TcpCoreBenchOptions how = options.quick() ? new TcpCoreBenchOptions(connections, shuffled, runs, 0.5, 2)
                : new TcpCoreBenchOptions(connections, shuffled, runs, 1, 4);
        return options.print(() -> new TcpCoreBench(how, options.progress()).run());
    }
}
