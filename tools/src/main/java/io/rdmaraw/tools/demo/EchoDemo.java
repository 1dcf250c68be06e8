package io.rdmaraw.tools.demo;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.channel.RdmaRawAddress;
import io.rdmaraw.channel.RdmaRawChannel;
import io.rdmaraw.tools.output.LiveLine;
import io.rdmaraw.tools.run.AllocationMeter;
import io.rdmaraw.tools.run.Loops;
import io.rdmaraw.tools.run.RunFailure;
import io.rdmaraw.verbs.flow.FlowSpec;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Runs two event loops on one or two devices: one sends frames and verifies the returned ones, the other echoes them.
 */
final class EchoDemo {
    private static final long PROBE_MAC = 0x027261770001L;
    private static final long MAC_MASK = 0xffffffffffffL;
    private static final long ECHO_MAC = 0x027261770002L;
    /** If no frame returns for this long, the frames in flight count as lost. */
    private static final long STALL_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final double WARM_UP_SHARE = 0.5;
    private static final double MAX_WARM_UP_SECONDS = 3;
    /** The shortest duration for a meaningful rate. In less time, a single batch of frames dominates the result. */
    private static final long MIN_MEASURED_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final DemoOptions options;
    private final PrintWriter live;
    private final BooleanSupplier keepRunning;
    private final RunFailure failure = new RunFailure();
    private final ProbeHandler probe;
    private final EchoHandler echo = new EchoHandler(failure);

    /**
     * Creates the demo.
     *
     * @param keepRunning returns false once the user has ended the demo
     */
    EchoDemo(DemoOptions options, PrintWriter live, BooleanSupplier keepRunning) {
        this.options = options;
        this.live = live;
        this.keepRunning = keepRunning;
        probe = new ProbeHandler(ECHO_MAC, PROBE_MAC, options.frameBytes(), options.window(), failure);
    }

    DemoResult run() throws InterruptedException {
        try (Loops loops = new Loops(2)) {
            // Open the echo first: a frame sent before its flow rule exists would be lost.
            RdmaRawChannel echoChannel = open(loops.group(), options.echoDevice(), echo, ECHO_MAC);
            RdmaRawChannel probeChannel = open(loops.group(), options.device(), probe, PROBE_MAC);
            try {
                return measure(probeChannel, List.of(threadOf(echoChannel), threadOf(probeChannel)));
            } finally {
                probeChannel.close().sync();
                echoChannel.close().sync();
            }
        }
    }

    private RdmaRawChannel open(EventLoopGroup group, String device, ChannelHandler handler, long mac)
            throws InterruptedException {
        FlowSpec flow = FlowSpec.builder().destinationMac(mac, MAC_MASK).etherType(ProbeFrame.ETHERTYPE).build();
        return (RdmaRawChannel) new Bootstrap().group(group).channel(RdmaRawChannel.class).handler(handler)
                .bind(RdmaRawAddress.of(device, flow)).sync().channel();
    }

    private static Thread threadOf(Channel channel) throws InterruptedException {
        return channel.eventLoop().submit(Thread::currentThread).sync().getNow();
    }

    private DemoResult measure(RdmaRawChannel channel, List<Thread> loops) throws InterruptedException {
        ChannelHandlerContext ctx = channel.pipeline().context(probe);
        LiveLine line = new LiveLine(live, "echo", probe::verifiedFrames,
                () -> probe.verifiedFrames() * options.frameBytes(), "lost", probe::lostFrames);
        channel.eventLoop().execute(() -> probe.start(ctx));
        double warmUpSeconds = Math.min(MAX_WARM_UP_SECONDS, options.seconds() * WARM_UP_SHARE);
        AllocationMeter fromStart = new AllocationMeter(loops);
        long warmUpNanos = watch(line, ctx, warmUpSeconds);
        AllocationMeter meter = new AllocationMeter(loops);
        long framesBefore = probe.verifiedFrames();
        long nanos = watch(line, ctx, options.seconds() - warmUpSeconds);
        long frames = probe.verifiedFrames() - framesBefore;
        long allocatedBytes = meter.bytes();
        if (nanos < MIN_MEASURED_NANOS) {
            live.println("rdma-raw: ended before the warm-up was over, which the rates count");
            live.flush();
            nanos += warmUpNanos;
            frames += framesBefore;
            allocatedBytes = fromStart.bytes();
        }
        drain(ctx);
        failure.throwIfReported("the echo on " + options.device());
        return new DemoResult(options, channel.queueMode(), probe.verifiedFrames(), probe.lostFrames(),
                probe.corruptFrames(), frames == 0 ? 0 : (double) nanos / frames,
                frames == 0 ? 0 : (double) allocatedBytes / frames);
    }

    /** Waits while the demo runs, and restarts it if all frames in flight were lost. */
    private long watch(LiveLine line, ChannelHandlerContext ctx, double seconds) throws InterruptedException {
        StallWatch stall = new StallWatch(probe::verifiedFrames, STALL_NANOS, () -> abandonInFlight(ctx));
        return line.watch((long) (seconds * 1e9), failure.latch(), () -> keepRunning.getAsBoolean()
                && stall.getAsBoolean());
    }

    private void abandonInFlight(ChannelHandlerContext ctx) {
        ctx.executor().execute(() -> probe.abandonInFlight(ctx));
    }

    private void drain(ChannelHandlerContext ctx) throws InterruptedException {
        ctx.executor().submit(probe::stop).sync();
        CountDownLatch empty = new CountDownLatch(1);
        StallWatch stall = new StallWatch(probe::verifiedFrames, STALL_NANOS, empty::countDown);
        while (probe.framesUnderWay() > 0 && stall.getAsBoolean() && !empty.await(1, TimeUnit.MILLISECONDS)) {
            // Wait until the last frame has returned, or until none has returned for too long.
        }
        ctx.executor().submit(() -> probe.abandonInFlight(ctx)).sync();
    }
}
