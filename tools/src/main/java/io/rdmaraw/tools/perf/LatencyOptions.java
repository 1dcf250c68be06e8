package io.rdmaraw.tools.perf;

import io.rdmaraw.tools.output.Json;
import io.rdmaraw.tools.run.EndOnSignal;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.IntFunction;
import org.HdrHistogram.Histogram;
import picocli.CommandLine.Option;

/** The options for the output of latencies. */
final class LatencyOptions {
    @Option(names = {"-H", "--report-histogram"}, description = "print the whole distribution, as HdrHistogram does")
    private boolean histogram;

    @Option(names = "--round-trip", description = "show whole round trips; perftest shows half of them")
    private boolean roundTrip;

    private final List<Histogram> measured = new ArrayList<>();

    /**
     * Measures with each selected frame length and prints the results.
     *
     * @param pingsOfSize returns the parameters of the pings for a frame length
     */
    void print(PerfOptions options, PerfFrames frames, PerfQueueOptions queues, PerfReport report,
            IntFunction<LatencyRun.Pings> pingsOfSize) {
        LatencyRun run = new LatencyRun(options.sides(), frames, queues, options.steering(), options.lengths(),
                options.err());
        List<Integer> sizes = options.sizes(frames);
        options.output().warnIfBusy(options.err());
        try (EndOnSignal keepRunning = new EndOnSignal()) {
            LatencyTable table = measure(run, pingsOfSize, sizes, keepRunning, report);
            if (options.output().json()) {
                Json.print(options.out(), report.toJson());
            } else if (options.sides().runsClient()) {
                table.table().print(options.out());
                printHistograms(options.out());
            }
        }
    }

    private LatencyTable measure(LatencyRun run, IntFunction<LatencyRun.Pings> pingsOfSize, List<Integer> sizes,
            BooleanSupplier keepRunning, PerfReport report) {
        LatencyTable table = new LatencyTable(roundTrip);
        for (int frameBytes : sizes) {
            LatencyRun.Pings pings = pingsOfSize.apply(frameBytes);
            LatencySample sample = run.measure(frameBytes, pings, keepRunning);
            if (sample == null) {
                break;
            }
            measured.add(sample.fromSchedule());
            if (!pings.closedLoop()) {
                table.add(frameBytes, sample, sample.fromSchedule(), "schedule", report.row());
            }
            table.add(frameBytes, sample, sample.fromSend(), "send", report.row());
        }
        report.info().put("Latency", roundTrip ? "round trip" : "half of the round trip");
        return table;
    }

    private void printHistograms(PrintWriter out) {
        if (!histogram) {
            return;
        }
        double nanosPerUnit = roundTrip ? 1e3 : 2e3;
        for (Histogram each : measured) {
            StringWriter text = new StringWriter();
            PrintStream stream = new PrintStream(new OutputStream() {
                @Override
                public void write(int b) {
                    text.write(b);
                }
            }, false, StandardCharsets.US_ASCII);
            each.outputPercentileDistribution(stream, nanosPerUnit);
            stream.flush();
            out.print(text);
        }
        out.flush();
    }
}
