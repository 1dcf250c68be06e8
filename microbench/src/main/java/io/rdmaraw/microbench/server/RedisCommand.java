package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.result.BenchOptions;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Implements {@code rdma-raw bench redis}. */
@Command(name = "redis", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "As root, on a veth pair of its own: the server of examples/ with Redis' protocol on AF_XDP,"
                + " beside Netty's epoll, io_uring and NIO, under redis-benchmark, which gets three bytes, one request"
                + " at a time on each connection, and at equal rates (redis.paced, as in bench http). perServerCpu,"
                + " waited and perMachineCpu are as in bench http.")
public final class RedisCommand extends ServerBenchCommand {
    private static final int MAX_CONNECTIONS = 10_000;

    @Option(names = "--connections", paramLabel = "N", split = ",", defaultValue = "100",
            description = "numbers of connections, separated by commas")
    private List<Integer> connections;

    @Mixin
    private PacedOptions paced;

    @Option(names = "--polled", description = "use only our own client on soft:xdp, which never sleeps, instead of"
            + " redis-benchmark, whose core is saturated before the server's (redis.polled)")
    private boolean polled;

    @Override
    List<LoadGenerator> generators(BenchOptions common) {
        common.require(connections.stream().allMatch(each -> each >= 1 && each <= MAX_CONNECTIONS),
                "--connections must be 1 to " + MAX_CONNECTIONS);
        if (polled) {
            return PolledLoad.of(RequestKind.REDIS, connections);
        }
        List<LoadGenerator> generators = new ArrayList<>();
        for (int each : connections) {
            generators.add(new RedisBenchmark(each));
            generators.addAll(paced.all(common, RequestKind.REDIS, each));
        }
        return generators;
    }
}
