package io.rdmaraw.microbench.frames;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.rdmaraw.channel.RdmaRawAddress;
import io.rdmaraw.channel.RdmaRawChannel;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.frame.FrameTemplate;
import io.rdmaraw.tools.run.AllocationMeter;
import io.rdmaraw.tools.run.Loops;
import io.rdmaraw.verbs.flow.FlowSpec;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A Netty pipeline on a dedicated event loop, and a generator on the calling thread that keeps a window of frames in
 * flight. The C program has the same structure but a different receiver.
 */
final class LoopUnderTest implements AutoCloseable {
    private static final String GENERATOR_MAC = "02:00:00:00:00:01";
    private static final String LOOP_MAC = "02:00:00:00:00:02";
    /**
     * Maximum number of frames in flight, as in the C program. It is smaller than the receive queues, so that the
     * device drops no frame.
     */
    private static final int WINDOW_FRAMES = 512;
    private static final int ITERATIONS_PER_CLOCK = 1024;
    private static final long STALL_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final FramesCase what;
    private final FrameSink sink;
    private final Loops loops = new Loops(1);
    private final Channel channel;
    private final VerbsEndpoint generator;
    private final AllocationMeter allocations;
    private long sent;
    private long returned;

    /** @param burstMessages whether the pipeline receives one message per burst instead of one per frame */
    LoopUnderTest(FramesCase what, String device, int frameBytes, boolean burstMessages) throws InterruptedException {
        this.what = what;
        sink = new FrameSink(what.mode() == FramesCase.Mode.ECHO);
        channel = new Bootstrap().group(loops.group()).channel(RdmaRawChannel.class)
                .option(RdmaRawChannelOption.FRAME_BURSTS, burstMessages).handler(sink)
                .bind(RdmaRawAddress.of(device, toMac(LOOP_MAC))).sync().channel();
        Thread loop = channel.eventLoop().submit(Thread::currentThread).sync().getNow();
        allocations = new AllocationMeter(List.of(loop));
        byte[] frame = FrameTemplate.parse("eth(dst=" + LOOP_MAC + ",src=" + GENERATOR_MAC + ")/ipv4/udp")
                .build(frameBytes);
        generator = new VerbsEndpoint(device, toMac(GENERATOR_MAC), frame);
    }

    /**
     * Returns the same flow rule as in the C program. A rule for a MAC address alone would be rejected, because the
     * host might use that address.
     */
    private static FlowSpec toMac(String mac) {
        return FlowSpec.builder().destinationMac(mac).allowHostTraffic().build();
    }

    /** Runs one measurement. It lasts longer than requested if no frame has arrived by then. */
    Sample run(double seconds) {
        long limitNanos = (long) (seconds * 1e9);
        long framesBefore = arrived();
        allocations.start();
        long start = System.nanoTime();
        long elapsed = 0;
        // On a busy machine a short run could end before the thread of the loop is scheduled.
        for (int turn = 1; elapsed < limitNanos || arrived() == framesBefore && elapsed < STALL_NANOS; turn++) {
            turn(what.burst());
            if (turn % ITERATIONS_PER_CLOCK == 0) {
                elapsed = System.nanoTime() - start;
            }
        }
        long frames = arrived() - framesBefore;
        long allocatedBytes = allocations.bytes();
        drain();
        if (frames == 0) {
            throw new ToolException("not one frame arrived in " + what.caseName());
        }
        return new Sample((double) elapsed / frames, (double) allocatedBytes / frames);
    }

    private void turn(int burst) {
        if (sent + burst - arrived() <= WINDOW_FRAMES) {
            generator.send(burst);
            sent += burst;
        }
        returned += generator.collect();
    }

    private long arrived() {
        return what.mode() == FramesCase.Mode.ECHO ? returned : sink.frames();
    }

    /** Waits until nothing is in flight, so that runs do not overlap. */
    private void drain() {
        long start = System.nanoTime();
        while (arrived() < sent) {
            returned += generator.collect();
            if (System.nanoTime() - start > STALL_NANOS) {
                throw new ToolException((sent - arrived()) + " frames of " + what.caseName() + " were lost");
            }
            Thread.onSpinWait();
        }
    }

    @Override
    public void close() {
        channel.close().syncUninterruptibly();
        loops.close();
        generator.close();
        sink.failure().throwIfReported(what.caseName());
    }

    /** The result of one run. */
    record Sample(double nanosPerFrame, double bytesPerFrame) {
    }
}
