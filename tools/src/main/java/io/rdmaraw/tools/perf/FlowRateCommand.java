package io.rdmaraw.tools.perf;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;
import io.rdmaraw.tools.output.TextTable;
import io.rdmaraw.tools.run.RunFailure;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntConsumer;
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
    private static final int MAX_THREADS = 64;
    private static final int MAX_RULES = 1_000_000;

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

    @Option(names = "--threads", paramLabel = "N", defaultValue = "1",
            description = "threads, 1 to 64, each with its queue pair and -n rules; shows whether commands are"
                    + " serialised")
    private int threads;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        PerfUsage.check(spec.commandLine(), sides::check);
        if (rules < 1 || rules > MAX_RULES || rounds < 1 || rounds > 1_000) {
            throw new ParameterException(spec.commandLine(), "--iters must be 1 to 1000000 and --rounds 1 to 1000");
        }
        if (threads < 1 || threads > MAX_THREADS) {
            throw new ParameterException(spec.commandLine(), "--threads must be 1 to " + MAX_THREADS);
        }
        if ((long) threads * rules > MAX_RULES) {
            throw new ParameterException(spec.commandLine(), "--threads times --iters is " + (long) threads * rules
                    + "; the maximum is " + MAX_RULES);
        }
        PerfQueueOptions queues = PerfUsage.checked(spec.commandLine(), () -> queueOptions.options(false));
        PerfFrames frames = PerfUsage.checked(spec.commandLine(), () -> frameOptions.frames(sides, 1)).withPorts();
        output.warnIfBusy(spec.commandLine().getErr());
        FlowRateMeter meter = new FlowRateMeter(rules);
        List<PerfEndpoint> endpoints = new ArrayList<>();
        try {
            for (int thread = 0; thread < threads; thread++) {
                endpoints.add(PerfEndpoint.open(sides.client(), queues, frames, frames.headerBytes() + 18, false,
                        List.of()));
            }
            meter.add(runAll(endpoints, frames));
        } finally {
            endpoints.forEach(PerfEndpoint::close);
        }
        print(meter, frames, queues);
        return 0;
    }

    /** Runs all rounds, with a thread for each endpoint. The rules of the threads differ. */
    private List<FlowRateMeter> runAll(List<PerfEndpoint> endpoints, PerfFrames frames) throws InterruptedException {
        List<FlowRateMeter> meters = endpoints.stream().map(endpoint -> new FlowRateMeter(rules)).toList();
        runThreads(endpoints.size(), thread -> {
            int first = thread * rules;
            for (int round = 0; round < rounds; round++) {
                meters.get(thread).round(endpoints.get(thread).ruleTarget(),
                        number -> frames.ruleOfPorts((first + number) / PORTS, (first + number) % PORTS));
            }
        });
        return meters;
    }

    /** Runs a task on several threads at once. The parameter of the task is the number of its thread. */
    static void runThreads(int count, IntConsumer task) throws InterruptedException {
        RunFailure failure = new RunFailure();
        List<Thread> running = new ArrayList<>();
        CountDownLatch begin = new CountDownLatch(1);
        for (int i = 0; i < count; i++) {
            int number = i;
            running.add(Thread.ofPlatform().name("rules " + number).start(() -> {
                try {
                    begin.await();
                    task.accept(number);
                } catch (Throwable e) {
                    failure.report(e);
                }
            }));
        }
        begin.countDown();
        for (Thread thread : running) {
            thread.join();
        }
        failure.throwIfReported("the creation of rules");
    }

    private void print(FlowRateMeter meter, PerfFrames frames, PerfQueueOptions queues) {
        TextTable table = new TextTable("#flows", "fs_min_time[usec]", "fs_max_time[usec]", "fs_typical_time[usec]",
                "fs_avg_time[usec]", "fps[flow per sec]", "operation");
        PerfReport report = new PerfReport("Flow_Steering_Rate_Test", sides, frames, queues);
        report.info().put("Rounds", rounds).put("Threads", threads);
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
