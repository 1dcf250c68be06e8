package io.rdmaraw.tools.bench;

import io.rdmaraw.tools.report.BenchReport;
import io.rdmaraw.tools.report.BenchRow;
import io.rdmaraw.tools.report.BenchRow.Unit;
import io.rdmaraw.verbs.DirectVerbs;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * What a burst costs the program on an emulated ConnectX: with the rings written and read in place, and by the calls of
 * libmlx5, in turns. The time in which the device works is not part of it.
 */
final class QueueCallsBench {
    private static final String RINGS = "rdma-raw-rings";
    private static final String CALLS = "rdma-raw-calls";
    private static final int BURSTS = 2000;
    private static final int WARM_UP_RUNS = 5;

    private final FramesBenchOptions options;

    QueueCallsBench(FramesBenchOptions options) {
        this.options = options;
    }

    void addTo(BenchReport report) {
        try (EmulatedDevice device = EmulatedDevice.stop(options.device());
                QueueCalls rings = open(device, "02:00:00:00:00:03", DirectVerbs.REQUIRED);
                QueueCalls calls = open(device, "02:00:00:00:00:04", DirectVerbs.NEVER)) {
            compare(report, "send.burst64", q -> q.send(BURSTS), rings, calls);
            compare(report, "receive.burst64", q -> q.receive(BURSTS), rings, calls);
        }
    }

    private QueueCalls open(EmulatedDevice device, String mac, DirectVerbs directVerbs) {
        return new QueueCalls(device, options.device(), mac, options.frameBytes(), directVerbs);
    }

    private void compare(BenchReport report, String caseName, ToDoubleFunction<QueueCalls> work, QueueCalls rings,
            QueueCalls calls) {
        List<Double> byRings = new ArrayList<>();
        List<Double> byCalls = new ArrayList<>();
        for (int run = -WARM_UP_RUNS; run < options.runs(); run++) {
            double ringNanos = work.applyAsDouble(rings);
            double callNanos = work.applyAsDouble(calls);
            if (run >= 0) {
                byRings.add(ringNanos);
                byCalls.add(callNanos);
            }
        }
        report.add(BenchRow.compared(caseName, RINGS, options.device(), Unit.NANOS_PER_FRAME, byRings, CALLS,
                byCalls));
        report.add(BenchRow.of(caseName, CALLS, options.device(), Unit.NANOS_PER_FRAME, byCalls));
    }
}
