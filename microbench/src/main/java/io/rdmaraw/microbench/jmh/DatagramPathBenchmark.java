package io.rdmaraw.microbench.jmh;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ManualIoEventLoop;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawIoHandler;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/**
 * Measures the cost of receiving a datagram and sending it back, to find parts of datagram channels to optimise. Two
 * channels keep a window of datagrams in flight between them. Everything runs on one thread, including the loopback
 * device.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(value = 1, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class DatagramPathBenchmark {
    private static final int PAYLOAD_BYTES = 18;
    /**
     * Number of datagrams per invocation. It is larger than the window, because the loop receives a whole burst per
     * turn.
     */
    private static final int DATAGRAMS = 1024;

    /** Number of datagrams in flight. */
    @Param({"1", "64"})
    public int window;

    private ManualIoEventLoop loop;
    private Channel first;
    private Channel second;
    private long received;

    /** Opens two channels on the loopback device and sends the first datagrams. */
    @Setup
    public void open() throws Exception {
        loop = new ManualIoEventLoop(Thread.currentThread(), RdmaRawIoHandler.newFactory());
        first = bind();
        second = bind();
        for (int i = 0; i < window; i++) {
            ByteBuf content = first.alloc().directBuffer(PAYLOAD_BYTES).writeZero(PAYLOAD_BYTES);
            first.write(new DatagramPacket(content, (InetSocketAddress) second.localAddress()));
        }
        first.flush();
    }

    private Channel bind() throws InterruptedException {
        ChannelFuture bind = new Bootstrap().group(loop).channel(RdmaRawDatagramChannel.class)
                .option(RdmaRawChannelOption.KERNEL_SOCKET, false).handler(new Echo())
                .bind(new InetSocketAddress("127.0.0.1", 0));
        while (!bind.isDone()) {
            loop.runNow();
        }
        return bind.sync().channel();
    }

    /** Closes both channels and the event loop. */
    @TearDown
    public void close() {
        first.close();
        second.close();
        var end = loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        while (!end.isDone()) {
            loop.runNow();
        }
    }

    /** Runs the event loop. The result is the time per datagram, which includes receiving it and sending it back. */
    @Benchmark
    @OperationsPerInvocation(DATAGRAMS)
    public long echo() {
        long end = received + DATAGRAMS;
        while (received < end) {
            loop.runNow();
        }
        return received;
    }

    private final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            DatagramPacket packet = (DatagramPacket) msg;
            received++;
            ctx.write(new DatagramPacket(packet.content(), packet.sender()), ctx.voidPromise());
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }
}
