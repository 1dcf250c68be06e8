package io.rdmaraw.tools.bench.wire;

import io.rdmaraw.tools.report.BenchOptions;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code rdma-raw bench wire}. */
@Command(name = "wire", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "As root, on a veth pair of its own: echoes over AF_XDP and AF_PACKET through a Netty pipeline,"
                + " beside C programs on AF_XDP and on libibverbs and Netty's epoll and NIO channels; the cost of"
                + " rules; the kernel's"
                + " TCP on the same interface.")
public final class WireCommand implements Callable<Integer> {
    @Option(names = {"-l", "--length"}, paramLabel = "BYTES", defaultValue = "64",
            description = "length of the frames without FCS, 60 to 1514")
    private int frameBytes;

    @Mixin
    private BenchOptions options;

    @Override
    public Integer call() throws Exception {
        options.require(frameBytes >= 60 && frameBytes <= 1514, "--length must be 60 to 1514");
        int runs = options.runs(5);
        WireBench.Options how = options.quick() ? new WireBench.Options(frameBytes, runs, 0.25, 3, 2000)
                : new WireBench.Options(frameBytes, runs, 1, 15, 10_000);
        return options.print(() -> new WireBench(how, options.progress()).run());
    }
}
