package io.rdmaraw.tools.perf;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;
import io.rdmaraw.tools.output.TextTable;
import io.rdmaraw.tools.run.EndOnSignal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command {@code rdma-raw bw}. */
@Command(name = "bw", mixinStandardHelpOptions = true, showDefaultValues = true, sortOptions = false,
        description = "How many frames and bytes pass in a second, as perftest's raw_ethernet_bw: one side sends as"
                + " fast as it can, the other counts. Without -Z and -P both run here.")
public final class BwCommand implements Callable<Integer> {
    @Mixin
    private PerfOptions options;
    @Mixin
    private RateOptions rate;

    @Option(names = "--flood", description = "when both sides run here: send even when the other side has no buffers"
            + " left, which loses frames. Without it no more are under way than half of what it has")
    private boolean flood;

    @Option(names = {"-b", "--bidirectional"}, description = "when both sides run here: in both directions at once")
    private boolean bidirectional;

    @Spec
    private CommandSpec spec;

    private PerfFrames frames;
    private PerfQueueOptions queues;

    @Override
    public Integer call() throws InterruptedException {
        options.check();
        PerfUsage.check(spec.commandLine(), this::checkDirections);
        PerfUsage.check(spec.commandLine(), rate::check);
        queues = options.queues();
        frames = options.framesOfAllQueues();
        List<Integer> sizes = options.sizes(frames);
        options.output().warnIfBusy(options.err());
        List<BandwidthSample> samples = new ArrayList<>();
        try (EndOnSignal keepRunning = new EndOnSignal()) {
            for (int size : sizes) {
                if (samples.isEmpty() || keepRunning.getAsBoolean()) {
                    samples.addAll(measure(size, keepRunning));
                }
            }
            print(samples);
        }
        return 0;
    }

    private void checkDirections() {
        if (bidirectional && !options.sides().both()) {
            throw new IllegalArgumentException("--bidirectional goes with both sides here, without -Z and -P");
        }
    }

    private List<BandwidthSample> measure(int frameBytes, BooleanSupplier keepRunning) throws InterruptedException {
        if (options.sides().both()) {
            Direction there = new Direction(options.sides().client(), options.sides().server(), frames);
            return bidirectional ? measureBothWays(there, frameBytes, keepRunning)
                    : measure(there, frameBytes, keepRunning);
        }
        if (options.sides().runsServer()) {
            try (PerfEndpoint server = openServer(options.sides().server(), frames, frameBytes)) {
                return List.of(receiver(server, frames, frameBytes).run(keepRunning));
            }
        }
        try (PerfEndpoint client = openClient(options.sides().client(), frames, frameBytes)) {
            return List.of(send(client, frameBytes, Window.open(), keepRunning));
        }
    }

    /** One direction of a measurement, and the frames sent in it. */
    private record Direction(PerfSide from, PerfSide to, PerfFrames sent) {
        Direction back() {
            return new Direction(to, from, sent.reversed());
        }
    }

    private List<BandwidthSample> measureBothWays(Direction there, int frameBytes, BooleanSupplier keepRunning)
            throws InterruptedException {
        List<BandwidthSample> all = new ArrayList<>();
        List<BandwidthSample> back = new ArrayList<>();
        try (ServerThread other = new ServerThread(on -> back.addAll(measureUninterrupted(there.back(), frameBytes,
                keepRunning)))) {
            all.addAll(measure(there, frameBytes, () -> keepRunning.getAsBoolean() && other.isHealthy()));
            other.await();
        }
        back.forEach(sample -> all.add(sample.asReverseDirection()));
        return all;
    }

    private List<BandwidthSample> measureUninterrupted(Direction direction, int frameBytes,
            BooleanSupplier keepRunning) {
        try {
            return measure(direction, frameBytes, keepRunning);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return List.of();
        }
    }

