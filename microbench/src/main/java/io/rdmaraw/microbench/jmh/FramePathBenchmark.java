package io.rdmaraw.microbench.jmh;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ManualIoEventLoop;
import io.netty.channel.WriteBufferWaterMark;
import io.rdmaraw.channel.FrameBurst;
import io.rdmaraw.channel.RdmaRawAddress;
import io.rdmaraw.channel.RdmaRawChannel;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawIoHandler;
import io.rdmaraw.verbs.flow.FlowSpec;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

import java.util.concurrent.TimeUnit;

/**
 * Measures the cost of a burst through a channel and its pipeline, for several handlers and burst lengths. The result
 * shows how to write a fast handler. Everything runs on one thread, including the device. Subtract the result of
 * {@code GENERATOR}, which sends frames that match no rule.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(value = 1, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class FramePathBenchmark {
    private static final byte[] MAC = {2, 0, 0, 0, 0, 1};
    private static final byte[] PEER = {2, 0, 0, 0, 0, 2};
    private static final int FRAME_BYTES = 64;

    /** The work of the handler. */
    public enum Work {
        /** No channel receives the frames, so that only the cost of sending is measured. */
        GENERATOR,
        /** One handler releases each frame. */
        RX,
        /** Five handlers pass each frame on; a sixth handler releases it. */
        RX_6_HANDLERS,
        /** One handler releases each burst. */
        RX_BURST_MESSAGES,
        /** The handler writes each frame back with a void promise. */
        ECHO,
        /** The handler writes each frame back with a new promise. */
        ECHO_NEW_PROMISE,
        /**
         * The handler writes each frame back through Netty's outbound buffer, as a channel does if its send queue is
         * full.
         */
        ECHO_OUTBOUND_BUFFER,
        /** The handler writes each burst back. */
        ECHO_BURST_MESSAGES
    }

    /** Frames per burst. */
    @Param({"1", "8", "32", "64"})
    public int burst;

    /** The work of the handler. */
    @Param
    public Work work;

    private BurstGenerator generator;
    private ManualIoEventLoop loop;
    private Channel channel;

    /** Opens a channel and a generator on the same loopback device. */
    @Setup
    public void open() throws Exception {
        String deviceName = "soft:loop:bench";
        loop = new ManualIoEventLoop(Thread.currentThread(), RdmaRawIoHandler.newFactory());
        var bind = new Bootstrap().group(loop).channel(RdmaRawChannel.class)
                .option(RdmaRawChannelOption.FRAME_BURSTS, work.name().endsWith("BURST_MESSAGES"))
                .option(ChannelOption.WRITE_BUFFER_WATER_MARK, work == Work.ECHO_OUTBOUND_BUFFER
                        ? new WriteBufferWaterMark(0, 0) : WriteBufferWaterMark.DEFAULT)
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel ch) {
                        if (work == Work.RX_6_HANDLERS) {
                            for (int i = 0; i < 5; i++) {
                                ch.pipeline().addLast(new PassOn());
                            }
                        }
                        ch.pipeline().addLast(work.name().startsWith("ECHO") ? new Echo(work) : new Sink());
                    }
                }).bind(address(deviceName));
        while (!bind.isDone()) {
            loop.runNow();
        }
        channel = bind.sync().channel();
        byte[] frame = new byte[FRAME_BYTES];
        System.arraycopy(MAC, 0, frame, 0, 6);
        System.arraycopy(PEER, 0, frame, 6, 6);
        frame[12] = (byte) 0x88;
        frame[13] = (byte) 0xb5;
        generator = new BurstGenerator(deviceName, frame, burst);
    }

    private RdmaRawAddress address(String deviceName) {
        return work == Work.GENERATOR ? RdmaRawAddress.of(deviceName)
                : RdmaRawAddress.of(deviceName, FlowSpec.builder().destinationMac(MAC).etherType(0x88b5).build());
    }

    /** Closes the channel and the generator. */
    @TearDown
    public void close() {
        channel.close();
        var end = loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        while (!end.isDone()) {
            loop.runNow();
        }
        generator.close();
    }

    /** Sends one burst and runs the event loop. */
    @Benchmark
    public int roundOfOneBurst() {
        generator.send();
        return loop.runNow();
    }

    private static final class PassOn extends ChannelInboundHandlerAdapter {
    }

    private static final class Sink extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            if (msg instanceof ByteBuf frame) {
                frame.release();
            } else {
                ((FrameBurst) msg).release();
            }
        }
    }

    /**
     * Swaps the MAC addresses and writes the frames back. No rule matches the new destination, so the device drops
     * them.
     */
    private static final class Echo extends ChannelInboundHandlerAdapter {
        private final Work work;

        Echo(Work work) {
            this.work = work;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            if (msg instanceof ByteBuf frame) {
                exchangeAddresses(frame);
                ctx.write(frame, work == Work.ECHO_NEW_PROMISE ? ctx.newPromise() : ctx.voidPromise());
                return;
            }
            FrameBurst frames = (FrameBurst) msg;
            for (int i = 0; i < frames.size(); i++) {
                exchangeAddresses(frames.frame(i));
            }
            ctx.write(frames, ctx.voidPromise());
        }

        private static void exchangeAddresses(ByteBuf frame) {
            long destinationAndMore = frame.getLong(0);
            int sourceRest = frame.getInt(8);
            long source = destinationAndMore << 48 >>> 16 | sourceRest & 0xffffffffL;
            long destination = destinationAndMore >>> 16;
            frame.setLong(0, source << 16 | destination >>> 32);
            frame.setInt(8, (int) destination);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }
}
