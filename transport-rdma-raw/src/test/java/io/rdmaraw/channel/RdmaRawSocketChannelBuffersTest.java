package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.metrics.RdmaRawTcpInfo;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * Send and receive buffers of socket channels. They grow with the path unless the user sets a size, which is then a
 * limit.
 */
@Timeout(60)
class RdmaRawSocketChannelBuffersTest {
    private static final int FIRST_RECEIVE_BYTES = 256 * 1024;
    private static final int FIRST_SEND_BYTES = 512 * 1024;
    private static final int MAX_SEND_BYTES = 4 * 1024 * 1024;
    /** Number of bytes after which a buffer would have grown. */
    private static final long PLENTY_BYTES = 64L << 20;

    private final LoopDevice device = LoopDevice.inMemory();
    private final BlockingQueue<RdmaRawSocketChannel> children = new LinkedBlockingQueue<>();
    private EventLoopGroup servers;
    private EventLoopGroup clients;
    private RdmaRawSocketChannel source;
    private RdmaRawSocketChannel sink;
    /** Largest receive window offered so far. */
    private final AtomicInteger receiveWindowBytes = new AtomicInteger();
    private final AtomicInteger givenAheadBytes = new AtomicInteger();

    @AfterEach
    void shutDown() {
        if (clients == null) {
            return;
        }
        clients.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        servers.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** Drops received data and records the offered window. */
    private final class Sink extends ChannelInboundHandlerAdapter {
        @Override
        public boolean isSharable() {
            return true;
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            children.add((RdmaRawSocketChannel) ctx.channel());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ReferenceCountUtil.release(msg);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ((RdmaRawSocketChannel) ctx.channel()).tcpInfo().addListener(info -> receiveWindowBytes.accumulateAndGet(
                    ((RdmaRawTcpInfo) info.getNow()).receiveWindowBytes(), Math::max));
        }
    }

    /** Writes as long as the channel is writable. */
    private final class Source extends ChannelInboundHandlerAdapter {
        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            fill(ctx);
        }

        @Override
        public void channelWritabilityChanged(ChannelHandlerContext ctx) {
            fill(ctx);
        }

        private void fill(ChannelHandlerContext ctx) {
            while (ctx.channel().isWritable()) {
                ctx.write(ctx.alloc().directBuffer(16_384).writerIndex(16_384), ctx.voidPromise());
            }
            ctx.flush();
            ((RdmaRawSocketChannel) ctx.channel()).tcpInfo().addListener(future -> {
                RdmaRawTcpInfo info = (RdmaRawTcpInfo) future.getNow();
                givenAheadBytes.accumulateAndGet(info.unacknowledgedBytes() + info.unsentBytes(), Math::max);
            });
        }
    }

    private void connect(Consumer<ServerBootstrap> server, Consumer<Bootstrap> client,
                         Consumer<RdmaRawIoHandlerConfig.Builder> settings) throws InterruptedException {
        RdmaRawIoHandlerConfig.Builder config = RdmaRawIoHandlerConfig.builder().device(device.name);
        settings.accept(config);
        servers = new RdmaRawEventLoopGroup(1, config.build());
        clients = new RdmaRawEventLoopGroup(1, config.build());
        ServerBootstrap listening = new ServerBootstrap().group(servers).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new Sink());
        server.accept(listening);
        InetSocketAddress address = (InetSocketAddress) listening
                .bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0)).sync().channel().localAddress();
        Bootstrap connecting = new Bootstrap().group(clients).channel(RdmaRawSocketChannel.class)
                .handler(new Source());
        client.accept(connecting);
        source = (RdmaRawSocketChannel) connecting.connect(address).sync().channel();
        sink = children.take();
    }

    private void awaitReceived(long bytes) throws Exception {
        while (sink.tcpInfo().get().bytesReceived() < bytes) {
            assertTrue(sink.isActive() && source.isActive());
        }
    }

    @Test
    void buffersGrowWithPathUnlessSet() throws Exception {
        connect(server -> { }, client -> { }, settings -> { });
        int most = RdmaRawIoHandlerConfig.defaults().maxReceiveBufferBytes();
        assertEquals(2 << 20, most);
        while (receiveWindowBytes.get() <= FIRST_RECEIVE_BYTES) {
            awaitReceived(sink.tcpInfo().get().bytesReceived() + 1);
        }
        awaitReceived(PLENTY_BYTES);
        assertTrue(receiveWindowBytes.get() <= most, receiveWindowBytes + " bytes");
        assertTrue(givenAheadBytes.get() <= MAX_SEND_BYTES, givenAheadBytes + " bytes");
    }

    @Test
    void setBuffersAreLimits() throws Exception {
        connect(server -> server.childOption(ChannelOption.SO_RCVBUF, 300_000),
                client -> client.option(ChannelOption.SO_SNDBUF, 400_000), settings -> { });
        awaitReceived(PLENTY_BYTES);
        assertTrue(receiveWindowBytes.get() <= 300_000, receiveWindowBytes + " bytes");
        assertTrue(givenAheadBytes.get() <= 400_000, givenAheadBytes + " bytes");
        assertEquals(300_000, sink.config().getReceiveBufferSize());
        assertEquals(400_000, source.config().getOption(ChannelOption.SO_SNDBUF));
    }

    @Test
    void receiveBufferOfServerLimitsItsChildren() throws Exception {
        connect(server -> server.option(ChannelOption.SO_RCVBUF, 100_000), client -> { }, settings -> { });
        awaitReceived(PLENTY_BYTES);
        assertTrue(receiveWindowBytes.get() <= 100_000, receiveWindowBytes + " bytes");
        assertEquals(100_000, sink.config().getReceiveBufferSize());
    }

    @Test
    void buffersKeepTheirSizeIfGrowthIsOff() throws Exception {
        connect(server -> { }, client -> { }, settings -> settings.maxReceiveBufferBytes(0));
        awaitReceived(PLENTY_BYTES);
        assertTrue(receiveWindowBytes.get() <= FIRST_RECEIVE_BYTES, receiveWindowBytes + " bytes");
        assertEquals(FIRST_RECEIVE_BYTES, sink.config().getReceiveBufferSize());
        assertEquals(FIRST_SEND_BYTES, source.config().getSendBufferSize());
    }

    @Test
    void sendBufferHoldsTwiceCongestionWindow() {
        assertEquals(FIRST_SEND_BYTES, RdmaRawSocketChannelConfig.sendBufferFor(14_480));
        assertEquals(2 << 20, RdmaRawSocketChannelConfig.sendBufferFor(1 << 20));
        assertEquals(MAX_SEND_BYTES, RdmaRawSocketChannelConfig.sendBufferFor(Integer.MAX_VALUE));
    }

    @Test
    void receiveBufferMayUseQuarterOfSlots() {
        assertEquals(512 << 10, RdmaRawIoHandlerConfig.builder().slotCount(1024).receiveQueueDepth(256)
                .sendQueueDepth(256).build().maxReceiveBufferBytes());
        assertEquals(6 << 20, RdmaRawIoHandlerConfig.builder().slotCount(1 << 16).build().maxReceiveBufferBytes());
        assertThrows(IllegalArgumentException.class,
                () -> RdmaRawIoHandlerConfig.builder().maxReceiveBufferBytes(-1));
    }
}
