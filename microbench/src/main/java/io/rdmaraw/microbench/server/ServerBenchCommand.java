package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.result.BenchOptions;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.OffloadsOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The options that the benches of servers share. */
abstract class ServerBenchCommand implements Callable<Integer> {
    @Mixin
    private BenchOptions options;

    @Option(names = "--transport", paramLabel = "T", split = ",", defaultValue = "rdma-raw,epoll,io_uring,nio",
            converter = ServerTransport.Names.class,
            completionCandidates = ServerTransport.Names.class,
            description = "the transports, separated by commas; rdma-raw is needed. rdma-raw-pooled and rdma-raw-heap,"
                    + " with Netty's pooled allocator for the buffers of connections, off the heap and on it, and"
                    + " rdma-raw-boss, with a group that accepts on the same core, are for bench http")
    private Set<ServerTransport> transports;

    @Mixin
    private OffloadsOption veth;

    @Mixin
    private ArrangementOption arrangement;

    @Spec
    private CommandSpec spec;

    /**
     * Returns the generators. Those that ask the same server follow one another.
     *
     * @param common what all benches of servers take
     */
    abstract List<LoadGenerator> generators(BenchOptions common);

    /** Returns whether the server has the options of transports with settings. */
    boolean takesSettings() {
        return false;
    }

    @Override
    public final Integer call() throws Exception {
        options.require(transports.contains(ServerTransport.RDMA_RAW),
                "--transport needs rdma-raw, which the others are compared with");
        options.require(takesSettings() || transports.stream().noneMatch(ServerTransport::hasSettings),
                "--transport: only bench http without TLS has rdma-raw-pooled, rdma-raw-heap and rdma-raw-boss");
        int runs = options.runs(3);
        List<ServerTransport> turns = transports.stream().sorted().toList();
        return options.print(() -> {
            BenchReport report = new BenchReport(spec.name());
            options.progress().println(OffloadsOption.describe(veth.offloads()));
            for (Arrangement each : arrangement.arrangements()) {
                ServerBench.Options how = ServerBench.Options.of(options.quick(), runs, turns, veth.offloads(), each);
                byServer(generators(options)).forEach((_, asking) ->
                        new ServerBench(spec.name(), asking, how, options.progress()).run(report));
            }
            return report;
        });
    }

    private static Map<List<String>, List<LoadGenerator>> byServer(List<LoadGenerator> generators) {
        Map<List<String>, List<LoadGenerator>> servers = new LinkedHashMap<>();
        generators.forEach(each -> servers.computeIfAbsent(each.serverCommand(), _ -> new ArrayList<>()).add(each));
        return servers;
    }
}
