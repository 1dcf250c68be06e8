package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.result.BenchOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Implements {@code rdma-raw bench http}. */
@Command(name = "http", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "As root, on a veth pair of its own: the HTTP/1.1 server of examples/ on AF_XDP, beside Netty's"
                + " epoll, io_uring and NIO: at full speed (http.SHAPE, by wrk), and, with several connections, at"
                + " rates that are the same for all (http.paced): shares of the maximum of the slowest transport. The"
                + " client of http.paced sends on a fixed schedule and counts latency from the scheduled time."
                + " perServerCpu counts all work of the server's core, including what the kernel receives for the"
                + " server in soft interrupts; serverCpu is the share of that core that was used; waited is the time"
                + " that the server's loop was runnable while another thread had the core; perMachineCpu counts the"
                + " work of all cores, including the generator's; generatorLate is the 99th percentile of the"
                + " generator's own delay.")
public final class HttpCommand extends ServerBenchCommand {
    private static final List<Integer> QUICK_CONNECTIONS = List.of(64, 1);
    private static final List<Integer> CONNECTIONS = List.of(64, 256, 1);
    private static final List<Integer> QUICK_LOADS = List.of(50, 90);
    private static final int MAX_CONNECTIONS = 10_000;
    /** The shapes that the polling client and the paced client support. */
    private static final Map<HttpShape, RequestKind> KINDS = Map.of(HttpShape.PLAINTEXT, RequestKind.HTTP,
            HttpShape.SHORT, RequestKind.HTTP_SHORT);

    @Option(names = "--connections", paramLabel = "N", split = ",",
            description = "numbers of connections, separated by commas (64,256,1, and 64,1 with --quick)")
    private List<Integer> connections;

    @Option(names = "--shape", paramLabel = "SHAPE", split = ",", defaultValue = "plaintext",
            converter = HttpShapes.class, completionCandidates = HttpShapes.class,
            description = "the requests, separated by commas: plaintext; short: every tenth request closes its"
                    + " connection; pipelined: 16 requests at once; large: answers of 64 KB")
    private Set<HttpShape> shapes;

    @Option(names = "--tls", paramLabel = "ENGINE", split = ",", defaultValue = "none",
            converter = HttpTls.Names.class, completionCandidates = HttpTls.Names.class,
            description = "servers without TLS and with it, separated by commas: none; jdk or openssl, whose cases are"
                    + " https.ENGINE.SHAPE, by wrk alone, for 8 seconds or more, handshakes included")
    private Set<HttpTls> engines;

    @Mixin
    private PacedOptions paced;

    @Option(names = "--polled", description = "use only our own client on soft:xdp, which never sleeps, with one"
            + " request at a time on each connection (http.polled): with one connection, the time that a request waits"
            + " for the server")
    private boolean polled;

    @Override
    boolean takesSettings() {
        return engines.equals(Set.of(HttpTls.NONE));
    }

    @Override
    List<LoadGenerator> generators(BenchOptions common) {
        if (connections == null) {
            connections = common.quick() ? QUICK_CONNECTIONS : CONNECTIONS;
        }
        common.require(connections.stream().allMatch(each -> each >= 1 && each <= MAX_CONNECTIONS),
                "--connections must be 1 to " + MAX_CONNECTIONS);
        if (polled) {
            common.require(takesSettings() && KINDS.keySet().containsAll(shapes),
                    "--polled has the shapes plaintext and short only, and no --tls");
            return shapes.stream().flatMap(shape -> PolledLoad.of(KINDS.get(shape), connections).stream()).toList();
        }
        List<LoadGenerator> generators = new ArrayList<>();
        for (HttpTls tls : engines) {
            for (int each : connections) {
                shapes.forEach(shape -> generators.addAll(generators(common, tls, shape, each)));
            }
        }
        return generators;
    }

    private List<LoadGenerator> generators(BenchOptions common, HttpTls tls, HttpShape shape, int count) {
        EqualLoad load = paced.newLoad();
        List<LoadGenerator> generators = new ArrayList<>(List.of(new Wrk(tls, shape, count, load)));
        if (count > 1 && KINDS.containsKey(shape) && tls == HttpTls.NONE) {
            generators.addAll(paced.shares(common, QUICK_LOADS, KINDS.get(shape), count, load));
        }
        return generators;
    }
}
