package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.result.BenchOptions;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Implements {@code rdma-raw bench websocket}. */
@Command(name = "websocket", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "As root, on a veth pair of its own: the WebSocket server of examples/ on AF_XDP, beside Netty's"
                + " epoll, io_uring and NIO, which send back texts of 64 bytes, one at a time on each connection: to"
                + " our own client on soft:xdp, which never sleeps (websocket.polled), and at equal rates"
                + " (websocket.paced, as in bench http). perServerCpu is as in bench http.")
public final class WebSocketCommand extends ServerBenchCommand {
    private static final int MAX_CONNECTIONS = 10_000;

    @Option(names = "--connections", paramLabel = "N", split = ",", defaultValue = "64",
            description = "numbers of connections, separated by commas")
    private List<Integer> connections;

    @Mixin
    private PacedOptions paced;

    @Override
    List<LoadGenerator> generators(BenchOptions common) {
        common.require(connections.stream().allMatch(each -> each >= 1 && each <= MAX_CONNECTIONS),
                "--connections must be 1 to " + MAX_CONNECTIONS);
        List<LoadGenerator> generators = new ArrayList<>(PolledLoad.of(RequestKind.WEBSOCKET, connections));
        connections.forEach(each -> generators.addAll(paced.all(common, RequestKind.WEBSOCKET, each)));
        return generators;
    }
}
