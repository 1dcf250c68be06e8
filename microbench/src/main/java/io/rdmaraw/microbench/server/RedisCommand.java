package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.result.BenchOptions;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code rdma-raw bench redis}. */
@Command(name = "redis", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "As root, on a veth pair of its own: the server of examples/ with Redis' protocol on AF_XDP,"
                + " beside Netty's epoll, io_uring and NIO, under redis-benchmark, which gets three bytes, one at a"
                + " time on each connection. perServerCpu, waited and perMachineCpu are as in bench http.")
public final class RedisCommand extends ServerBenchCommand {
    private static final int MOST_CONNECTIONS = 10_000;

    @Option(names = "--connections", paramLabel = "N", split = ",", defaultValue = "100",
            description = "numbers of connections, separated by commas")
    private List<Integer> connections;

    @Option(names = "--polled", description = "ask by a client of ours on soft:xdp that never sleeps, and not by"
            + " redis-benchmark, whose own core is busy before the server's is (redis.polled)")
    private boolean polled;

    @Override
    List<LoadGenerator> generators(BenchOptions common) {
        common.require(connections.stream().allMatch(each -> each >= 1 && each <= MOST_CONNECTIONS),
                "--connections must be 1 to " + MOST_CONNECTIONS);
        if (polled) {
            return PolledLoad.of(PolledKind.REDIS, connections);
        }
        return connections.stream().<LoadGenerator>map(RedisBenchmark::new).toList();
    }
}
