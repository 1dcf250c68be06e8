package io.rdmaraw.tools.perf;

import java.io.PrintWriter;
import java.util.List;
import java.util.function.Supplier;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** What {@code bw}, {@code lat} and {@code burst-lat} have in common. */
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

    /** Checks which sides run. */
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

    /** The queues of one side; a message about the usage when options are out of range. */
    PerfQueueOptions queues() {
        return checked(() -> queues.options(sides.events()));
    }

    /** The frames of the client, of one flow. */
    PerfFrames frames() {
        return checked(() -> frames.frames(sides, 1));
    }

    /** The frames of the client, with a flow for each queue pair. */
    PerfFrames framesOfAllQueues() {
        return checked(() -> frames.frames(sides, queues.queuePairs()));
    }

    /** The lengths to measure with. */
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
