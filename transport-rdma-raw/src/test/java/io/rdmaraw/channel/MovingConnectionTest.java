package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;

/** Both ends of a connection go from loop to loop while bytes are on their way, and no loop remembers it at the end. */
@Timeout(60)
class MovingConnectionTest {
    private static final int LOOPS = 3;
    private static final int MOVES = 4;
    private static final int CHUNK_BYTES = 8_192;
    private static final int OUTSTANDING_BYTES = 1 << 18;
    private static final int BYTES_BETWEEN_MOVES = 1 << 19;

    private final LoopDevice device = LoopDevice.inMemory();
    private final EventLoopGroup group = new RdmaRawEventLoopGroup(LOOPS, RdmaRawIoHandlerConfig.builder()
            .ipDevice(device.name).receiveQueueDepth(256).sendQueueDepth(256).slotCount(2048).build());
    private final List<EventLoop> loops = new ArrayList<>();
    private final BlockingQueue<RdmaRawSocketChannel> children = new LinkedBlockingQueue<>();
    private final Map<TcpStack, EventLoop> stacks = new LinkedHashMap<>();
    private final Talker talker = new Talker();

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    @ChannelHandler.Sharable
    private final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            children.add((RdmaRawSocketChannel) ctx.channel());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ctx.writeAndFlush(msg);
        }
    }

    /** Sends bytes that tell their place in the stream, as long as they are wanted, and looks at what comes back. */
    private static final class Talker extends ChannelInboundHandlerAdapter {
        private long sentBytes;
        private long receivedBytes;
        private boolean wanted = true;
        private Throwable failure;

        private static byte at(long position) {
            return (byte) (position * 31 + (position >>> 13));
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            talk(ctx.channel());
        }

        @Override
        public void channelWritabilityChanged(ChannelHandlerContext ctx) {
            talk(ctx.channel());
        }

        private void talk(Channel channel) {
            while (wanted && sentBytes - receivedBytes < OUTSTANDING_BYTES && channel.isWritable()) {
                ByteBuf chunk = channel.alloc().directBuffer(CHUNK_BYTES);
                for (int i = 0; i < CHUNK_BYTES; i++) {
                    chunk.writeByte(at(sentBytes++));
                }
                channel.writeAndFlush(chunk);
            }
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ByteBuf data = (ByteBuf) msg;
            while (data.isReadable()) {
                assertEquals(at(receivedBytes), data.readByte(), "the byte at " + receivedBytes);
                receivedBytes++;
            }
            data.release();
            talk(ctx.channel());
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            failure = cause;
        }
    }

    private static <T> T on(EventLoop loop, Callable<T> call) {
        return loop.submit(call).syncUninterruptibly().getNow();
    }

    /** A turn of the loop for each look; the test's timeout ends this. */
    private void awaitBack(RdmaRawSocketChannel client, long bytes) {
        while (on(client.eventLoop(), () -> talker.receivedBytes) < bytes) {
            assertNull(on(client.eventLoop(), () -> talker.failure));
            assertTrue(client.isActive());
        }
    }

    private void move(RdmaRawSocketChannel channel) throws InterruptedException {
        EventLoop next = loops.get((loops.indexOf(channel.eventLoop()) + 1) % LOOPS);
        channel.deregister().sync();
        next.register(channel).sync();
        note(channel);
    }

    private void note(RdmaRawSocketChannel channel) {
        stacks.put(on(channel.eventLoop(), channel::loopStack), channel.eventLoop());
    }

    @Test
    void noByteIsLostAndNoLoopRemembers() throws InterruptedException {
        group.forEach(loop -> loops.add((EventLoop) loop));
        InetSocketAddress server = (InetSocketAddress) new ServerBootstrap().group(group)
                .channel(RdmaRawServerSocketChannel.class).childHandler(new Echo())
                .bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0)).sync().channel().localAddress();
        RdmaRawSocketChannel client = (RdmaRawSocketChannel) new Bootstrap().group(group)
                .channel(RdmaRawSocketChannel.class).handler(talker).connect(server).sync().channel();
        RdmaRawSocketChannel child = children.take();
        note(client);
        note(child);
        for (int i = 0; i < MOVES; i++) {
            move(i % 2 == 0 ? client : child);
            move(i % 2 == 0 ? child : client);
            awaitBack(client, on(client.eventLoop(), () -> talker.receivedBytes) + BYTES_BETWEEN_MOVES);
        }
        on(client.eventLoop(), () -> talker.wanted = false);
        awaitBack(client, on(client.eventLoop(), () -> talker.sentBytes));
        assertEquals(LOOPS, stacks.size());
        assertEquals(2 * MOVES, count(stack -> stack.counters().movedConnections));
        assertTrue(count(stack -> stack.counters().forwardedSegments) > 0);
        assertEquals(0, count(stack -> stack.counters().droppedForwards));
        assertTrue(count(stack -> stack.isPassingOn() ? 1 : 0) > 0);
        client.close().sync();
        child.closeFuture().sync();
        while (count(stack -> stack.counters().flows) > 0 || count(stack -> stack.isPassingOn() ? 1 : 0) > 0) {
            assertTrue(loops.stream().noneMatch(EventLoop::isShuttingDown));
        }
    }

    /** Its old loop has let go of it, and the new one, which is in a handler, has not taken it yet. */
    @Test
    void whatIsAskedOfAConnectionOnItsWayWaitsForItsArrival() throws InterruptedException {
        group.forEach(loop -> loops.add((EventLoop) loop));
        InetSocketAddress server = (InetSocketAddress) new ServerBootstrap().group(group)
                .channel(RdmaRawServerSocketChannel.class).childHandler(new Echo())
                .bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0)).sync().channel().localAddress();
        RdmaRawSocketChannel client = (RdmaRawSocketChannel) new Bootstrap().group(group)
                .channel(RdmaRawSocketChannel.class).handler(new ChannelInboundHandlerAdapter()).connect(server).sync()
                .channel();
        EventLoop before = client.eventLoop();
        EventLoop after = loops.get((loops.indexOf(before) + 1) % LOOPS);
        CountDownLatch added = new CountDownLatch(1);
        CountDownLatch joined = new CountDownLatch(1);
        CountDownLatch busy = new CountDownLatch(1);
        client.deregister().sync();
        client.pipeline().addLast(new ChannelInboundHandlerAdapter() {
            @Override
            public void handlerAdded(ChannelHandlerContext ctx) {
                added.countDown();
            }

            @Override
            public void channelRegistered(ChannelHandlerContext ctx) throws InterruptedException {
                joined.countDown();
                busy.await();
            }
        });
        // By the old loop; a handler that is not added yet hears nothing of the new one.
        added.await();
        after.register(client);
        joined.await();
        Future<RdmaRawTcpInfo> info = client.tcpInfo();
        try {
            for (int turn = 0; turn < 3; turn++) {
                before.submit(() -> { }).sync();
            }
            assertFalse(info.isDone(), "a loop that has it no more was asked");
        } finally {
            busy.countDown();
        }
        assertEquals("ESTABLISHED", info.sync().getNow().state());
        assertTrue(client.carrier().isOn(after));
    }

    private long count(ToLongFunction<TcpStack> what) {
        return stacks.entrySet().stream().mapToLong(at -> on(at.getValue(), () -> what.applyAsLong(at.getKey()))).sum();
    }
}
