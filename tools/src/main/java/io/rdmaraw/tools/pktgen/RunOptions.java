package io.rdmaraw.tools.pktgen;

import java.util.concurrent.TimeUnit;
import picocli.CommandLine;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The options shared by sending and receiving. */
final class RunOptions {
    @Option(names = {"-d", "--device"}, paramLabel = "D", defaultValue = "soft:loop",
            description = "the device: see ./rdma-raw devinfo --list")
    private String device;

    @Option(names = {"-i", "--ib-port"}, paramLabel = "N", description = "the port of the device")
    private Integer port;

    @Option(names = {"-n", "--count"}, paramLabel = "FRAMES", defaultValue = "0",
            description = "end after so many frames; 0: no limit")
    private long count;

    @Option(names = {"-D", "--seconds"}, paramLabel = "S", defaultValue = "0",
            description = "end after so many seconds; 0: no limit")
    private double seconds;

    @Option(names = "--json", description = "print the result as one JSON object")
    private boolean json;

    void check(CommandLine commandLine) {
        require(commandLine, count >= 0, "--count must not be negative");
        require(commandLine, seconds >= 0 && seconds <= 31_536_000, "--seconds must be 0 to 31536000");
        require(commandLine, port == null || port >= 1 && port <= 255, "--ib-port must be 1 to 255");
    }

    static void require(CommandLine commandLine, boolean right, String fault) {
        if (!right) {
            throw new ParameterException(commandLine, fault);
        }
    }

    String device() {
        return device;
    }

    int port() {
        return port == null ? 0 : port;
    }

    long count() {
        return count;
    }

    long durationNanos() {
        return (long) (seconds * TimeUnit.SECONDS.toNanos(1));
    }

    boolean json() {
        return json;
    }
}
