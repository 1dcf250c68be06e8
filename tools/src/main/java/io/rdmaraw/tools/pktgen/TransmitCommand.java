package io.rdmaraw.tools.pktgen;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.rdmaraw.channel.RdmaRawAddress;
import io.rdmaraw.channel.RdmaRawChannel;
import io.rdmaraw.tools.ToolException;
import io.rdmaraw.tools.frame.FrameTemplate;
import io.rdmaraw.tools.report.EndOnSignal;
import io.rdmaraw.tools.report.LiveLine;
import io.rdmaraw.tools.report.Loops;
import io.rdmaraw.tools.report.RunFailure;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code rdma-raw pktgen tx}. */
@Command(name = "tx", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "Sends the frames of a template or of a pcap file, over and over.")
final class TransmitCommand implements Callable<Integer> {
    private static final long DRAIN_SECONDS = 10;

    @ArgGroup
    private Source source = new Source();

    @Option(names = {"-l", "--length"}, paramLabel = "BYTES", defaultValue = "0",
            description = "length of the template's frames without FCS; 0: as the template says")
    private int frameBytes;

    @Option(names = {"-r", "--rate"}, paramLabel = "FRAMES/S", defaultValue = "0", description = "0: no limit")
    private double framesPerSecond;

    @Mixin
    private RunOptions options;

    @Spec
    private CommandSpec spec;

    /** Where the frames come from: one or the other. */
    static final class Source {
        @Option(names = {"-t", "--template"}, paramLabel = "TEMPLATE", defaultValue = "eth/ipv4/udp/payload(length=18)",
                description = FrameTemplate.SYNTAX)
        private String template = "eth/ipv4/udp/payload(length=18)";

        @Option(names = {"-f", "--pcap"}, paramLabel = "FILE", description = "a pcap file of Ethernet frames")
        private Path pcap;
    }

    @Override
    public Integer call() throws InterruptedException {
        options.check(spec.commandLine());
        RunOptions.require(spec.commandLine(), framesPerSecond >= 0, "--rate must not be negative");
        RunOptions.require(spec.commandLine(), source.pcap == null || frameBytes == 0,
                "--length goes with --template: the frames of a file have their lengths");
        FrameSet frames = source.pcap != null ? FrameSet.ofPcap(source.pcap)
                : FrameSet.ofTemplate(source.template, frameBytes);
        RunFailure failure = new RunFailure();
        CountDownLatch done = new CountDownLatch(1);
        Transmitter transmitter = new Transmitter(frames,
                new FrameRate(framesPerSecond, Transmitter.BURST, System.nanoTime()), options.count(), failure, done);
        try (EndOnSignal goOn = new EndOnSignal()) {
            transmit(transmitter, done, goOn).print(spec.commandLine().getOut(), options.json());
        }
        failure.throwIfReported("sending on " + options.device());
        return 0;
    }

    private TrafficResult transmit(Transmitter transmitter, CountDownLatch done, EndOnSignal goOn)
            throws InterruptedException {
        try (DeviceCounts counts = new DeviceCounts(options.device()); Loops loops = new Loops(1)) {
            long start = System.nanoTime();
            Channel channel = new Bootstrap().group(loops.group()).channel(RdmaRawChannel.class).handler(transmitter)
                    .bind(RdmaRawAddress.of(options.device(), options.port())).sync().channel();
            new LiveLine(spec.commandLine().getErr(), "tx", transmitter::sentFrames, transmitter::sentBytes, () -> 0)
                    .watch(options.durationNanos(), done, goOn);
            transmitter.stop();
            if (!done.await(DRAIN_SECONDS, TimeUnit.SECONDS)) {
                throw new ToolException(options.device() + " takes no more frames: is its link up? (./rdma-raw doctor"
                        + " --device " + options.device() + ')');
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            channel.close().sync();
            return new TrafficResult("tx", options.device(), transmitter.sentFrames(), transmitter.sentBytes(), 0,
                    seconds, counts.grown());
        }
    }
}
