package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.result.BenchOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code rdma-raw bench http}. */
@Command(name = "http", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "As root, on a veth pair of its own: the HTTP/1.1 server of examples/ on AF_XDP, beside Netty's"
                + " epoll, io_uring and NIO: asked as fast as it answers (http.SHAPE, by wrk), and, where there are"
                + " several connections, at rates that are the same for all (http.paced, by a client that counts"
                + " latency from when a request was due): shares of what the slowest answers. perServerCpu counts"
                + " all that the core did which has the server to itself with what the kernel receives for it, soft"
                + " interrupts too; serverCpu is the share of that core; waited the time that the server's"
                + " loop was ready and something else had it; perMachineCpu all that any core did, the generator's work"
                + " too; generatorLate the 99th percentile of the generator's own delay.")
public final class HttpCommand extends ServerBenchCommand {
    private static final List<Integer> QUICK_CONNECTIONS = List.of(64, 1);
    private static final List<Integer> CONNECTIONS = List.of(64, 256, 1);
    private static final int MOST_CONNECTIONS = 10_000;
    private static final int MOST_PERCENT = 1_000;
    private static final Map<HttpShape, PolledKind> POLLED_SHAPES = Map.of(HttpShape.PLAINTEXT, PolledKind.HTTP,
            HttpShape.SHORT, PolledKind.HTTP_SHORT);

    @Option(names = "--connections", paramLabel = "N", split = ",",
            description = "numbers of connections, separated by commas (64,256,1, and 64,1 with --quick)")
    private List<Integer> connections;

    @Option(names = "--shape", paramLabel = "SHAPE", split = ",", defaultValue = "plaintext",
            converter = HttpShapes.class, completionCandidates = HttpShapes.class,
            description = "what is asked for, separated by commas: plaintext; short: each tenth answer is the last of"
                    + " its connection; pipelined: 16 requests at once; large: answers of 64 KB")
    private Set<HttpShape> shapes;

    @Option(names = "--tls", paramLabel = "ENGINE", split = ",", defaultValue = "none",
            converter = HttpTls.Names.class, completionCandidates = HttpTls.Names.class,
            description = "servers without TLS and with it, separated by commas: none; jdk or openssl, whose cases are"
                    + " https.ENGINE.SHAPE, by wrk alone, for 8 seconds or more, handshakes included")
    private Set<HttpTls> engines;

    @Option(names = "--load", paramLabel = "PERCENT", split = ",", defaultValue = "50,90",
            description = "the loads of http.paced, in percent of what the slowest transport answers, or of --rate")
    private List<Integer> loads;

    @Option(names = "--rate", paramLabel = "R", defaultValue = "0",
            description = "requests per second that are a load of 100 percent; 0: what the slowest transport answers")
    private double rate;

    @Option(names = "--polled", description = "ask by a client of ours on soft:xdp that never sleeps, one request at a"
            + " time on each connection, and by nothing else (http.polled): with one connection, what a request waits"
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
        common.require(connections.stream().allMatch(each -> each >= 1 && each <= MOST_CONNECTIONS),
                "--connections must be 1 to " + MOST_CONNECTIONS);
        common.require(loads.stream().allMatch(each -> each >= 1 && each <= MOST_PERCENT),
                "--load must be 1 to " + MOST_PERCENT);
        common.require(rate == 0 || rate >= 1 && rate <= 1e7, "--rate must be 1 to 10000000, or 0");
        if (polled) {
            common.require(takesSettings() && POLLED_SHAPES.keySet().containsAll(shapes),
                    "--polled asks for shapes plaintext and short alone, and without --tls");
            return shapes.stream().flatMap(shape -> PolledLoad.of(POLLED_SHAPES.get(shape), connections).stream())
                    .toList();
        }
        List<LoadGenerator> generators = new ArrayList<>();
        for (HttpTls tls : engines) {
            for (int each : connections) {
                shapes.forEach(shape -> addGenerators(tls, shape, each, generators));
            }
        }
        return generators;
    }

    private void addGenerators(HttpTls tls, HttpShape shape, int count, List<LoadGenerator> generators) {
        EqualLoad load = new EqualLoad(rate);
        generators.add(new Wrk(tls, shape, count, load));
        if (count > 1 && shape == HttpShape.PLAINTEXT && tls == HttpTls.NONE) {
            loads.forEach(percent -> generators.add(new PacedHttp(count, load, percent)));
        }
    }
}
