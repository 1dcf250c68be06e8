package io.rdmaraw.tools.perf;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The command {@code rdma-raw lat}. */
@Command(name = "lat", mixinStandardHelpOptions = true, showDefaultValues = true, sortOptions = false,
        description = {"How long a frame takes there, as perftest's raw_ethernet_lat: one side sends a ping and waits"
                + " for the pong, over and over; half of the round trip counts.",
            "Pings go by a schedule, and the time runs from when a ping was meant to go: what holds one ping up is"
                + " charged to all that it delays (no coordinated omission). A second row has the time from when each"
                + " ping really went, which is what perftest prints."})
public final class LatCommand implements Callable<Integer> {
    @Mixin
    private PerfOptions options;
    @Mixin
    private LatencyOptions latency;

    @Option(names = {"--latency_gap", "--latency-gap"}, paramLabel = "USEC", defaultValue = "0",
            description = "between two pings; 0: twice the median of the warm-up")
    private double gapMicros;

    @Option(names = "--closed-loop", description = "send each ping after the last pong, as perftest does")
    private boolean closedLoop;

    @Override
    public Integer call() {
        options.check();
        LatencyRun.Pings pings = new LatencyRun.Pings(1, 1, 1, gapMicros * 1e3, closedLoop);
        PerfFrames frames = options.frames();
        PerfQueueOptions queues = options.queues();
        latency.print(options, frames, queues, new PerfReport("Send_Latency_Test", options.sides(), frames, queues),
                size -> pings);
        return 0;
    }
}
