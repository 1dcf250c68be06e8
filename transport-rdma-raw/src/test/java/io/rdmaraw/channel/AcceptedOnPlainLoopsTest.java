package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Accepted connections with a group that does not choose the loop that receives their segments. */
@Timeout(60)
class AcceptedOnPlainLoopsTest {
    private static final int CONNECTIONS = 4;

    private final LoopDevice device = LoopDevice.inMemory();
    private final StreamFixture fixture = StreamFixture.ofOneGroup(plainGroup(2));
    private final EventLoopGroup clients = plainGroup(1);

    private EventLoopGroup plainGroup(int loops) {
        return new MultiThreadIoEventLoopGroup(loops,
                RdmaRawIoHandler.newFactory(StreamFixture.config(device.name).build()));
    }

    @AfterEach
    void shutDown() {
        clients.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        fixture.close();
    }

    /** Opens a latch when the first byte arrives. */
    private static final class FirstByte extends ChannelInboundHandlerAdapter {
        private final CountDownLatch read = new CountDownLatch(1);

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ((ByteBuf) msg).release();
            read.countDown();
        }
    }

    private Channel connect(InetSocketAddress server, ChannelInboundHandlerAdapter handler)
            throws InterruptedException {
        return new Bootstrap().group(clients).channel(RdmaRawSocketChannel.class).handler(handler).connect(server)
                .sync().channel();
    }

    @Test
    void flushInChannelActiveLeavesBeforeTheHandlerReturns() throws Exception {
        for (int i = 0; i < CONNECTIONS; i++) {
            FirstByte reader = new FirstByte();
            CompletableFuture<Boolean> arrived = new CompletableFuture<>();
            InetSocketAddress server = fixture.listen(new ChannelInboundHandlerAdapter() {
                @Override
                public void channelActive(ChannelHandlerContext ctx) throws InterruptedException {
                    ctx.writeAndFlush(Unpooled.wrappedBuffer(new byte[1]));
                    arrived.complete(reader.read.await(Patience.SECONDS / 5, TimeUnit.SECONDS));
                }
            });
            Channel client = connect(server, reader);
            assertTrue(arrived.get(Patience.SECONDS, TimeUnit.SECONDS), "connection " + i);
            client.close().sync();
        }
    }

    /** Binds a server channel. Its handler receives the accepted channels before they are registered. */
    private Channel serve(Consumer<RdmaRawSocketChannel> acceptor) throws InterruptedException {
        return new Bootstrap().group(fixture.servers).channel(RdmaRawServerSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object msg) {
                        acceptor.accept((RdmaRawSocketChannel) msg);
                    }
                }).bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0)).sync().channel();
    }

    private EventLoop otherLoop(EventLoop loop) {
        return LoopMoves.loopThatIsNot(fixture.servers, loop);
    }

    /** The connection cannot arrive while the handler runs, so the registration stops waiting for it. */
    @Test
    void handlerOfServerMayBlockUntilTheChannelIsRegistered() throws Exception {
        CompletableFuture<Boolean> registered = new CompletableFuture<>();
        Channel server = serve(child -> {
            child.pipeline().addLast(new StreamFixture.Echo());
            EventLoop other = otherLoop(child.parent().eventLoop());
            assertNotSame(other, child.transport().loop());
            registered.complete(other.register(child).awaitUninterruptibly(Patience.MILLIS));
        });
        FirstByte reader = new FirstByte();
        Channel client = connect((InetSocketAddress) server.localAddress(), reader);
        assertTrue(registered.get(Patience.SECONDS, TimeUnit.SECONDS));
        client.writeAndFlush(Unpooled.wrappedBuffer(new byte[1])).sync();
        assertTrue(reader.read.await(Patience.SECONDS, TimeUnit.SECONDS), "no echo");
    }

    @Test
    void closeWhileTheRegistrationWaitsFailsIt() throws Exception {
        CompletableFuture<Throwable> failure = new CompletableFuture<>();
        CountDownLatch closed = new CountDownLatch(1);
        Channel server = serve(child -> {
            EventLoop other = otherLoop(child.parent().eventLoop());
            ChannelFuture registration = other.register(child);
            registration.addListener(done -> {
                failure.complete(done.cause());
                closed.countDown();
            });
            other.execute(() -> {
                assertFalse(child.isRegistered());
                child.unsafe().close(child.unsafe().voidPromise());
            });
            LoopMoves.await(closed);
        });
        Channel client = connect((InetSocketAddress) server.localAddress(), new ChannelInboundHandlerAdapter());
        assertInstanceOf(ClosedChannelException.class, failure.get(Patience.SECONDS, TimeUnit.SECONDS));
        client.closeFuture().sync();
    }
}
