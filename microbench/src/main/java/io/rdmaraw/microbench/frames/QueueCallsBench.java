package io.rdmaraw.microbench.frames;

import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.BenchRow;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleBiFunction;

/**
 * Measures the CPU time of a program per burst on an emulated ConnectX. It alternates between three programs: Java that
 * accesses the rings directly, Java that calls libmlx5, and C that calls libmlx5. Receiving is also measured with
 * compressed completions and with multi-packet receive queues.
 *
 * <p>The time of the device is not included. The Java figures include the management of slots and counters. The C
 * program has neither.
 */
final class QueueCallsBench {
    private static final String RINGS = "rdma-raw-rings";
    private static final String CALLS = "rdma-raw-calls";
    private static final String COMPRESSED = "rdma-raw-compressed";
    private static final String STRIDING = "rdma-raw-striding";
    private static final String STRIDING_COMPRESSED = "rdma-raw-striding-compressed";
    private static final int BURSTS = 2000;
    /**
     * Many short runs, so that the JIT compiler compiles the whole method that drives a queue and not only its loop.
     */
    private static final int WARM_UP_RUNS = 1000;
    private static final int WARM_UP_BURSTS = 20;

    private final FramesBenchOptions options;
    private final FramesProgram program;

    QueueCallsBench(FramesBenchOptions options, FramesProgram program) {
        this.options = options;
        this.program = program;
    }

    void addTo(BenchReport report) throws InterruptedException {
        try (EmulatedDevice device = EmulatedDevice.stop(options.device());
                QueueCalls rings = open(device, "02:00:00:00:00:03", QueueCalls.Mode.RINGS);
                QueueCalls calls = open(device, "02:00:00:00:00:04", QueueCalls.Mode.CALLS);
                QueueCalls compressed = open(device, "02:00:00:00:00:05", QueueCalls.Mode.COMPRESSED);
                QueueCalls striding = open(device, "02:00:00:00:00:06", QueueCalls.Mode.STRIDING);
                QueueCalls both = open(device, "02:00:00:00:00:07", QueueCalls.Mode.STRIDING_COMPRESSED)) {
            Map<String, QueueCalls> queues = new LinkedHashMap<>();
            queues.put(RINGS, rings);
            compare(report, "send", QueueCalls::send, queues, calls);
            queues.put(COMPRESSED, compressed);
            queues.put(STRIDING, striding);
            queues.put(STRIDING_COMPRESSED, both);
            compare(report, "receive", QueueCalls::receive, queues, calls);
        }
    }

    private QueueCalls open(EmulatedDevice device, String mac, QueueCalls.Mode mode) {
        return new QueueCalls(device, options.device(), mac, options.frameBytes(), mode);
    }

    /** Compares each kind of queue with the calls, and the calls with C. Each run measures all of them in sequence. */
    private void compare(BenchReport report, String mode, ToDoubleBiFunction<QueueCalls, Integer> work,
            Map<String, QueueCalls> queues, QueueCalls calls) throws InterruptedException {
        Map<String, List<Double>> byRings = new LinkedHashMap<>();
        queues.keySet().forEach(name -> byRings.put(name, new ArrayList<>()));
        List<Double> byCalls = new ArrayList<>();
        List<Double> inC = new ArrayList<>();
        for (int run = 0; run < WARM_UP_RUNS; run++) {
            queues.values().forEach(queue -> work.applyAsDouble(queue, WARM_UP_BURSTS));
            work.applyAsDouble(calls, WARM_UP_BURSTS);
        }
        for (int run = 0; run < options.runs(); run++) {
            queues.forEach((name, queue) -> byRings.get(name).add(work.applyAsDouble(queue, BURSTS)));
            byCalls.add(work.applyAsDouble(calls, BURSTS));
            inC.add(program.callNanosPerFrame(mode, BURSTS, options));
        }
        String caseName = mode + ".burst64";
        byRings.forEach((name, nanos) -> report.add(BenchRow.compared(caseName, name, options.device(),
                Unit.NANOS_PER_FRAME, nanos, CALLS, byCalls)));
        report.add(BenchRow.compared(caseName, CALLS, options.device(), Unit.NANOS_PER_FRAME, byCalls, "c", inC));
        report.add(BenchRow.of(caseName, "c", options.device(), Unit.NANOS_PER_FRAME, inC));
    }
}
