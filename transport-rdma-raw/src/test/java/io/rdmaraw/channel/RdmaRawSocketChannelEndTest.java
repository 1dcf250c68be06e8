package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamFixture.on;
import static io.rdmaraw.channel.StreamFixture.settle;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelId;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.rdmaraw.metrics.RdmaRawLoopStatistics;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.tcp.stack.ConnectionOwner;
import io.rdmaraw.tcp.stack.TcpStack;
import io.rdmaraw.tcp.stack.TcpTransport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A handler writes and ends the connection within a read. The data leaves before the FIN or the reset. */
@Timeout(60)
class RdmaRawSocketChannelEndTest {
    private static final int SMALL_BUFFER_BYTES = 8_192;

    private final StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1);
    private final AtomicInteger receivedBytes = new AtomicInteger();
    private final CompletableFuture<Throwable> failure = new CompletableFuture<>();
    /** Time just before {@link #closedBeforePeerReads} closed the client. */
    private long closingNanos;

    /** Counts received bytes. */
    private final class Client extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            receivedBytes.addAndGet(((ByteBuf) msg).readableBytes());
            ((ByteBuf) msg).release();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            failure.complete(cause);
        }
    }

    /** Echoes one message and closes the connection. */
    @ChannelHandler.Sharable
    private static class AnswerAndClose extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ctx.writeAndFlush(msg);
            ctx.close();
        }
    }

    @AfterEach
    void shutDown() {
        fixture.close();
    }

    private static ByteBuf bytes(int count) {
        return Unpooled.wrappedBuffer(new byte[count]);
    }

    /**
     * A kernel transmits flushed data before the reset. Here a flush within a read waits for the end of the burst, and
     * the reset must wait too.
     */
    @Test
    void resetFollowsDataWrittenInSameRead() throws Exception {
        InetSocketAddress server = fixture.listen("127.0.0.1", new AnswerAndClose(),
                settings -> settings.childOption(ChannelOption.SO_LINGER, 0));
        RdmaRawSocketChannel client = fixture.connect(server, new Client());
        client.writeAndFlush(bytes(10)).sync();
        assertEquals("Connection reset by peer", failure.get().getMessage());
        assertTrue(client.closeFuture().await(Patience.MILLIS));
        assertEquals(10, receivedBytes.get());
    }

    private RdmaRawSocketChannel closedBeforePeerReads(int lingerSeconds, int count) throws Exception {
        InetSocketAddress server = fixture.listen("127.0.0.1", new Client(),
                settings -> settings.childOption(ChannelOption.AUTO_READ, false)
                        .childOption(ChannelOption.SO_RCVBUF, 10_000));
        RdmaRawSocketChannel client = (RdmaRawSocketChannel) fixture.client(new Client())
                .option(ChannelOption.SO_LINGER, lingerSeconds).option(ChannelOption.SO_SNDBUF, 2 * count)
                .connect(server).sync().channel();
        client.writeAndFlush(bytes(count)).sync();
        // Within one task, so that the time of SO_LINGER cannot end before the checks.
        on(client.eventLoop(), () -> {
            closingNanos = System.nanoTime();
            client.close();
            assertFalse(client.isOpen());
            assertFalse(client.closeFuture().isDone());
            return null;
        });
        return client;
    }

    @Test
    void closeLingersUntilPeerHasData() throws Exception {
        RdmaRawSocketChannel client = closedBeforePeerReads(Patience.SECONDS, 400_000);
        assertFalse(client.closeFuture().await(300), "closed before the peer read");
        fixture.accepted().config().setAutoRead(true);
        assertTrue(client.closeFuture().await(Patience.MILLIS));
        Patience.until(() -> receivedBytes.get() == 400_000, "the data");
    }

    /** As on Linux, the data is delivered afterwards. */
    @Test
    void closeLingersNoLongerThanSet() throws Exception {
        RdmaRawSocketChannel client = closedBeforePeerReads(1, 400_000);
        assertTrue(client.closeFuture().await(Patience.MILLIS));
        long lingeredNanos = System.nanoTime() - closingNanos;
        assertTrue(lingeredNanos >= TimeUnit.SECONDS.toNanos(1), lingeredNanos + " ns");
        assertEquals(0, receivedBytes.get());
        fixture.accepted().config().setAutoRead(true);
        Patience.until(() -> receivedBytes.get() == 400_000, "the data");
    }

    @Test
    void endOfLoopEndsLingering() throws Exception {
        RdmaRawSocketChannel client = closedBeforePeerReads(Integer.MAX_VALUE, 400_000);
        fixture.clients.shutdownGracefully(0, Patience.SECONDS, TimeUnit.SECONDS);
        assertTrue(client.closeFuture().await(Patience.MILLIS));
    }

    @Test
    void closedChannelIsShutDownInBothDirections() throws Exception {
        RdmaRawSocketChannel client = fixture.connect(fixture.listen(new Client()), new Client());
        assertFalse(client.isInputShutdown() || client.isOutputShutdown() || client.isShutdown());
        client.close().sync();
        assertTrue(client.isInputShutdown() && client.isOutputShutdown() && client.isShutdown());
    }

    /** As on Linux: reads find the end of the stream, and the next write fails. */
    @Test
    void resetBehindTheEndOfTheStreamIsNoErrorOfReads() throws Exception {
        Queue<Object> events = new ConcurrentLinkedQueue<>();
        InetSocketAddress server = fixture.listen(new Client());
        RdmaRawSocketChannel client = (RdmaRawSocketChannel) fixture.client(new ChannelInboundHandlerAdapter() {
            @Override
            public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
                events.add(event);
            }

            @Override
            public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
                events.add(cause);
            }
        }).option(ChannelOption.ALLOW_HALF_CLOSURE, true).connect(server).sync().channel();
        RdmaRawSocketChannel child = fixture.accepted();
        // Both come while a task has the loop.
        on(client.eventLoop(), () -> {
            child.shutdown().sync();
            client.writeAndFlush(bytes(1));
            Patience.until(() -> client.tcpStack().receiveNow() >= 0 && client.transport().isClosed(), "the reset");
            return null;
        });
        Patience.until(() -> events.size() >= 2, "the end of the stream");
        settle(client.eventLoop());
        assertEquals(List.of(ChannelInputShutdownEvent.INSTANCE, ChannelInputShutdownReadComplete.INSTANCE),
                List.copyOf(events));
        assertTrue(client.isOpen());
        assertInstanceOf(IOException.class, client.writeAndFlush(bytes(1)).await().cause());
        assertTrue(client.closeFuture().await(Patience.MILLIS));
    }

    /** NIO and epoll read no more after {@code shutdownInput}, unless half-closure is allowed. */
    @Test
    void shutdownInputFiresNothingWithoutHalfClosure() throws Exception {
        Queue<Object> events = new ConcurrentLinkedQueue<>();
        RdmaRawSocketChannel client = fixture.connect(fixture.listen(new ChannelInboundHandlerAdapter() {
            @Override
            public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
                events.add(event);
            }

            @Override
            public void channelReadComplete(ChannelHandlerContext ctx) {
                events.add("readComplete");
            }
        }), new Client());
        RdmaRawSocketChannel child = fixture.accepted();
        child.shutdownInput().sync();
        client.writeAndFlush(bytes(1)).sync();
        client.shutdownOutput().sync();
        while (child.tcpInfo().sync().getNow().bytesReceived() < 1) {
            assertTrue(child.isActive());
        }
        settle(child.eventLoop());
        assertEquals(List.of(), List.copyOf(events));
        assertTrue(child.isActive() && child.isInputShutdown());
    }

    /** After the reader has shut down its input, unread and later data is acknowledged and dropped. */
    @Test
    void dataAfterShutdownInputIsDropped() throws Exception {
        InetSocketAddress server = fixture.listen("127.0.0.1", new Client(), settings -> settings
                .option(ChannelOption.SO_RCVBUF, SMALL_BUFFER_BYTES).childOption(ChannelOption.AUTO_READ, false)
                .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true));
        RdmaRawSocketChannel client = (RdmaRawSocketChannel) fixture.client(new Client())
                .option(ChannelOption.SO_SNDBUF, SMALL_BUFFER_BYTES).connect(server).sync().channel();
        RdmaRawSocketChannel child = fixture.accepted();
        ChannelFuture written = client.writeAndFlush(bytes(20 * SMALL_BUFFER_BYTES));
        while (child.tcpInfo().sync().getNow().bytesReceived() < SMALL_BUFFER_BYTES / 2) {
            assertTrue(child.isActive());
        }
        settle(child.eventLoop());
        assertFalse(written.isDone());
        child.shutdownInput().sync();
        assertTrue(child.isInputShutdown());
        assertTrue(written.await(Patience.MILLIS) && written.isSuccess(), "the window did not open");
        while (client.tcpInfo().sync().getNow().bytesAcked() < 20 * SMALL_BUFFER_BYTES) {
            assertTrue(client.isActive());
        }
        settle(child.eventLoop());
        child.config().setAutoRead(true);
        // Closing with unread bytes would reset the connection.
        child.close().sync();
        assertTrue(client.closeFuture().await(Patience.MILLIS));
        assertFalse(failure.isDone());
        assertEquals(0, receivedBytes.get());
    }

    /**
     * A FIN waits until the data of the burst has been delivered to the other ready connections, to share a doorbell
     * with their replies. The delivery to the next connection fails here, and the FIN must be sent nevertheless.
     */
    @Test
    void deferredFinIsSentAlthoughAnotherConnectionFails() throws Exception {
        RdmaRawSocketChannel client = fixture.connect(fixture.listen(new AnswerAndClose() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object msg) {
                TcpStack stack = ((RdmaRawSocketChannel) ctx.channel()).tcpStack();
                TcpTransport broken = new TcpTransport(stack, null);
                // This transport has no connection.
                broken.channel(failingListener());
                stack.markReady(broken);
                super.channelRead(ctx, msg);
            }
        }), new Client());
        RdmaRawSocketChannel child = fixture.accepted();
        RdmaRawLoopStatistics loop = loopOf(child);
        TcpStack stack = child.tcpStack();
        long failuresBefore = value(loop, "failures");
        long sentBefore = on(child.eventLoop(), () -> stack.engine().counters().segmentsOut);
        client.writeAndFlush(bytes(10)).sync();
        while (on(child.eventLoop(), () -> value(loop, "failures")) == failuresBefore) {
            assertFalse(child.eventLoop().isShuttingDown());
        }
        long round = on(child.eventLoop(), () -> value(loop, "turns"));
        while (on(child.eventLoop(), () -> value(loop, "turns")) < round + 2) {
            assertFalse(child.eventLoop().isShuttingDown());
        }
        assertTrue(on(child.eventLoop(), () -> stack.engine().counters().segmentsOut) > sentBefore,
                "it has not left in the round that followed");
        assertTrue(client.closeFuture().await(Patience.MILLIS));
        assertEquals(10, receivedBytes.get());
        // Later connections are served as usual.
        RdmaRawSocketChannel next = fixture.connect(fixture.listen(new AnswerAndClose()), new Client());
        next.writeAndFlush(bytes(5)).sync();
        assertTrue(next.closeFuture().await(Patience.MILLIS));
        assertEquals(15, receivedBytes.get());
        assertEquals(failuresBefore + 1, on(child.eventLoop(), () -> value(loop, "failures")));
    }

    private static ConnectionOwner failingListener() {
        return (ConnectionOwner) Proxy.newProxyInstance(ConnectionOwner.class.getClassLoader(),
                new Class<?>[] {ConnectionOwner.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("channelId")) {
                        return DefaultChannelId.newInstance();
                    }
                    throw new IllegalStateException("a planted failure");
                });
    }

    private static RdmaRawLoopStatistics loopOf(RdmaRawSocketChannel channel) {
        String thread = on(channel.eventLoop(), () -> Thread.currentThread().getName());
        return RdmaRawMetrics.loops().stream().filter(loop -> loop.name().equals(thread)).findFirst().orElseThrow();
    }

    private static long value(RdmaRawLoopStatistics loop, String name) {
        return loop.value(loop.metrics().stream().filter(metric -> metric.name().equals(name)).findFirst()
                .orElseThrow());
    }
}
