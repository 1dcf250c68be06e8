package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamFixture.keepBusy;
import static io.rdmaraw.channel.StreamFixture.on;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import io.rdmaraw.memory.Slab;
import io.rdmaraw.tcp.stack.TcpStack;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** When a loop terminates, it releases the memory of every connection, whatever state the connection is in. */
@Timeout(60)
class EndOfLoopTest {
    /** Larger than the payloads that are copied out of their slot. */
    private static final int MESSAGE_BYTES = 600;
    private static final int MAX_ATTEMPTS = 64;

    private final StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 2, 1);
    private final CountDownLatch busy = new CountDownLatch(1);
    private final int heldBefore = Slab.heldSlabCount();

    @AfterEach
    void shutDown() {
        busy.countDown();
        fixture.close();
    }

    private List<EventLoop> serverLoops() {
        List<EventLoop> loops = new ArrayList<>();
        fixture.servers.forEach(loop -> loops.add((EventLoop) loop));
        return loops;
    }

    private static TcpStack stackOf(EventLoop loop) {
        return on(loop, () -> ((RdmaRawEventLoop) loop).handler().openTcpStack());
    }

    private void endLoop(EventLoop loop) {
        loop.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** Ends with the timeout of the test. */
    private void awaitMemory() {
        while (Slab.heldSlabCount() > heldBefore) {
            assertFalse(Thread.currentThread().isInterrupted(), () -> "held: " + Slab.describeHeldSlots());
        }
    }

    /**
     * The loop of the server channel is blocked in a handler, so a connection that arrives at the other loop has no
     * channel when that loop terminates.
     */
    @Test
    void bytesOfConnectionWithoutChannelAreReleased() throws InterruptedException {
        InetSocketAddress address = fixture.listen(new ChannelInboundHandlerAdapter());
        EventLoop listening = serverLoops().stream().filter(loop -> on(loop, () ->
                ((RdmaRawEventLoop) loop).handler().registrationCount()) > 0).findFirst().orElseThrow();
        EventLoop other = serverLoops().stream().filter(loop -> loop != listening).findFirst().orElseThrow();
        TcpStack stack = stackOf(other);
        keepBusy(listening, busy);
        for (int i = 0; i < MAX_ATTEMPTS && on(other, () -> stack.statistics().openConnections) == 0; i++) {
            fixture.client(new ChannelInboundHandlerAdapter()).option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 0)
                    .connect(address).addListener((ChannelFuture opened) ->
                            opened.channel().writeAndFlush(Unpooled.wrappedBuffer(new byte[MESSAGE_BYTES])));
            StreamFixture.settle(fixture.clients.next());
            StreamFixture.settle(other);
        }
        while (on(other, () -> stack.engine().counters().payloadBytesIn) < MESSAGE_BYTES) {
            assertFalse(Thread.currentThread().isInterrupted());
        }
        endLoop(other);
        busy.countDown();
        fixture.close();
        awaitMemory();
    }

    /** Accepts a connection with received bytes that no handler reads. */
    private RdmaRawSocketChannel acceptUnread() throws InterruptedException {
        InetSocketAddress address = fixture.listen("127.0.0.1", new ChannelInboundHandlerAdapter(),
                server -> server.childOption(ChannelOption.AUTO_READ, false));
        Channel client = fixture.connect(address, new ChannelInboundHandlerAdapter());
        RdmaRawSocketChannel child = fixture.accepted();
        TcpStack stack = stackOf(child.eventLoop());
        client.writeAndFlush(Unpooled.wrappedBuffer(new byte[MESSAGE_BYTES])).sync();
        while (on(child.eventLoop(), () -> stack.engine().counters().payloadBytesIn) < MESSAGE_BYTES) {
            assertTrue(child.isOpen());
        }
        return child;
    }

    /**
     * The channel is registered by a late task of a terminating loop and would miss the notification of its shutdown.
     */
    @Test
    void bytesOfChannelJoiningTerminatingLoopAreReleased() throws InterruptedException {
        RdmaRawSocketChannel child = acceptUnread();
        EventLoop to = serverLoops().stream().filter(loop -> loop != child.eventLoop()).findFirst().orElseThrow();
        stackOf(to);
        child.deregister().sync();
        keepBusy(to, busy);
        Future<?> ended = to.shutdownGracefully(0, 10, TimeUnit.SECONDS);
        to.register(child);
        busy.countDown();
        ended.sync();
        child.closeFuture().sync();
        assertFalse(child.isOpen());
        fixture.close();
        awaitMemory();
    }

    /**
     * If a task requests the shutdown and adds another task, Netty terminates the loop at once, without preparing its
     * handler.
     */
    @Test
    void bytesOfChannelAreReleasedIfLoopEndsAtOnce() throws InterruptedException {
        RdmaRawSocketChannel child = acceptUnread();
        EventLoop loop = child.eventLoop();
        loop.execute(() -> {
            loop.shutdownGracefully(0, 10, TimeUnit.SECONDS);
            loop.execute(() -> { });
        });
        loop.terminationFuture().sync();
        assertFalse(child.isOpen());
        fixture.close();
        awaitMemory();
    }
}
