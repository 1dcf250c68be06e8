package io.rdmaraw.tools.pktgen;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.rdmaraw.channel.RdmaRawAddress;
import io.rdmaraw.channel.RdmaRawChannel;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.output.LiveLine;
import io.rdmaraw.tools.run.EndOnSignal;
import io.rdmaraw.tools.run.Loops;
import io.rdmaraw.tools.run.RunFailure;
import io.rdmaraw.verbs.DeviceName;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command {@code rdma-raw pktgen tx}. */
@Command(name = "tx", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "Sends the frames of templates or of a pcap file repeatedly, at a fixed rate.")
final class TransmitCommand implements Callable<Integer> {
    private static final long DRAIN_SECONDS = 10;

    @Mixin
    private TrafficOptions traffic;

    @Mixin
    private RunOptions options;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        options.check(spec.commandLine());
        try {
            traffic.check();
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), e.getMessage(), e);
        }
        FrameSet frames = traffic.frames();
        RunFailure failure = new RunFailure();
        CountDownLatch done = new CountDownLatch(1);
        Transmitter transmitter = new Transmitter(frames, start -> traffic.pace(frames, start), traffic.probes(),
                options.count(), failure, done);
        try (EndOnSignal keepRunning = new EndOnSignal()) {
            TrafficResult result = transmit(transmitter, done, keepRunning);
            traffic.warnIfMissed(spec.commandLine().getErr(), result);
            result.print(spec.commandLine().getOut(), options.json(), traffic.reached(result));
        }
        failure.throwIfReported("sending on " + options.device());
        return 0;
    }

    private TrafficResult transmit(Transmitter transmitter, CountDownLatch done, EndOnSignal keepRunning)
            throws InterruptedException {
        try (DeviceCounts counts = new DeviceCounts(options.device()); Loops loops = new Loops(1)) {
            Channel channel = new Bootstrap().group(loops.group()).channel(RdmaRawChannel.class).handler(transmitter)
                    .bind(RdmaRawAddress.of(options.device(), options.port())).sync().channel();
            LiveLine line = new LiveLine(spec.commandLine().getErr(), "tx", transmitter::sentFrames,
                    transmitter::sentBytes, "unmatched", counts::unmatched);
            line.watch(options.durationNanos(), done, keepRunning);
            transmitter.stop();
            if (!done.await(DRAIN_SECONDS, TimeUnit.SECONDS)) {
                throw new ToolException(options.device() + " takes no more frames: is its link up? (./rdma-raw doctor"
                        + " --device " + options.device() + ')');
            }
            channel.close().sync();
            warnIfUnmatched(counts.unmatched(), transmitter.sentFrames());
            return new TrafficResult("tx", options.device(), transmitter.sentFrames(), transmitter.sentBytes(),
                    counts.unmatched(), transmitter.seconds(), counts.increases());
        }
    }

    private void warnIfUnmatched(long unmatched, long sent) {
        if (sent > 0 && unmatched == sent && new DeviceName(options.device()).isLoopback()) {
            spec.commandLine().getErr().println("rdma-raw: no rule matched any frame: " + options.device()
                    + " is in memory and reaches only this process; ./rdma-raw demo and bw send and receive in one");
            spec.commandLine().getErr().flush();
        }
    }
}
