package io.rdmaraw.microbench.frames;

import io.rdmaraw.microbench.result.BenchOptions;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Implements {@code rdma-raw bench frames}. */
@Command(name = "frames", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "Receives and echoes frames through a Netty pipeline and in C, in turns on one device.")
public final class FramesCommand implements Callable<Integer> {
    private static final List<Integer> BURSTS = List.of(1, 8, 32, 64);
    private static final List<Integer> QUICK_BURSTS = List.of(64);

    @Option(names = {"-d", "--device"}, paramLabel = "D", defaultValue = "soft:loop", description = "the device")
    private String device;

    @Option(names = {"-s", "--length"}, paramLabel = "BYTES", defaultValue = "64",
            description = "length of the frames without FCS, 60 to 1514")
    private int frameBytes;

    @Mixin
    private BenchOptions options;

    @Override
    public Integer call() throws Exception {
        options.require(frameBytes >= 60 && frameBytes <= 1514, "--length must be 60 to 1514");
        int runs = options.runs(5);
        FramesBenchOptions how = options.quick()
                ? new FramesBenchOptions(device, frameBytes, QUICK_BURSTS, runs, 0.5, 2)
                : new FramesBenchOptions(device, frameBytes, BURSTS, runs, 1, 4);
        return options.print(() -> new FramesBench(how, options.progress()).run());
    }
}
