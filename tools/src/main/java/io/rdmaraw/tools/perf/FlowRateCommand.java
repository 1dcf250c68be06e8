package io.rdmaraw.tools.perf;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;
import io.rdmaraw.tools.output.TextTable;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command {@code rdma-raw flow-rate}. */
@Command(name = "flow-rate", mixinStandardHelpOptions = true, showDefaultValues = true, sortOptions = false,
        description = "How many flow rules a device makes in a second, as perftest's raw_ethernet_fs_rate, and how many"
                + " it removes.")
public final class FlowRateCommand implements Callable<Integer> {
    private static final int PORTS = 1 << 16;

    @Mixin
    private SideOptions sides;
    @Mixin
    private FrameOptions frameOptions;
    @Mixin
    private QueueOptions queueOptions;
    @Mixin
    private OutputOptions output;

    @Option(names = {"-n", "--iters", "--count"}, paramLabel = "N", defaultValue = "1000",
            description = "rules that exist at the same time and differ in their ports, 1 to 1000000")
    private int rules;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "5", description = "how often all rules are created")
    private int rounds;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        PerfUsage.check(spec.commandLine(), sides::check);
        if (rules < 1 || rules > 1_000_000 || rounds < 1 || rounds > 1_000) {
            throw new ParameterException(spec.commandLine(), "--iters must be 1 to 1000000 and --rounds 1 to 1000");
        }
        PerfQueueOptions queues = PerfUsage.checked(spec.commandLine(), () -> queueOptions.options(false));
        PerfFrames frames = PerfUsage.checked(spec.commandLine(), () -> frameOptions.frames(sides, 1)).withPorts();
        output.warnIfBusy(spec.commandLine().getErr());
        FlowRateMeter meter = new FlowRateMeter(rules);
        try (PerfEndpoint endpoint = PerfEndpoint.open(sides.client(), queues, frames, frames.headerBytes() + 18,
                false, List.of())) {
            for (int round = 0; round < rounds; round++) {
                meter.round(endpoint.ruleTarget(), number -> frames.ruleOfPorts(number / PORTS, number % PORTS));
            }
        }
        print(meter, frames, queues);
        return 0;
    }

    private void print(FlowRateMeter meter, PerfFrames frames, PerfQueueOptions queues) {
        TextTable table = new TextTable("#flows", "fs_min_time[usec]", "fs_max_time[usec]", "fs_typical_time[usec]",
                "fs_avg_time[usec]", "fps[flow per sec]", "operation");
        PerfReport report = new PerfReport("Flow_Steering_Rate_Test", sides, frames, queues);
        report.info().put("Rounds", rounds);
        for (FlowRateMeter.Sample sample : meter.samples()) {
            table.row(Integer.toString(rules), text(sample.micros(0)), text(sample.micros(100)),
                    text(sample.micros(50)), text(sample.meanMicros()), text(sample.perSecond()), sample.operation());
            ObjectNode row = report.row().put("flows", rules).put("operation", sample.operation());
            row.put("fs_min_time", sample.micros(0)).put("fs_max_time", sample.micros(100));
            row.put("fs_typical_time", sample.micros(50)).put("fs_avg_time", sample.meanMicros());
            row.put("fs_99_time", sample.micros(99)).put("fps", sample.perSecond());
            row.put("fps_min", sample.slowestRoundPerSecond()).put("fps_max", sample.fastestRoundPerSecond());
        }
        if (output.json()) {
            Json.print(spec.commandLine().getOut(), report.toJson());
        } else {
            table.print(spec.commandLine().getOut());
        }
    }

    private static String text(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }
}
