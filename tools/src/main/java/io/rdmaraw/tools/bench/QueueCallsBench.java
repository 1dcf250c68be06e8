package io.rdmaraw.tools.bench;

import io.rdmaraw.tools.report.BenchReport;
import io.rdmaraw.tools.report.BenchRow;
import io.rdmaraw.tools.report.BenchRow.Unit;
import io.rdmaraw.verbs.DirectVerbs;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleBiFunction;

/**
 * What a burst costs the program on an emulated ConnectX: with the rings written and read in place, by the calls of
 * libmlx5, and by these calls in C, in turns. The time in which the device works is not part of it. In Java the keeping
 * of slots and counts is, which the C program does not do.
 */
final class QueueCallsBench {
    private static final String RINGS = "rdma-raw-rings";
    private static final String CALLS = "rdma-raw-calls";
    private static final int BURSTS = 2000;
    private static final int WARM_UP_RUNS = 5;

    private final FramesBenchOptions options;
    private final CProgram program;

    QueueCallsBench(FramesBenchOptions options, CProgram program) {
        this.options = options;
        this.program = program;
    }

    void addTo(BenchReport report) throws InterruptedException {
        try (EmulatedDevice device = EmulatedDevice.stop(options.device());
                QueueCalls rings = open(device, "02:00:00:00:00:03", DirectVerbs.REQUIRED);
                QueueCalls calls = open(device, "02:00:00:00:00:04", DirectVerbs.NEVER)) {
            compare(report, "send", QueueCalls::send, rings, calls);
            compare(report, "receive", QueueCalls::receive, rings, calls);
        }
    }

    private QueueCalls open(EmulatedDevice device, String mac, DirectVerbs directVerbs) {
        return new QueueCalls(device, options.device(), mac, options.frameBytes(), directVerbs);
    }

    private void compare(BenchReport report, String mode, ToDoubleBiFunction<QueueCalls, Integer> work,
            QueueCalls rings, QueueCalls calls) throws InterruptedException {
        List<Double> byRings = new ArrayList<>();
        List<Double> byCalls = new ArrayList<>();
        List<Double> inC = new ArrayList<>();
        for (int run = -WARM_UP_RUNS; run < options.runs(); run++) {
            double ringNanos = work.applyAsDouble(rings, BURSTS);
            double callNanos = work.applyAsDouble(calls, BURSTS);
            if (run >= 0) {
                byRings.add(ringNanos);
                byCalls.add(callNanos);
                inC.add(program.callNanosPerFrame(mode, BURSTS, options));
            }
        }
        String caseName = mode + ".burst64";
        report.add(BenchRow.compared(caseName, RINGS, options.device(), Unit.NANOS_PER_FRAME, byRings, CALLS,
                byCalls));
        report.add(BenchRow.compared(caseName, CALLS, options.device(), Unit.NANOS_PER_FRAME, byCalls, "c", inC));
        report.add(BenchRow.of(caseName, "c", options.device(), Unit.NANOS_PER_FRAME, inC));
    }
}
