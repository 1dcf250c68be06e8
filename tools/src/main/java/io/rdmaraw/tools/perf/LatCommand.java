package io.rdmaraw.tools.perf;

import io.rdmaraw.tools.report.BenchReport;
import io.rdmaraw.tools.report.EndOnSignal;
import io.rdmaraw.tools.report.Json;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code rdma-raw lat}. */
@Command(name = "lat", mixinStandardHelpOptions = true, showDefaultValues = true, sortOptions = false,
        description = {"How long a frame takes there, as perftest's raw_ethernet_lat: one side sends a ping and waits"
                + " for the pong, over and over; half of the round trip counts.",
            "Pings go by a schedule, and the time runs from when a ping was meant to go: what holds one ping up is"
                + " charged to all that it delays (no coordinated omission). A second row has the time from when each"
                + " ping really went, which is what perftest prints."})
public final class LatCommand implements Callable<Integer> {
    @Mixin
    private SideOptions sides;
    @Mixin
    private LengthOptions lengths;
    @Mixin
    private FrameOptions frameOptions;
    @Mixin
    private QueueOptions queueOptions;
    @Mixin
    private SteeringOptions steering;
    @Mixin
    private LatencyOptions latency;
    @Mixin
    private OutputOptions output;

    @Option(names = {"--latency_gap", "--latency-gap"}, paramLabel = "USEC", defaultValue = "0",
            description = "between two pings; 0: twice the median of the warm-up")
    private double gapMicros;

    @Option(names = "--closed-loop", description = "send each ping when the last pong is there, as perftest does")
    private boolean closedLoop;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        PerfUsage.check(spec.commandLine(), sides::check);
        PerfQueueOptions queues = PerfUsage.checked(spec.commandLine(), () -> queueOptions.options(sides.events()));
        PerfFrames frames = PerfUsage.checked(spec.commandLine(), () -> frameOptions.frames(sides, 1));
        LatencyRun run = new LatencyRun(sides, frames, queues, steering, lengths, spec.commandLine().getErr());
        LatencyRun.Pings pings = new LatencyRun.Pings(1, 1, 1, gapMicros * 1e3, closedLoop);
        BenchReport.warnIfBusy(spec.commandLine().getErr());
        PerfReport report = new PerfReport("Send_Latency_Test", sides, frames, queues);
        try (EndOnSignal goOn = new EndOnSignal()) {
            LatencyTable table = latency.measure(run, size -> pings,
                    PerfUsage.checked(spec.commandLine(), run::sizes), goOn, report);
            if (output.json()) {
                Json.print(spec.commandLine().getOut(), report.toJson());
            } else if (sides.runsClient()) {
                table.table().print(spec.commandLine().getOut());
                latency.printHistograms(spec.commandLine().getOut());
            }
        }
        return 0;
    }
}
