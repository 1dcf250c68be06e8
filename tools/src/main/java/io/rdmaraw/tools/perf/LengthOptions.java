package io.rdmaraw.tools.perf;

import java.util.List;
import java.util.stream.IntStream;
import picocli.CommandLine.Option;

/** The options for the length of the frames and the duration of the run. */
final class LengthOptions {
    /** The lengths of RFC 2544 section 9.1 without the FCS, which the device appends. */
    private static final int[] ALL_SIZES = {60, 124, 252, 508, 1020, 1276, 1514};

    @Option(names = {"-s", "--size", "--length"}, paramLabel = "BYTES", defaultValue = "64",
            description = "length of the frames without FCS, 60 to 9618")
    private int frameBytes;

    @Option(names = {"-a", "--all"}, description = "each of the lengths of RFC 2544: 60, 124, ... 1514")
    private boolean all;

    @Option(names = {"-n", "--iters", "--count"}, paramLabel = "N", defaultValue = "0",
            description = "frames; 0: by duration")
    private long iterations;

    @Option(names = {"-D", "--duration", "--seconds"}, paramLabel = "S", defaultValue = "2",
            description = "seconds without -n")
    private double seconds;

    @Option(names = {"--warm-up", "--perform_warm_up"}, paramLabel = "S", arity = "0..1", fallbackValue = "1",
            defaultValue = "1", description = "seconds before, for the JVM's compiler; no figure counts them")
    private double warmUpSeconds;

    @Option(names = {"-m", "--mtu"}, paramLabel = "BYTES", defaultValue = "9600",
            description = "no longer frames than this MTU lets pass: with -a the longer lengths are left out")
    private int mtuBytes;

    List<Integer> sizes(PerfFrames frames) {
        int longest = mtuBytes + frames.linkHeaderBytes();
        if (mtuBytes < 64 || mtuBytes > 9_600 || !all && frameBytes > longest) {
            throw new IllegalArgumentException("--mtu must be 64 to 9600, and --size at most that and the header of"
                    + " Ethernet: " + longest);
        }
        if (frameBytes < 60 || frameBytes > 9_618) {
            throw new IllegalArgumentException("--size must be 60 to 9618");
        }
        if (iterations < 0 || seconds <= 0 || seconds > 86_400 || warmUpSeconds < 0 || warmUpSeconds > 3_600) {
            throw new IllegalArgumentException("--iters must not be negative, --duration more than 0 and at most 86400,"
                    + " --warm-up 0 to 3600");
        }
        return !all ? List.of(frameBytes) : IntStream.of(ALL_SIZES)
                .filter(size -> size >= frames.headerBytes() && size <= longest).boxed().toList();
    }

    RunLength length() {
        return iterations > 0 ? new RunLength(iterations, 0) : RunLength.ofSeconds(seconds);
    }

    RunLength warmUp() {
        return RunLength.ofSeconds(warmUpSeconds);
    }
}
