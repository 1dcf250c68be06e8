package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.Tuning.Channels;
import io.rdmaraw.microbench.result.BenchOptions;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.OffloadsOption;
import io.rdmaraw.microbench.rival.RivalOptions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The options that the server benches share. */
abstract class ServerBenchCommand implements Callable<Integer> {
    @Mixin
    private BenchOptions options;

    @Option(names = "--transport", paramLabel = "T", split = ",", defaultValue = "rdma-raw,epoll,io_uring,nio",
            converter = ServerTransport.Names.class,
            completionCandidates = ServerTransport.Names.class,
            description = "the transports, separated by commas; rdma-raw is required. For bench http there are also"
                    + " rdma-raw-pooled and rdma-raw-heap, which use Netty's pooled allocator for the buffers of"
                    + " connections, off the heap and on it, and rdma-raw-boss, whose listener has an event loop of its"
                    + " own on the same core")
    private Set<ServerTransport> transports;

    @Mixin
    private RivalOptions rivals;

    @Mixin
    private OffloadsOption veth;

    @Mixin
    private ArrangementOption arrangement;

    @Spec
    private CommandSpec spec;

    /**
     * Returns the generators. Those with the same server command share one server process per transport.
     *
     * @param common options that all benches have
     */
    abstract List<LoadGenerator> generators(BenchOptions common);

    /** Returns whether the server of this bench supports transports with additional settings. */
    boolean takesSettings() {
        return false;
    }

    /** Returns the kind of channels of the server. */
    Channels channels() {
        return Channels.STREAM;
    }

    @Override
    public final Integer call() throws Exception {
        options.require(transports.contains(ServerTransport.RDMA_RAW),
                "--transport needs rdma-raw, which the others are compared with");
        options.require(takesSettings() || transports.stream().noneMatch(ServerTransport::hasSettings),
                "--transport: only bench http without TLS has rdma-raw-pooled, rdma-raw-heap and rdma-raw-boss");
        int runs = options.runs(3);
        List<Contender> contenders = transports.stream().sorted().flatMap(this::contenders).toList();
        return options.print(() -> {
            BenchReport report = new BenchReport(spec.name());
            options.progress().println(OffloadsOption.describe(veth.offloads()));
            for (Arrangement each : arrangement.arrangements()) {
                ServerBench.Options how = ServerBench.Options.of(options.quick(), runs, contenders, veth.offloads(),
                        each);
                byServer(generators(options)).forEach((_, generators) ->
                        new ServerBench(spec.name(), generators, how, options.progress()).run(report));
            }
            return report;
        });
    }

    private Stream<Contender> contenders(ServerTransport transport) {
        return rivals.settings(transport.transport(), channels()).stream()
                .map(tuning -> Contender.tuned(transport, tuning));
    }

    private static Map<List<String>, List<LoadGenerator>> byServer(List<LoadGenerator> generators) {
        Map<List<String>, List<LoadGenerator>> servers = new LinkedHashMap<>();
        generators.forEach(each -> servers.computeIfAbsent(each.serverCommand(), _ -> new ArrayList<>()).add(each));
        return servers;
    }
}