    private List<BandwidthSample> measure(Direction direction, int frameBytes, BooleanSupplier keepRunning)
            throws InterruptedException {
        PerfFrames atServer = direction.sent().reversed();
        try (PerfEndpoint server = openServer(direction.to(), atServer, frameBytes);
                PerfEndpoint client = openClient(direction.from(), direction.sent(), frameBytes)) {
            BandwidthReceiver receiver = receiver(server, atServer, frameBytes);
            BandwidthSample[] received = new BandwidthSample[1];
            BandwidthSample sent;
            try (ServerThread thread = new ServerThread(on -> received[0] = receiver.run(on))) {
                sent = send(client, frameBytes, window(receiver), () -> keepRunning.getAsBoolean()
                        && thread.isHealthy());
                receiver.expectEnd();
                thread.await();
            }
            long iterations = options.lengths().length().iterations();
            // A receiver that has all frames that it waits for leaves out those sent to complete unsignalled ones.
            boolean complete = iterations > 0 && received[0].frames() >= iterations;
            return List.of(sent, complete ? received[0] : received[0].ofSent(sent.frames()));
        }
    }

    private Window window(BandwidthReceiver receiver) {
        return flood ? Window.open() : new Window(receiver::arrived, Math.max(1, queues.receiveDepth() / 2));
    }

    private BandwidthSample send(PerfEndpoint client, int frameBytes, Window window, BooleanSupplier keepRunning) {
        BandwidthSender sender = new BandwidthSender(client, frameBytes, queues.postList(), window, keepRunning);
        rate.applyTo(client, frameBytes);
        sender.run(options.lengths().warmUp(), rate.schedule(frameBytes, queues.postList()), Stamp.WARM_UP);
        return sender.run(options.lengths().length(), rate.schedule(frameBytes, queues.postList()), 0);
    }

    private BandwidthReceiver receiver(PerfEndpoint server, PerfFrames atServer, int frameBytes) {
        return new BandwidthReceiver(server, atServer.stampOffset(frameBytes), frameBytes,
                options.steering().copies() ? 0 : options.lengths().length().iterations());
    }

    private PerfEndpoint openServer(PerfSide side, PerfFrames atServer, int frameBytes) {
        return PerfEndpoint.open(side, queues, atServer, frameBytes, true, options.steering().rules());
    }

    private PerfEndpoint openClient(PerfSide side, PerfFrames sent, int frameBytes) {
        return PerfEndpoint.open(side, queues, sent, frameBytes, false, List.of());
    }

    private void print(List<BandwidthSample> samples) {
        String unit = options.output().gigabits() ? "Gb/sec" : "MiB/sec";
        double bytesPerUnit = options.output().gigabits() ? 1e9 / 8 : 1 << 20;
        TextTable table = new TextTable("#bytes", "#iterations", "BW peak[" + unit + ']', "BW average[" + unit + ']',
                "MsgRate[Mpps]", "side", "lost");
        PerfReport report = new PerfReport("Send_BW_Test", options.sides(), frames, queues);
        for (BandwidthSample sample : samples) {
            double peak = sample.peakFramesPerSecond() * sample.frameBytes() / bytesPerUnit;
            double average = sample.framesPerSecond() * sample.frameBytes() / bytesPerUnit;
            double megaFrames = sample.framesPerSecond() / 1e6;
            String lost = sample.lost() < 0 ? "" : Long.toString(sample.lost());
            table.row(Integer.toString(sample.frameBytes()), Long.toString(sample.frames()), twoDecimals(peak),
                    twoDecimals(average), String.format(Locale.ROOT, "%.6f", megaFrames), sample.side(), lost);
            ObjectNode row = report.row().put("MsgSize", sample.frameBytes()).put("n_iterations", sample.frames())
                    .put("BW_peak", peak).put("BW_average", average).put("MsgRate", megaFrames)
                    .put("BW_unit", unit).put("side", sample.side()).put("seconds", sample.seconds());
            if (sample.lost() >= 0) {
                row.put("lost", sample.lost());
            }
        }
        if (options.output().json()) {
            Json.print(options.out(), report.toJson());
        } else {
            table.print(options.out());
        }
    }

    private static String twoDecimals(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }
}
