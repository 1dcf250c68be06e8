package io.rdmaraw.microbench.wire;

import io.rdmaraw.microbench.result.BenchOptions;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Implements {@code rdma-raw bench wire}. */
@Command(name = "wire", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "As root, on veth pairs of its own: echoes over AF_XDP and AF_PACKET through a Netty pipeline,"
                + " beside C programs on AF_XDP and on libibverbs and Netty's epoll and NIO channels; the cost of"
                + " rules; the kernel's"
                + " TCP on the same interface.")
public final class WireCommand implements Callable<Integer> {
    /** Number of turns of each echo per requested run. Turns are short. */
    static final int ROUNDS_PER_RUN = 2;
    static final double WARM_UP_SECONDS = 15;
    static final double QUICK_WARM_UP_SECONDS = 5;

    @Option(names = {"-s", "--length"}, paramLabel = "BYTES", defaultValue = "64",
            description = "length of the frames without FCS, 60 to 1514")
    private int frameBytes;

    @Mixin
    private BenchOptions options;

    @Override
    public Integer call() throws Exception {
        options.require(frameBytes >= 60 && frameBytes <= 1514, "--length must be 60 to 1514");
        int runs = options.runs(5);
        int rounds = runs * ROUNDS_PER_RUN;
        WireBench.Options how = options.quick()
                ? new WireBench.Options(rounds, quickTurn(frameBytes), QUICK_WARM_UP_SECONDS, runs, 2000, 0.25)
                : new WireBench.Options(rounds, fullTurn(frameBytes), WARM_UP_SECONDS, runs, 10_000, 1);
        return options.print(() -> new WireBench(how, options.progress()).run());
    }

    static WireEcho.Turn quickTurn(int frameBytes) {
        return new WireEcho.Turn(frameBytes, 0.12, 0.06);
    }

    static WireEcho.Turn fullTurn(int frameBytes) {
        return new WireEcho.Turn(frameBytes, 0.4, 0.2);
    }
}
