package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.result.BenchOptions;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code rdma-raw bench websocket}. */
@Command(name = "websocket", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "As root, on a veth pair of its own: the WebSocket server of examples/ on AF_XDP, beside Netty's"
                + " epoll, io_uring and NIO, which send back texts of 64 bytes to a client of ours on soft:xdp that"
                + " never sleeps, one at a time on each connection. perServerCpu is as in bench http.")
public final class WebSocketCommand extends ServerBenchCommand {
    private static final int MOST_CONNECTIONS = 10_000;

    @Option(names = "--connections", paramLabel = "N", split = ",", defaultValue = "64",
            description = "numbers of connections, separated by commas")
    private List<Integer> connections;

    @Override
    List<LoadGenerator> generators(BenchOptions common) {
        common.require(connections.stream().allMatch(each -> each >= 1 && each <= MOST_CONNECTIONS),
                "--connections must be 1 to " + MOST_CONNECTIONS);
        return PolledLoad.of(PolledKind.WEBSOCKET, connections);
    }
}
