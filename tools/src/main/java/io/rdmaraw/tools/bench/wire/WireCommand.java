package io.rdmaraw.tools.bench.wire;

import io.rdmaraw.tools.report.BenchReport;
import io.rdmaraw.tools.report.Json;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code rdma-raw bench wire}. */
@Command(name = "wire", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "As root, on a veth pair of its own: echoes over AF_XDP and AF_PACKET through a Netty pipeline,"
                + " beside a C program on AF_XDP and Netty's epoll and NIO channels; the cost of rules; the kernel's"
                + " TCP on the same interface.")
public final class WireCommand implements Callable<Integer> {
    @Option(names = {"-l", "--length"}, paramLabel = "BYTES", defaultValue = "64",
            description = "length of the frames without FCS, 60 to 1514")
    private int frameBytes;

    @Option(names = "--runs", paramLabel = "N", defaultValue = "7", description = "runs of each case, 1 to 100")
    private int runs;

    @Option(names = "--quick", description = "fewer and shorter runs: about a minute")
    private boolean quick;

    @Option(names = "--json", description = "print the result as one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        if (frameBytes < 60 || frameBytes > 1514 || runs < 1 || runs > 100) {
            throw new ParameterException(spec.commandLine(), "--length must be 60 to 1514 and --runs 1 to 100");
        }
        WireBench.Options options = quick
                ? new WireBench.Options(frameBytes, Math.min(runs, 3), 0.5, 1.5, 2000)
                : new WireBench.Options(frameBytes, runs, 1, 4, 10_000);
        BenchReport.warnIfBusy(spec.commandLine().getErr());
        BenchReport report = new WireBench(options, spec.commandLine().getErr()).run();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            Json.print(out, report.toJson());
        } else {
            report.printTable(out);
        }
        return 0;
    }
}
