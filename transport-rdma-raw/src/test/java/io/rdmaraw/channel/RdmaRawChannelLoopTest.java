package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.NetUtil;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Channels and their loops: sleep and wake-up, moves between loops, NIO channels on the same loops, shutdown. */
class RdmaRawChannelLoopTest {
    /** The last event of each queue and the task that starts the timer may each end one sleep. */
    private static final int MAX_SLEEPS_TO_A_TIMER = 10;

    private final LoopDevice device = new LoopDevice();
    private final FrameQueueHandler received = new FrameQueueHandler();
    private RdmaRawEventLoopGroup group;

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        received.messages.forEach(ReferenceCountUtil::release);
    }

    private void open(int loops, long spinMicros) {
        group = new RdmaRawEventLoopGroup(loops, RdmaRawIoHandlerConfig.builder()
                .spin(spinMicros, TimeUnit.MICROSECONDS).build());
    }

    /** Bounces one frame between two loops, which sleep between its flights unless they spin. */
    private static final class Bouncer extends ChannelInboundHandlerAdapter {
        private final byte[] peer;
        private final CountDownLatch rounds;

        Bouncer(byte[] peer, CountDownLatch rounds) {
            this.peer = peer;
            this.rounds = rounds;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            rounds.countDown();
            ctx.writeAndFlush(((ByteBuf) msg).setBytes(0, peer));
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 50})
    void noWakeUpIsLostWithAnySpinTime(long spinMicros) throws InterruptedException {
        open(2, spinMicros);
        CountDownLatch rounds = new CountDownLatch(20_000);
        device.bind(group, device.to(LoopDevice.B), new Bouncer(LoopDevice.A, rounds));
        RdmaRawChannel first = device.bind(group, device.to(LoopDevice.A), new Bouncer(LoopDevice.B, rounds));
        first.writeAndFlush(LoopDevice.frame(LoopDevice.B, LoopDevice.A, 1, 64)).sync();
        Patience.whileProgress(rounds, "flights did not happen");
    }

    @Test
    void tasksWakeASleepingLoop() throws InterruptedException {
        open(1, 0);
        RdmaRawChannel channel = device.bind(group, device.to(LoopDevice.A), received);
        for (int i = 0; i < 5_000; i++) {
            CountDownLatch ran = new CountDownLatch(1);
            channel.eventLoop().execute(ran::countDown);
            assertTrue(ran.await(30, TimeUnit.SECONDS));
        }
    }

    /** An event that is not consumed would end each following sleep at once, so the loop would occupy a core. */
    @Test
    void loopSleepsAgainAfterFramesWokeIt() throws InterruptedException {
        open(1, 0);
        RdmaRawChannel channel = device.bind(group, device.to(LoopDevice.A), received);
        for (int i = 0; i < 100; i++) {
            channel.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64)).sync();
            received.takeFrame().release();
        }
        long before = sleeps(channel);
        channel.eventLoop().schedule(() -> { }, 300, TimeUnit.MILLISECONDS).sync();
        long slept = sleeps(channel) - before;
        assertTrue(slept <= MAX_SLEEPS_TO_A_TIMER, slept + " sleeps until a timer");
    }

    private long sleeps(RdmaRawChannel channel) throws InterruptedException {
        return channel.eventLoop().submit(() -> RdmaRawMetrics.loops().stream()
                .filter(loop -> loop.name().equals(Thread.currentThread().getName()))
                .mapToLong(loop -> loop.value(loop.metrics().stream().filter(metric -> metric.name().equals("sleeps"))
                        .findFirst().orElseThrow())).sum()).sync().getNow();
    }

    /** A blocked loop, as during a garbage collection, loses frames without a completion. The device counts them. */
    @Test
    void framesLostWhileTheLoopIsBlockedAreCounted() throws InterruptedException {
        int depth = 64;
        int sent = 4 * depth;
        group = new RdmaRawEventLoopGroup(2, RdmaRawIoHandlerConfig.builder().receiveQueueDepth(depth).slotCount(512)
                .build());
        AtomicInteger delivered = new AtomicInteger();
        RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object msg) {
                ReferenceCountUtil.release(msg);
                delivered.incrementAndGet();
            }
        });
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
        assertNotSame(receiver.eventLoop(), sender.eventLoop());
        CountDownLatch blocked = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        Future<Boolean> pause = receiver.eventLoop().submit(() -> {
            blocked.countDown();
            return release.await(Patience.SECONDS, TimeUnit.SECONDS);
        });
        assertTrue(blocked.await(Patience.SECONDS, TimeUnit.SECONDS));
        for (int i = 0; i < sent; i++) {
            sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64)).sync();
        }
        release.countDown();
        assertTrue(pause.sync().getNow(), "the loop was blocked for all sends");
        RdmaRawQueueStatistics queue = RdmaRawMetrics.loops().stream().flatMap(loop -> loop.queues().stream())
                .filter(each -> each.deviceName().equals(device.name)).findFirst().orElseThrow();
        RdmaRawMetric lost = queue.metrics().stream().filter(metric -> metric.name().equals("no-receive")).findFirst()
                .orElseThrow();
        Patience.until(() -> delivered.get() + queue.value(lost) == sent,
                "each of " + sent + " frames to be delivered or counted as lost");
        assertTrue(queue.value(lost) > 0, "the queue has " + depth + " receives");
    }

    @Test
    void aChannelMovesToAnotherLoopAndBack() throws InterruptedException {
        open(2, 0);
        RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
        EventLoop before = receiver.eventLoop();
        for (int i = 0; i < 20; i++) {
            receiver.deregister().sync();
            assertTrue(receiver.isActive());
            EventLoop next = group.next();
            while (next == receiver.eventLoop()) {
                next = group.next();
            }
            next.register(receiver).sync();
            assertSame(next, receiver.eventLoop());
            sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64)).sync();
            ByteBuf frame = received.takeFrame();
            assertEquals(i, LoopDevice.number(frame));
            frame.release();
        }
        assertSame(before, receiver.eventLoop());
        assertNotSame(null, receiver.deviceQueue());
    }

    @Test
    void flushedFramesAreSentAfterMove() throws InterruptedException {
        open(2, 0);
        device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
        EventLoop old = sender.eventLoop();
        sender.deregister().sync();
        EventLoop next = group.next() == old ? group.next() : old;
        old.submit(() -> {
            sender.unsafe().write(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 5, 64), sender.newPromise());
            sender.unsafe().flush();
        }).sync();
        next.register(sender).sync();
        ByteBuf frame = received.takeFrame();
        assertEquals(5, LoopDevice.number(frame));
        frame.release();
    }

    /** A TCP echo over NIO runs on the loops that serve the frames, both at the same time and without spinning. */
    @Test
    void nioChannelsRunOnTheSameLoops() throws InterruptedException {
        open(2, 0);
        CountDownLatch flights = new CountDownLatch(5_000);
        CountDownLatch bytes = new CountDownLatch(2_000);
        Channel server = new ServerBootstrap().group(group).channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object msg) {
                        ctx.writeAndFlush(msg);
                    }

                    @Override
                    public boolean isSharable() {
                        return true;
                    }
                }).bind(NetUtil.LOCALHOST, 0).sync().channel();
        Channel client = new Bootstrap().group(group).channel(NioSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object msg) {
                        ((ByteBuf) msg).release();
                        bytes.countDown();
                        ctx.writeAndFlush(Unpooled.wrappedBuffer(new byte[] {1}));
                    }
                }).connect(server.localAddress()).sync().channel();
        device.bind(group, device.to(LoopDevice.B), new Bouncer(LoopDevice.A, flights));
        RdmaRawChannel first = device.bind(group, device.to(LoopDevice.A), new Bouncer(LoopDevice.B, flights));
        client.writeAndFlush(Unpooled.wrappedBuffer(new byte[] {1}));
        first.writeAndFlush(LoopDevice.frame(LoopDevice.B, LoopDevice.A, 1, 64));
        Patience.whileProgress(bytes, "bytes did not come back");
        Patience.whileProgress(flights, "flights did not happen");
    }

    @Test
    void framesCanBeReleasedOnOtherThreadsAlsoAfterTheLoopsEnd() throws InterruptedException {
        open(1, 0);
        RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
        List<ByteBuf> kept = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64)).sync();
            kept.add(received.takeFrame());
        }
        kept.remove(0).release();
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        assertTrue(!receiver.isOpen() && !sender.isOpen());
        for (int i = 0; i < kept.size(); i++) {
            assertEquals(i + 1, LoopDevice.number(kept.get(i)), "a frame must outlive its loop");
            kept.get(i).release();
        }
    }

    /** A read requested on the old loop is served on the new loop, and not while the channel is deregistered. */
    @Test
    void pendingReadMovesWithChannel() throws InterruptedException {
        open(2, 0);
        RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received, false);
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
        sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 1, 64)).sync();
        EventLoop old = receiver.eventLoop();
        long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (old.submit(() -> receiver.deviceQueue().frameQueue().counters().receivedFrames).sync().getNow() == 0) {
            assertTrue(System.nanoTime() < endNanos, "the frame did not come in");
        }
        old.submit(() -> {
            receiver.deregister();
            receiver.read();
        }).sync();
        old.submit(() -> { }).sync();
        assertFalse(receiver.isRegistered());
        assertEquals(0, received.messages.size(), "a channel without a loop has fired a frame");
        EventLoop next = group.next() == old ? group.next() : old;
        next.register(receiver).sync();
        ByteBuf frame = received.takeFrame();
        assertEquals(1, LoopDevice.number(frame));
        frame.release();
    }
}
