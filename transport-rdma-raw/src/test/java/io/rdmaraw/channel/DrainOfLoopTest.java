package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamFixture.on;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.rdmaraw.tcp.stack.TcpStack;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Before a loop terminates, it delivers the data of closed channels, as a kernel does. */
@Timeout(60)
class DrainOfLoopTest {
    private static final int BYTES = 400_000;
    private static final int SMALL_BYTES = 3_000;

    private final LoopDevice device = LoopDevice.inMemory();
    private final StreamFixture fixture = new StreamFixture(device, 1, 1);
    private final AtomicLong receivedBytes = new AtomicLong();
    private final CompletableFuture<Throwable> failure = new CompletableFuture<>();
    private final CompletableFuture<Void> end = new CompletableFuture<>();

    @AfterEach
    void shutDown() {
        fixture.close();
    }

    private class Reader extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            receivedBytes.addAndGet(((ByteBuf) msg).readableBytes());
            ((ByteBuf) msg).release();
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            end.complete(null);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            failure.complete(cause);
        }
    }

    private EventLoopGroup group(String kind, long drainMillis) {
        RdmaRawIoHandlerConfig config = StreamFixture.config(device.name)
                .drainTimeout(drainMillis, TimeUnit.MILLISECONDS).build();
        return kind.equals("RdmaRawEventLoopGroup") ? new RdmaRawEventLoopGroup(1, config)
                : new MultiThreadIoEventLoopGroup(1, RdmaRawIoHandler.newFactory(config));
    }

    private void writeAndEnd(EventLoopGroup group, InetSocketAddress address) throws InterruptedException {
        Channel writer = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).connect(address).sync().channel();
        writer.writeAndFlush(writer.alloc().buffer(BYTES).writeZero(BYTES)).sync();
        writer.close().sync();
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
    }

    @ParameterizedTest
    @ValueSource(strings = {"RdmaRawEventLoopGroup", "MultiThreadIoEventLoopGroup"})
    void dataOfClosedChannelIsDelivered(String kind) throws Exception {
        writeAndEnd(group(kind, TimeUnit.SECONDS.toMillis(Patience.SECONDS)), fixture.listen(new Reader()));
        end.get(Patience.SECONDS, TimeUnit.SECONDS);
        assertEquals(BYTES, receivedBytes.get());
        assertTrue(!failure.isDone(), () -> "failed by " + failure.join());
    }

    /** The peer does not read. After the drain timeout the loop resets the connection and logs it. */
    @ParameterizedTest
    @ValueSource(strings = {"RdmaRawEventLoopGroup", "MultiThreadIoEventLoopGroup"})
    void connectionIsResetIfPeerDoesNotRead(String kind) throws Exception {
        InetSocketAddress address = fixture.listen("127.0.0.1", new Reader(),
                server -> server.childOption(ChannelOption.AUTO_READ, false));
        try (WarningsOf warnings = new WarningsOf(TcpStack.class)) {
            writeAndEnd(group(kind, 100), address);
            assertEquals(1, warnings.messages().size(), () -> warnings.messages().toString());
            assertTrue(warnings.messages().getFirst().contains("resets 1 closed connections"),
                    () -> warnings.messages().toString());
        }
        RdmaRawSocketChannel reader = fixture.accepted();
        reader.config().setAutoRead(true);
        end.get(Patience.SECONDS, TimeUnit.SECONDS);
        assertInstanceOf(IOException.class, failure.get(Patience.SECONDS, TimeUnit.SECONDS));
        assertTrue(on(reader.eventLoop(), receivedBytes::get) < BYTES);
    }

    /** The peer has acknowledged the FIN but keeps its own direction open, so the loop does not wait for it. */
    @Test
    void loopEndsWhenPeerHasAcknowledgedEverything() throws Exception {
        InetSocketAddress address = fixture.listen("127.0.0.1", new Reader(),
                server -> server.childOption(ChannelOption.ALLOW_HALF_CLOSURE, true));
        writeAndEnd(group("RdmaRawEventLoopGroup", TimeUnit.DAYS.toMillis(1)), address);
        Patience.until(() -> receivedBytes.get() == BYTES, "all bytes");
    }

    /** Both channels are on the loop that ends. A kernel delivers in write(). */
    @ParameterizedTest
    @ValueSource(strings = {"RdmaRawEventLoopGroup", "MultiThreadIoEventLoopGroup"})
    void bytesBetweenChannelsOfTheLoopAreReadBeforeItCloses(String kind) throws Exception {
        EventLoopGroup group = group(kind, TimeUnit.SECONDS.toMillis(Patience.SECONDS));
        CompletableFuture<Channel> accepted = new CompletableFuture<>();
        Channel server = new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new Reader() {
                    @Override
                    public void channelActive(ChannelHandlerContext ctx) {
                        accepted.complete(ctx.channel());
                    }
                }).bind("127.0.0.1", 0).sync().channel();
        Channel writer = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).connect(server.localAddress()).sync().channel();
        accepted.get(Patience.SECONDS, TimeUnit.SECONDS);

        writer.eventLoop().execute(() -> {
            writer.writeAndFlush(writer.alloc().buffer(SMALL_BYTES).writeZero(SMALL_BYTES));
            group.shutdownGracefully(50, TimeUnit.SECONDS.toMillis(Patience.SECONDS), TimeUnit.MILLISECONDS);
        });

        group.terminationFuture().sync();
        assertEquals(SMALL_BYTES, receivedBytes.get());
    }
}
