package io.rdmaraw.microbench.udp;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.DatagramPacket;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.tools.run.AllocationMeter;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A client that keeps a number of datagrams in flight, and a server that sends each datagram back. Each has a dedicated
 * event loop unless the constructor requests a shared one.
 */
public final class UdpPair implements AutoCloseable {
    /** The transport of the datagrams. */
    public enum Transport {
        /** This transport without kernel sockets. */
        RDMA_RAW("rdma-raw", "soft:loop", false),
        /**
         * This transport with kernel sockets on the same ports, which is the default. They let ordinary programs reach
         * the channels.
         */
        RDMA_RAW_KERNEL_SOCKET("rdma-raw-kernel-socket", "soft:loop", true),
        /** Netty's NIO channels on the kernel's loopback interface. */
        NIO("nio", "lo", false);

        private final String text;
        private final String device;
        private final boolean kernelSocket;

        Transport(String text, String device, boolean kernelSocket) {
            this.text = text;
            this.device = device;
            this.kernelSocket = kernelSocket;
        }

        private EventLoopGroup newGroup() {
            return this == NIO ? new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory())
                    : new RdmaRawEventLoopGroup(1);
        }

        private Bootstrap bootstrap(EventLoopGroup group) {
            Bootstrap bootstrap = new Bootstrap().group(group);
            return this == NIO ? bootstrap.channel(NioDatagramChannel.class)
                    : bootstrap.channel(RdmaRawDatagramChannel.class)
                            .option(RdmaRawChannelOption.KERNEL_SOCKET, kernelSocket);
        }

        String text() {
            return text;
        }

        String device() {
            return device;
        }
    }

    /** The result of one measurement. */
    record Sample(double roundTripsPerSecond, double bytesPerDatagram) {
    }

    private final EventLoopGroup serverGroup;
    private final EventLoopGroup clientGroup;
    private final Channel server;
    private final Channel client;
    private final AtomicLong roundTrips = new AtomicLong();
    private final AllocationMeter allocations;

    UdpPair(Transport transport, int window, int payloadBytes) throws InterruptedException {
        this(transport, window, payloadBytes, false);
    }

    /** @param onOneLoop whether both ends share one event loop, so that neither waits for a core */
    public UdpPair(Transport transport, int window, int payloadBytes, boolean onOneLoop) throws InterruptedException {
        serverGroup = transport.newGroup();
        clientGroup = onOneLoop ? serverGroup : transport.newGroup();
        allocations = new AllocationMeter(onOneLoop ? List.of(threadOf(serverGroup))
                : List.of(threadOf(serverGroup), threadOf(clientGroup)));
        InetSocketAddress any = new InetSocketAddress("127.0.0.1", 0);
        server = transport.bootstrap(serverGroup).handler(new Echo(null)).bind(any).sync().channel();
        client = transport.bootstrap(clientGroup).handler(new Echo(roundTrips)).bind(any).sync().channel();
        client.eventLoop().execute(() -> {
            for (int i = 0; i < window; i++) {
                ByteBuf content = client.alloc().directBuffer(payloadBytes).writeZero(payloadBytes);
                client.write(new DatagramPacket(content, (InetSocketAddress) server.localAddress()));
            }
            client.flush();
        });
    }

    private static Thread threadOf(EventLoopGroup group) throws InterruptedException {
        return group.submit(Thread::currentThread).sync().getNow();
    }

    public long roundTrips() {
        return roundTrips.get();
    }

    /** Measures for the given time while the datagrams circulate, and returns the result. */
    Sample run(double seconds) throws InterruptedException {
        long countBefore = roundTrips.get();
        allocations.start();
        long nanosBefore = System.nanoTime();
        TimeUnit.NANOSECONDS.sleep((long) (seconds * 1e9));
        long count = roundTrips.get() - countBefore;
        double elapsedSeconds = (System.nanoTime() - nanosBefore) / 1e9;
        long bytes = allocations.bytes();
        // A round trip consists of two received datagrams.
        return new Sample(count / elapsedSeconds, count == 0 ? Double.NaN : (double) bytes / count / 2);
    }

    @Override
    public void close() {
        client.close().syncUninterruptibly();
        server.close().syncUninterruptibly();
        clientGroup.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
        serverGroup.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private static final class Echo extends ChannelInboundHandlerAdapter {
        private final AtomicLong counter;
        private long count;

        Echo(AtomicLong counter) {
            this.counter = counter;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            DatagramPacket packet = (DatagramPacket) msg;
            count++;
            ctx.write(new DatagramPacket(packet.content(), packet.sender()), ctx.voidPromise());
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
            if (counter != null) {
                counter.lazySet(count);
            }
        }
    }
}
