package io.rdmaraw.tools.perf;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command {@code rdma-raw burst-lat}. */
@Command(name = "burst-lat", mixinStandardHelpOptions = true, showDefaultValues = true, sortOptions = false,
        description = {"Latency under load, as perftest's raw_ethernet_burst_lat: bursts of pings go at a rate, every"
                + " n-th ping is answered, whether or not the answers before are there.",
            "The time runs from when a ping was meant to go, and a pong finds its ping by number: neither a stall nor a"
                + " lost frame spoils the figures."})
public final class BurstLatCommand implements Callable<Integer> {
    private static final int DEFAULT_BURST = 100;

    @Mixin
    private PerfOptions options;
    @Mixin
    private RateOptions rate;
    @Mixin
    private LatencyOptions latency;

    @Option(names = {"--reply_every", "--reply-every"}, paramLabel = "N", defaultValue = "1",
            description = "the server answers every N-th ping; the same on both sides")
    private int replyEvery;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        options.check();
        PerfUsage.check(spec.commandLine(), rate::check);
        if (replyEvery < 1 || replyEvery > 1 << 20) {
            throw new ParameterException(spec.commandLine(), "--reply-every must be 1 to 1048576");
        }
        PerfFrames frames = options.frames();
        PerfQueueOptions queues = options.queues();
        PerfReport report = new PerfReport("Send_Burst_Latency_Test", options.sides(), frames, queues);
        report.info().put("Burst_size", rate.burst(DEFAULT_BURST)).put("Reply_every", replyEvery);
        latency.print(options, frames, queues, report, size -> pings(size, queues));
        return 0;
    }

    private LatencyRun.Pings pings(int frameBytes, PerfQueueOptions queues) {
        int burst = rate.burst(DEFAULT_BURST);
        double nanosPerBurst = rate.isLimited() ? burst * 1e9 / rate.framesPerSecond(frameBytes) : 0;
        // Without a rate, the window allows as many unanswered pings as half of the peer's receive queue.
        int window = rate.isLimited() ? Integer.MAX_VALUE : Math.max(1, queues.receiveDepth() / 2 / replyEvery);
        return new LatencyRun.Pings(burst, replyEvery, window, nanosPerBurst, false);
    }
}
