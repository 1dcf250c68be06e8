package io.rdmaraw.microbench.frames;

import io.rdmaraw.microbench.frames.FramesCase.Mode;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.BenchRow;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * Measures receiving and echoing on one device, alternating between a C program and a Netty pipeline. Each ratio
 * compares two consecutive runs. If the machine slows down for a while, both runs slow down.
 *
 * <p>On an emulated ConnectX the bench also measures the work of the program without the device; see
 * {@link QueueCallsBench}.
 */
final class FramesBench {
    private static final String C = "c";
    private static final String FRAMES = "rdma-raw";
    private static final String BURSTS = "rdma-raw-bursts";

    private final FramesBenchOptions options;
    private final PrintWriter progress;
    private final FramesProgram program = new FramesProgram();
    private final BenchReport report = new BenchReport("frames");

    FramesBench(FramesBenchOptions options, PrintWriter progress) {
        this.options = options;
        this.progress = progress;
    }

    BenchReport run() throws InterruptedException {
        if (EmulatedDevice.isHere()) {
            progress.println("send and receive, by rings and by calls");
            progress.flush();
            new QueueCallsBench(options, program).addTo(report);
        }
        for (Mode mode : Mode.values()) {
            for (int burst : options.bursts()) {
                FramesCase what = new FramesCase(mode, burst);
                List<Double> inC = compare(what, FRAMES, false);
                inC.addAll(compare(what, BURSTS, true));
                report.add(BenchRow.of(what.caseName(), C, options.device(), Unit.NANOS_PER_FRAME, inC));
            }
        }
        return report;
    }

    /**
     * Measures one transport and adds its rows. Returns the results of the C runs that alternated with it, in
     * nanoseconds per frame.
     */
    private List<Double> compare(FramesCase what, String transport, boolean burstMessages) throws InterruptedException {
        progress.println(what.caseName() + ' ' + transport);
        progress.flush();
        List<Double> inC = new ArrayList<>();
        List<Double> inJava = new ArrayList<>();
        List<Double> allocated = new ArrayList<>();
        try (LoopUnderTest loop = new LoopUnderTest(what, options.device(), options.frameBytes(), burstMessages)) {
            loop.run(options.warmUpSeconds());
            for (int i = 0; i < options.runs(); i++) {
                inC.add(program.nanosPerFrame(what, options));
                LoopUnderTest.Sample sample = loop.run(options.runSeconds());
                inJava.add(sample.nanosPerFrame());
                allocated.add(sample.bytesPerFrame());
            }
        }
        report.add(BenchRow.compared(what.caseName(), transport, options.device(), Unit.NANOS_PER_FRAME, inJava, C,
                inC));
        report.add(BenchRow.of(what.caseName() + ".alloc", transport, options.device(), Unit.BYTES_PER_FRAME,
                allocated));
        return inC;
    }
}
