package io.rdmaraw.tools.perf;

import io.rdmaraw.tools.command.ToolException;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.function.BooleanSupplier;

/** Runs the selected sides of {@code lat} and {@code burst-lat} for one frame length. */
final class LatencyRun {
    private static final int SCHEDULE_FACTOR = 2;
    private static final double CALIBRATION_SECONDS = 0.2;
    /**
     * Duration of the warm-up with a schedule. The first wait between pings deoptimizes the code that was compiled
     * during the closed loop. Without this warm-up, the resulting backlog of some milliseconds would dominate the
     * measured latencies.
     */
    private static final double PACED_WARM_UP_SECONDS = 0.5;

    private final SideOptions sides;
    private final PerfFrames frames;
    private final PerfQueueOptions queues;
    private final SteeringOptions steering;
    private final LengthOptions lengths;
    private final PrintWriter progress;

    LatencyRun(SideOptions sides, PerfFrames frames, PerfQueueOptions queues, SteeringOptions steering,
            LengthOptions lengths, PrintWriter progress) {
        this.sides = sides;
        this.frames = frames;
        this.queues = queues;
        this.steering = steering;
        this.lengths = lengths;
        this.progress = progress;
    }

    /** The parameters that control how pings are sent. */
    record Pings(int burst, int replyEvery, int window, double nanosPerBurst, boolean closedLoop) {
    }

    /** Measures one frame length. Returns null if only the answering side runs here. */
    LatencySample measure(int frameBytes, Pings pings, BooleanSupplier keepRunning) {
        if (!sides.runsServer()) {
            return measureAsClient(frameBytes, pings, keepRunning);
        }
        PerfFrames atServer = sides.both() ? frames.reversed() : frames;
        try (PerfEndpoint server = open(sides.server(), atServer, frameBytes)) {
            Ponger ponger = new Ponger(server, atServer.stampOffset(frameBytes), pings.replyEvery());
            if (!sides.both()) {
                progress.println("answers until it is interrupted");
                progress.flush();
                ponger.run(keepRunning);
                progress.println(String.format(Locale.ROOT, "received %,d pings, %,d of them could not be answered",
                        ponger.pings(), ponger.unanswered()));
                progress.flush();
                return null;
            }
            try (ServerThread thread = new ServerThread(ponger::run)) {
                return measureAsClient(frameBytes, pings, () -> keepRunning.getAsBoolean() && thread.isHealthy());
            }
        }
    }

    private PerfEndpoint open(PerfSide side, PerfFrames sideFrames, int frameBytes) {
        return PerfEndpoint.open(side, queues, sideFrames, frameBytes, true, steering.rules());
    }

    private LatencySample measureAsClient(int frameBytes, Pings pings, BooleanSupplier keepRunning) {
        try (PerfEndpoint client = open(sides.client(), frames, frameBytes)) {
            Pinger pinger = new Pinger(client, frames.stampOffset(frameBytes), pings.burst(), pings.replyEvery(),
                    pings.window(), keepRunning);
            requireAnswer(pinger.run(lengths.warmUp(), warmUpSchedule(pings), Stamp.WARM_UP), keepRunning);
            SendSchedule schedule = schedule(pinger, pings, keepRunning);
            if (!schedule.isUnlimited()) {
                pinger.run(RunLength.ofSeconds(Math.min(PACED_WARM_UP_SECONDS, lengths.warmUp().durationNanos() / 1e9)),
                        schedule, Stamp.WARM_UP);
            }
            LatencySample sample = requireAnswer(pinger.run(lengths.length(), schedule, 0), keepRunning);
            warnIfLate(sample);
            return sample;
        }
    }

    /** Fails if no ping was answered. A result of zeros would look like a very fast peer. */
    private LatencySample requireAnswer(LatencySample sample, BooleanSupplier keepRunning) {
        if (keepRunning.getAsBoolean() && sample.lost() > 0 && sample.fromSend().getTotalCount() == 0) {
            throw new ToolException("no ping was answered by " + frames.remote().mac() + " through "
                    + sides.client().device() + ": is the other side running there (the same command with -Z, or a"
                    + " program that sends frames back), and is its address right (-E)?");
        }
        return sample;
    }

    private void warnIfLate(LatencySample sample) {
        if (sample.isLate()) {
            progress.println(String.format(Locale.ROOT, "rdma-raw: the schedule was not held, %,d of %,d pings went"
                    + " late: the row \"schedule\" tells of the backlog; try a longer --latency-gap",
                    sample.latePings(), sample.pings()));
            progress.flush();
        }
    }

    private static SendSchedule warmUpSchedule(Pings pings) {
        return pings.nanosPerBurst() > 0 ? SendSchedule.every(pings.nanosPerBurst(), pings.burst())
                : SendSchedule.unlimited();
    }

    /**
     * Returns the schedule of the measurement. If the user gives no rate, pings are sent at half the rate of a closed
     * loop.
     */
    private SendSchedule schedule(Pinger pinger, Pings pings, BooleanSupplier keepRunning) {
        if (pings.closedLoop() || pings.nanosPerBurst() > 0) {
            return pings.closedLoop() ? SendSchedule.unlimited() : warmUpSchedule(pings);
        }
        LatencySample calibration = requireAnswer(pinger.run(RunLength.ofSeconds(CALIBRATION_SECONDS),
                SendSchedule.unlimited(), Stamp.WARM_UP), keepRunning);
        double nanosPerPing = calibration.seconds() * 1e9 / Math.max(1, calibration.pings());
        double median = calibration.fromSend().getValueAtPercentile(50);
        double nanos = SCHEDULE_FACTOR * Math.max(median, pings.burst() * Math.min(nanosPerPing, median));
        progress.println(String.format(Locale.ROOT, "schedule: %s each %.2f us", pings.burst() == 1 ? "one ping"
                : pings.burst() + " pings", nanos / 1e3));
        progress.flush();
        return SendSchedule.every(Math.max(1, nanos), pings.burst());
    }
}
