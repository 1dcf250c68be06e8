package io.rdmaraw.tools.bench.server;

import java.util.List;
import picocli.CommandLine.Command;

/** {@code rdma-raw bench http}. */
@Command(name = "http", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "As root, on a veth pair of its own: the HTTP/1.1 server of examples/ on AF_XDP, beside Netty's"
                + " epoll, io_uring and NIO, under wrk with 64 connections and with 1. perServerCpu counts"
                + " all that the core did which has the server to itself with what the kernel receives for it, soft"
                + " interrupts too; perMachineCpu all that any core did, the generator's work too.")
public final class HttpCommand extends ServerBenchCommand {
    private static final int MANY_CONNECTIONS = 64;

    @Override
    List<LoadGenerator> generators() {
        return List.of(new Wrk(MANY_CONNECTIONS), new Wrk(1));
    }
}
