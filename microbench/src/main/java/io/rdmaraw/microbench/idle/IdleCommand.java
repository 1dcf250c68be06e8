package io.rdmaraw.microbench.idle;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.channel.RdmaRawAddress;
import io.rdmaraw.channel.RdmaRawChannel;
import io.rdmaraw.microbench.result.BenchOptions;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.BenchRow;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import io.rdmaraw.tools.run.Loops;
import io.rdmaraw.verbs.flow.FlowSpec;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Implements {@code rdma-raw bench idle}. */
@Command(name = "idle", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "What loops cost that have channels and nothing to do, beside the same process without them:"
                + " processor time of Java threads, without the JVM's compilers and collectors.")
public final class IdleCommand implements Callable<Integer> {
    private static final double PERCENT = 100;
    /** An EtherType for local experiments, which no frame on the network has. */
    private static final int ETHER_TYPE = 0x88b5;

    @Option(names = {"-d", "--device"}, paramLabel = "D", defaultValue = "soft:loop", description = "the device")
    private String device;

    @Option(names = "--loops", paramLabel = "N", defaultValue = "4", description = "loops, 1 to 64")
    private int loopCount;

    @Mixin
    private BenchOptions options;

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

    @Override
    public Integer call() throws Exception {
        options.require(loopCount >= 1 && loopCount <= 64, "--loops must be 1 to 64");
        return options.print(this::measure);
    }

    private BenchReport measure() throws InterruptedException {
        double runSeconds = options.quick() ? 2 : 5;
        List<Double> without = new ArrayList<>();
        List<Double> with = new ArrayList<>();
        BenchReport report = new BenchReport("idle");
        percentOfCore(runSeconds);
        for (int i = 0; i < options.runs(3); i++) {
            without.add(percentOfCore(runSeconds));
            with.add(withLoops(runSeconds));
            report.add(BenchRow.of("idle", "jvm-alone", "none", Unit.PERCENT_OF_CORE, without));
            report.add(BenchRow.of("idle.loops" + loopCount, "rdma-raw", device, Unit.PERCENT_OF_CORE, with));
        }
        return report;
    }

    private double withLoops(double seconds) throws InterruptedException {
        try (Loops loops = new Loops(loopCount)) {
            for (int i = 0; i < loopCount; i++) {
                new Bootstrap().group(loops.group()).channel(RdmaRawChannel.class)
                        .handler(new ChannelInboundHandlerAdapter())
                        .bind(RdmaRawAddress.of(device, FlowSpec.builder().etherType(ETHER_TYPE + i).build())).sync();
            }
            // Opening the channels takes processor time, and loops poll for a while before they sleep. Neither is a
            // cost of idling.
            TimeUnit.MILLISECONDS.sleep(500);
            return percentOfCore(seconds);
        }
    }

    private double percentOfCore(double seconds) throws InterruptedException {
        long cpuBefore = cpuNanos();
        long before = System.nanoTime();
        TimeUnit.NANOSECONDS.sleep((long) (seconds * 1e9));
        return PERCENT * (cpuNanos() - cpuBefore) / (System.nanoTime() - before);
    }

    /**
     * Returns the processor time of all Java threads. The threads of the JVM itself are excluded: the JIT compiler
     * still compiles the code that opened the channels, which would dominate the result. No Java thread ends during a
     * measurement.
     */
    private long cpuNanos() {
        long sum = 0;
        for (long id : threads.getAllThreadIds()) {
            sum += Math.max(0, threads.getThreadCpuTime(id));
        }
        return sum;
    }
}
