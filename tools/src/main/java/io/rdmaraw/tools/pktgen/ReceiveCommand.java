package io.rdmaraw.tools.pktgen;

import io.netty.bootstrap.Bootstrap;
import io.rdmaraw.channel.RdmaRawAddress;
import io.rdmaraw.channel.RdmaRawChannel;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.pcap.PcapFormat;
import io.rdmaraw.pcap.PcapWriter;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.output.LiveLine;
import io.rdmaraw.tools.run.EndOnSignal;
import io.rdmaraw.tools.run.Loops;
import io.rdmaraw.tools.run.RunFailure;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.softverbs.InterfaceProgram;
import io.rdmaraw.verbs.softverbs.InterfaceProgram.AttachPoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command {@code rdma-raw pktgen rx}. */
@Command(name = "rx", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = {"Receives the frames that a flow rule matches, counts them, and writes them to a file if"
                + " asked to.", FlowRuleHelp.SYNTAX})
final class ReceiveCommand implements Callable<Integer> {
    private static final int MIN_DEPTH = 64;
    private static final int MAX_DEPTH = 16_384;
    /** The slots of a default event loop. They serve queues of up to half as many frames. */
    private static final int DEFAULT_SLOTS = 4096;

    @Option(names = {"-M", "--match"}, paramLabel = "RULE", required = true,
            description = "which frames, such as \"dst 198.18.0.2 udp dst-port 9\" or \"ether-type 0x88b5\"")
    private String match;

    @Option(names = {"-o", "--write"}, paramLabel = "FILE", description = "write the frames to this pcap file")
    private Path file;

    @Option(names = "--probe", description = "measure loss, reordering and latency of frames of pktgen tx --probe, sent"
            + " on this host")
    private boolean probes;

    @Option(names = {"-r", "--rx-depth"}, paramLabel = "N", defaultValue = "1024",
            description = "frames that can wait for the receiver, a power of two, 64 to 16384")
    private int receiveDepth;

    @Mixin
    private RunOptions options;

    @Spec
    private CommandSpec spec;

    private ProbeReader probe;

    @Override
    public Integer call() throws InterruptedException {
        options.check(spec.commandLine());
        RunOptions.require(spec.commandLine(), receiveDepth >= MIN_DEPTH && receiveDepth <= MAX_DEPTH
                && Integer.bitCount(receiveDepth) == 1, "--rx-depth must be a power of two, " + MIN_DEPTH + " to "
                + MAX_DEPTH);
        FlowSpec flow = FlowSpec.parse(match);
        RunFailure failure = new RunFailure();
        probe = probes ? new ProbeReader() : null;
        try (EndOnSignal keepRunning = new EndOnSignal();
                PcapWriter writer = file == null ? null : PcapWriter.create(file, PcapFormat.LINKTYPE_ETHERNET)) {
            TrafficResult result = receive(flow, writer, failure, keepRunning);
            result.print(spec.commandLine().getOut(), options.json(), probe);
            failure.throwIfReported("receiving on " + options.device());
            warnIfLost(result);
            if (result.frames() == 0) {
                throw new ToolException("no frame matched \"" + match + "\" on " + options.device()
                        + reasonForNoFrame());
            }
        } catch (IOException e) {
            throw new ToolException("cannot write " + file + ": " + e.getMessage(), e);
        }
        return 0;
    }

    /** Returns the most likely reason. XDP programs run before the packet sockets of {@code soft:packet:}. */
    private String reasonForNoFrame() {
        DeviceName device = new DeviceName(options.device());
        if (device.isLoopback()) {
            return ", which is in memory and reaches only this process";
        }
        boolean isBehindXdp = device.isSoftware() && InterfaceProgram.of(device.interfaceName()).stream()
                .anyMatch(program -> program.attachPoint() != AttachPoint.TC);
        return isBehindXdp ? ": an XDP program on " + device.interfaceName() + " gets the frames first, such as that of"
                + " a server of this transport" : ": is the sender's device the other end of the link?";
    }

    private TrafficResult receive(FlowSpec flow, PcapWriter writer, RunFailure failure, EndOnSignal keepRunning)
            throws InterruptedException {
        CountDownLatch done = new CountDownLatch(1);
        Receiver receiver = new Receiver(options.count(), writer, probe, failure, done);
        RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().receiveQueueDepth(receiveDepth)
                .slotCount(Math.max(DEFAULT_SLOTS, 2 * receiveDepth)).build();
        try (DeviceCounts counts = new DeviceCounts(options.device()); Loops loops = new Loops(1, config)) {
            RdmaRawChannel channel = (RdmaRawChannel) new Bootstrap().group(loops.group()).channel(RdmaRawChannel.class)
                    .handler(receiver).bind(RdmaRawAddress.of(options.device(), options.port(), flow)).sync().channel();
            LiveLine line = new LiveLine(spec.commandLine().getErr(), "rx", receiver::frames, receiver::bytes,
                    "dropped", () -> channel.statistics().droppedNotRead() + counts.lost());
            double seconds = line.watch(options.durationNanos(), done, keepRunning) / 1e9;
            channel.close().sync();
            return new TrafficResult("rx", options.device(), receiver.frames(), receiver.bytes(),
                    channel.statistics().droppedNotRead() + counts.lost(), seconds, counts.increases());
        }
    }

    /** Names the options that help. The ring of an interface has a fixed size, so only a lower rate helps there. */
    private void warnIfLost(TrafficResult result) {
        if (result.dropped() > 0) {
            boolean deeper = result.counts().containsKey(DeviceCounts.NO_RECEIVE) && receiveDepth < MAX_DEPTH;
            spec.commandLine().getErr().println(String.format(Locale.ROOT, "rdma-raw: %,d frames were dropped, because"
                    + " the receiver did not keep up: %slet the sender send more slowly (pktgen tx --rate)",
                    result.dropped(), deeper ? "use a larger --rx-depth than " + receiveDepth + ", or " : ""));
            spec.commandLine().getErr().flush();
        }
    }
}
