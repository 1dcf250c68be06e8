package io.rdmaraw.tools.perf;

import java.io.PrintWriter;
import java.util.List;
import java.util.function.Supplier;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The options shared by {@code bw}, {@code lat} and {@code burst-lat}. */
final class PerfOptions {
    @Mixin
    private SideOptions sides;
    @Mixin
    private LengthOptions lengths;
    @Mixin
    private FrameOptions frames;
    @Mixin
    private QueueOptions queues;
    @Mixin
    private SteeringOptions steering;
    @Mixin
    private OutputOptions output;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    /** Checks the options that select the sides. */
    void check() {
        PerfUsage.check(spec.commandLine(), sides::check);
    }

    SideOptions sides() {
        return sides;
    }

    LengthOptions lengths() {
        return lengths;
    }

    SteeringOptions steering() {
        return steering;
    }

    OutputOptions output() {
        return output;
    }

    /** Returns the queues of one side. Fails with a usage error if an option is out of range. */
    PerfQueueOptions queues() {
        return checked(() -> queues.options(sides.events()));
    }

    /** Returns the frames of the client. */
    PerfFrames frames() {
        return checked(() -> frames.frames(sides, 1));
    }

    /** Returns the frames of the client, with at least one flow for each queue pair. */
    PerfFrames framesOfAllQueues() {
        return checked(() -> frames.frames(sides, queues.queuePairs()));
    }

    /** Returns the frame lengths to measure with. */
    List<Integer> sizes(PerfFrames of) {
        return checked(() -> lengths.sizes(of));
    }

    private <T> T checked(Supplier<T> check) {
        return PerfUsage.checked(spec.commandLine(), check);
    }

    PrintWriter out() {
        return spec.commandLine().getOut();
    }

    PrintWriter err() {
        return spec.commandLine().getErr();
    }
}
