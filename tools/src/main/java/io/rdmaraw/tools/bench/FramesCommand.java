package io.rdmaraw.tools.bench;

import io.rdmaraw.tools.report.BenchReport;
import io.rdmaraw.tools.report.Json;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code rdma-raw bench frames}. */
@Command(name = "frames", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "Receives and echoes frames through a Netty pipeline and in C, in turns on one device.")
final class FramesCommand implements Callable<Integer> {
    private static final List<Integer> BURSTS = List.of(1, 8, 32, 64);
    private static final List<Integer> QUICK_BURSTS = List.of(64);

    @Option(names = {"-d", "--device"}, paramLabel = "D", defaultValue = "soft:loop", description = "the device")
    private String device;

    @Option(names = {"-l", "--length"}, paramLabel = "BYTES", defaultValue = "64",
            description = "length of the frames without FCS, 60 to 1514")
    private int frameBytes;

    @Option(names = "--runs", paramLabel = "N", defaultValue = "7", description = "runs of each case, 1 to 100")
    private int runs;

    @Option(names = "--quick", description = "bursts of 64 only and fewer runs: less than a minute")
    private boolean quick;

    @Option(names = "--json", description = "print the result as one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        if (frameBytes < 60 || frameBytes > 1514 || runs < 1 || runs > 100) {
            throw new ParameterException(spec.commandLine(), "--length must be 60 to 1514 and --runs 1 to 100");
        }
        FramesBenchOptions options = quick
                ? new FramesBenchOptions(device, frameBytes, QUICK_BURSTS, Math.min(runs, 5), 0.5, 2)
                : new FramesBenchOptions(device, frameBytes, BURSTS, runs, 1, 4);
        BenchReport.warnIfBusy(spec.commandLine().getErr());
        BenchReport report = new FramesBench(options, spec.commandLine().getErr()).run();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            Json.print(out, report.toJson());
        } else {
            report.printTable(out);
        }
        return 0;
    }
}
