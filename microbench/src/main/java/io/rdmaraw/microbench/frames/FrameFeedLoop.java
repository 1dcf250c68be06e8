package io.rdmaraw.microbench.frames;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.rdmaraw.channel.RdmaRawAddress;
import io.rdmaraw.channel.RdmaRawChannel;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.frame.FrameTemplate;
import io.rdmaraw.tools.run.Loops;
import io.rdmaraw.verbs.flow.FlowSpec;
import java.util.concurrent.TimeUnit;

/**
 * A Netty pipeline on an event loop, and a generator that sends bursts to it on the thread of the same loop. The loop
 * never waits for another core and is always busy, even on a loaded machine. A profile therefore shows only the work of
 * the loop. It does not include the cost of moving cache lines between cores.
 */
public final class FrameFeedLoop implements AutoCloseable {
    private static final String GENERATOR_MAC = "02:00:00:00:00:03";
    private static final String LOOP_MAC = "02:00:00:00:00:04";
    private static final long END_SECONDS = 10;

    private final FrameSink sink;
    private final Loops loops = new Loops(1);
    private final Channel channel;
    private final VerbsEndpoint generator;
    private volatile boolean ended;
    private boolean idle;
    private long sent;

    /** Opens the channel and sends the first burst, of {@value VerbsEndpoint#BURST} frames. */
    public FrameFeedLoop(boolean echoes, String device, int frameBytes, boolean burstMessages)
            throws InterruptedException {
        sink = new FrameSink(echoes, this::turn);
        channel = new Bootstrap().group(loops.group()).channel(RdmaRawChannel.class)
                .option(RdmaRawChannelOption.FRAME_BURSTS, burstMessages).handler(sink)
                .bind(RdmaRawAddress.of(device, toMac(LOOP_MAC))).sync().channel();
        byte[] frame = FrameTemplate.parse("eth(dst=" + LOOP_MAC + ",src=" + GENERATOR_MAC + ")/ipv4/udp")
                .build(frameBytes);
        generator = new VerbsEndpoint(device, toMac(GENERATOR_MAC), frame);
        channel.eventLoop().execute(this::turn);
    }

    private static FlowSpec toMac(String mac) {
        return FlowSpec.builder().destinationMac(mac).allowHostTraffic().build();
    }

    /** Runs once at the start, and after each burst that the handler has processed. */
    private void turn() {
        generator.collect();
        if (sink.frames() < sent) {
            // The rest of the burst will arrive and trigger the next turn.
            return;
        }
        if (ended) {
            synchronized (this) {
                idle = true;
                notifyAll();
            }
            return;
        }
        generator.send(VerbsEndpoint.BURST);
        sent += VerbsEndpoint.BURST;
    }

    /** Returns the number of frames that the handler has processed. */
    public long frames() {
        return sink.frames();
    }

    @Override
    public void close() {
        ended = true;
        awaitIdle();
        channel.close().syncUninterruptibly();
        loops.close();
        generator.close();
        sink.failure().throwIfReported("the loop");
    }

    private synchronized void awaitIdle() {
        long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(END_SECONDS);
        try {
            while (!idle) {
                long left = limit - System.nanoTime();
                if (left <= 0) {
                    throw new ToolException("the loop does not end");
                }
                TimeUnit.NANOSECONDS.timedWait(this, left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
