package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.result.BenchOptions;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.OffloadsOption;
import io.rdmaraw.microbench.server.FrameworkLoad.Framework;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** Implements {@code rdma-raw bench frameworks}. */
@Command(name = "frameworks", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "As root, on a veth pair of its own: servers of Vert.x, Reactor Netty and gRPC on AF_XDP, beside"
                + " the same on their own epoll, in turns, under wrk and h2load with one request at a time on each"
                + " connection. perServerCpu is as in bench http. share.handler is the part of the event loop's time"
                + " that the framework itself takes with its handler, share.netty that of Netty's own classes; shares"
                + " are sampled by async-profiler, after the runs.")
public final class FrameworksCommand implements Callable<Integer> {
    private static final int MAX_CONNECTIONS = 10_000;

    @Mixin
    private BenchOptions options;

    @Option(names = "--framework", paramLabel = "F", split = ",", converter = Names.class,
            description = "vertx, reactor-netty or grpc, separated by commas (all three, and vertx with --quick)")
    private List<Framework> frameworks;

    @Option(names = "--connections", paramLabel = "N", defaultValue = "64", description = "1 to 10000")
    private int connections;

    @Mixin
    private OffloadsOption veth;

    @Mixin
    private ArrangementOption arrangement;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        options.require(connections >= 1 && connections <= MAX_CONNECTIONS,
                "--connections must be 1 to " + MAX_CONNECTIONS);
        if (frameworks == null) {
            frameworks = options.quick() ? List.of(Framework.VERTX) : List.of(Framework.values());
        }
        List<Contender> turns = List.of(Contender.stock(ServerTransport.RDMA_RAW),
                Contender.stock(ServerTransport.EPOLL));
        int runs = options.runs(3);
        return options.print(() -> {
            options.progress().println(OffloadsOption.describe(veth.offloads()));
            BenchReport report = new BenchReport(spec.name());
            for (Arrangement each : arrangement.arrangements()) {
                ServerBench.Options how = ServerBench.Options.of(options.quick(), runs, turns, veth.offloads(),
                        each);
                for (Framework framework : frameworks) {
                    List<LoadGenerator> load = List.of(new FrameworkLoad(framework, connections));
                    new ServerBench(spec.name() + ' ' + framework.text(), load, how, options.progress()).run(report);
                }
            }
            return report;
        });
    }

    /** Parses the names on the command line. */
    static final class Names implements ITypeConverter<Framework> {
        @Override
        public Framework convert(String word) {
            return Arrays.stream(Framework.values()).filter(each -> each.text().equals(word)).findFirst()
                    .orElseThrow(() -> new TypeConversionException('\'' + word
                            + "' is none of vertx, reactor-netty and grpc"));
        }
    }
}
