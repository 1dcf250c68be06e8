package smoke;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.DatagramPacket;
import io.netty.util.Version;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawIoHandler;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The transport with the Netty of the class path: TCP there and back with the transport's allocator and with another, a
 * file, datagrams, and the end of the loops. Prints "works", or fails.
 */
public final class Smoke {
    private static final int BYTES = 3_000_000;
    private static final int PATIENCE_SECONDS = 60;

    private Smoke() {
    }

    public static void main(String[] args) throws Exception {
        RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().device("soft:loop").build();
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(2, RdmaRawIoHandler.newFactory(config));
        try {
            Channel server = new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                    .childHandler(new ChannelInitializer<>() {
                        @Override
                        protected void initChannel(Channel connection) {
                            connection.pipeline().addLast(new TcpEcho());
                        }
                    }).bind("127.0.0.1", 0).sync().channel();
            stream(group, server, false);
            stream(group, server, true);
            datagram(group);
            server.close().sync();
        } finally {
            group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        }
        Version version = Version.identify().get("netty-transport");
        // Shading leaves the properties of one jar of all that have them.
        System.out.println("works with " + (version == null ? "a Netty that does not tell" : version.artifactVersion()));
    }

    private static final class TcpEcho extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ctx.write(message);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }

    private static byte[] pattern() {
        byte[] bytes = new byte[BYTES];
        for (int i = 0; i < BYTES; i++) {
            bytes[i] = (byte) (i % 251);
        }
        return bytes;
    }

    /** Sends bytes of memory and bytes of a file, and compares what comes back. */
    private static void stream(EventLoopGroup group, Channel server, boolean foreignAllocator) throws Exception {
        byte[] sent = pattern();
        byte[] received = new byte[2 * BYTES];
        AtomicInteger length = new AtomicInteger();
        CountDownLatch all = new CountDownLatch(1);
        Bootstrap bootstrap = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class);
        if (foreignAllocator) {
            bootstrap.option(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT);
        }
        Channel client = bootstrap.handler(new SimpleChannelInboundHandler<ByteBuf>() {
            @Override
            protected void channelRead0(ChannelHandlerContext ctx, ByteBuf message) {
                int bytes = message.readableBytes();
                message.readBytes(received, length.get(), bytes);
                if (length.addAndGet(bytes) == received.length) {
                    all.countDown();
                }
            }
        }).connect(server.localAddress()).sync().channel();
        Path file = Files.write(Files.createTempFile("smoke", null), sent);
        try {
            client.write(Unpooled.wrappedBuffer(sent));
            client.writeAndFlush(new DefaultFileRegion(file.toFile(), 0, BYTES)).sync();
            check(all.await(PATIENCE_SECONDS, TimeUnit.SECONDS), "TCP: not all came back: " + length);
            check(Arrays.equals(sent, 0, BYTES, received, 0, BYTES)
                    && Arrays.equals(sent, 0, BYTES, received, BYTES, 2 * BYTES), "TCP: other bytes came back");
        } finally {
            Files.delete(file);
            client.close().sync();
        }
    }

    private static void datagram(EventLoopGroup group) throws Exception {
        CountDownLatch answered = new CountDownLatch(1);
        Channel server = bind(group, new SimpleChannelInboundHandler<DatagramPacket>() {
            @Override
            protected void channelRead0(ChannelHandlerContext ctx, DatagramPacket packet) {
                ctx.writeAndFlush(new DatagramPacket(packet.content().retain(), packet.sender()));
            }
        });
        Channel client = bind(group, new SimpleChannelInboundHandler<DatagramPacket>() {
            @Override
            protected void channelRead0(ChannelHandlerContext ctx, DatagramPacket packet) {
                answered.countDown();
            }
        });
        client.writeAndFlush(new DatagramPacket(Unpooled.wrappedBuffer(new byte[100]),
                (InetSocketAddress) server.localAddress())).sync();
        check(answered.await(PATIENCE_SECONDS, TimeUnit.SECONDS), "UDP: no answer");
    }

    private static Channel bind(EventLoopGroup group, SimpleChannelInboundHandler<DatagramPacket> handler)
            throws InterruptedException {
        return new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class).handler(handler)
                .bind("127.0.0.1", 0).sync().channel();
    }

    private static void check(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalStateException(otherwise);
        }
    }
}
