package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultMaxBytesRecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.util.IllegalReferenceCountException;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.device.QueueStatistics;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Errors of a handler affect its own channel at most. The loop and the other channels on it continue. */
class RdmaRawChannelMisuseTest {
    private final LoopDevice device = LoopDevice.inMemory();
    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder()
            .receiveQueueDepth(256).sendQueueDepth(64).slotCount(1024).build());
    private final FrameQueueHandler received = new FrameQueueHandler();

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        received.messages.forEach(ReferenceCountUtil::release);
    }

    private static ByteBuf frame(int number) {
        return LoopDevice.frame(LoopDevice.A, LoopDevice.B, number, 64);
    }

    private RdmaRawChannel sender() {
        return device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
    }

    /** Returns a frame in a slot of the loop; called on the loop. */
    private static ByteBuf registered(RdmaRawChannel channel, int number) {
        ByteBuf plain = frame(number);
        ByteBuf slot = channel.deviceQueue().frameQueue().slots().acquire().writeBytes(plain);
        plain.release();
        return slot;
    }

    private void expectFrame(int number) throws InterruptedException {
        ByteBuf frame = received.takeFrame();
        assertEquals(number, LoopDevice.number(frame));
        frame.release();
    }

    /** A frame released between write and flush fails its own promise. The frames before and after it are sent. */
    @Test
    void aFrameThatWasReleasedBeforeTheFlushFailsItsPromiseAlone() throws InterruptedException {
        device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel sender = sender();
        List<ChannelFuture> writes = new ArrayList<>();
        sender.eventLoop().submit(() -> {
            List<ByteBuf> frames = List.of(registered(sender, 0), registered(sender, 1), frame(2), frame(3));
            frames.forEach(frame -> writes.add(sender.write(frame)));
            frames.get(0).release();
            frames.get(2).release();
            sender.flush();
        }).sync();
        for (int i = 0; i < 4; i++) {
            writes.get(i).awaitUninterruptibly();
            if (i % 2 == 0) {
                assertInstanceOf(IllegalReferenceCountException.class, writes.get(i).cause());
            } else {
                assertTrue(writes.get(i).isSuccess());
                expectFrame(i);
            }
        }
        sender.writeAndFlush(frame(4)).sync();
        expectFrame(4);
    }

    /** Frames with void promises are posted as a batch. A released one is left out and counted. */
    @Test
    void releasedSlotWithVoidPromiseIsLeftOut() throws InterruptedException {
        device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel sender = sender();
        sender.eventLoop().submit(() -> {
            List<ByteBuf> frames = List.of(registered(sender, 0), registered(sender, 1), registered(sender, 2));
            frames.forEach(frame -> sender.write(frame, sender.voidPromise()));
            frames.get(1).release();
            sender.flush();
        }).sync();
        expectFrame(0);
        expectFrame(2);
        assertEquals(1, sender.deviceQueue().frameQueue().counters().releasedEarlyFrames);
    }

    /**
     * The handler releases a frame once too often while the device sends it. The loop detects this when it releases the
     * frame itself.
     */
    @Test
    void aFrameThatIsReleasedWhileItIsSentDoesNotEndTheLoop() throws InterruptedException {
        device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel sender = sender();
        sender.eventLoop().submit(() -> {
            ByteBuf released = registered(sender, 0);
            sender.write(released);
            sender.write(registered(sender, 1));
            sender.flush();
            released.release();
        }).sync();
        received.takeFrame().release();
        expectFrame(1);
        sender.eventLoop().submit(() -> sender.deviceQueue().frameQueue().reclaim()).awaitUninterruptibly();
        for (int i = 2; i < 200; i++) {
            sender.writeAndFlush(frame(i)).sync();
            expectFrame(i);
        }
        assertFalse(sender.eventLoop().isShuttingDown());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anAllocatorThatThrowsDoesNotEndTheLoop(boolean error) throws InterruptedException {
        RdmaRawChannel bad = device.bind(group, device.to(LoopDevice.B), new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object msg) {
                ReferenceCountUtil.release(msg);
            }
        });
        bad.config().setRecvByteBufAllocator(new DefaultMaxBytesRecvByteBufAllocator() {
            @Override
            @SuppressWarnings("deprecation")
            public Handle newHandle() {
                if (error) {
                    throw new AssertionError("no handle today");
                }
                throw new IllegalStateException("no handle today");
            }
        });
        device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel sender = sender();
        ChannelPromise last = sender.newPromise();
        sender.eventLoop().submit(() -> {
            sender.write(LoopDevice.frame(LoopDevice.B, LoopDevice.A, 0, 64));
            sender.writeAndFlush(frame(1), last);
        }).sync();
        last.sync();
        expectFrame(1);
        sender.writeAndFlush(frame(2)).sync();
        expectFrame(2);
    }

    /** The handler closes its channel when it receives the first of several frames of one poll. */
    @Test
    void framesAfterHandlerClosesItsChannelCountAsUnmatched() throws InterruptedException {
        assertNoChannel(false);
    }

    /** The same, while another channel on the same rule receives each frame. */
    @Test
    void framesOfSharedRuleForClosedChannelCountAsUnmatched() throws InterruptedException {
        assertNoChannel(true);
    }

    private void assertNoChannel(boolean shared) throws InterruptedException {
        RdmaRawChannel first = device.bind(group, device.to(LoopDevice.A), new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object msg) {
                ReferenceCountUtil.release(msg);
                ctx.close();
            }
        });
        if (shared) {
            device.bind(group, device.to(LoopDevice.A), new ChannelInboundHandlerAdapter() {
                @Override
                public void channelRead(ChannelHandlerContext ctx, Object msg) {
                    first.close();
                    received.channelRead(ctx, msg);
                }
            });
        }
        RdmaRawChannel sender = sender();
        QueueStatistics queue = sender.deviceQueue().statistics();
        sender.eventLoop().submit(() -> {
            for (int i = 0; i < 5; i++) {
                sender.write(frame(i));
            }
            sender.flush();
        }).sync();
        first.closeFuture().sync();
        if (shared) {
            for (int i = 0; i < 5; i++) {
                expectFrame(i);
            }
        } else {
            device.bind(group, device.to(LoopDevice.B), received);
            sender.writeAndFlush(LoopDevice.frame(LoopDevice.B, LoopDevice.A, 9, 64)).sync();
            expectFrame(9);
        }
        assertEquals(0, first.statistics().droppedNotRead(), "not-read");
        assertEquals(shared ? 1 : 4, queue.undeliveredFrames, "no-channel");
    }

    /** The handler of the last frame of a poll closes another channel before the burst of that channel is fired. */
    @Test
    void aBurstThatAClosedChannelDidNotFireIsCounted() throws InterruptedException {
        RdmaRawChannel bursts = device.bind(group, device.to(LoopDevice.B), new ChannelInboundHandlerAdapter());
        bursts.config().setOption(RdmaRawChannelOption.FRAME_BURSTS, true);
        device.bind(group, device.to(LoopDevice.A), new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object msg) {
                bursts.close();
                received.channelRead(ctx, msg);
            }
        });
        RdmaRawChannel sender = sender();
        sender.eventLoop().submit(() -> {
            for (int i = 0; i < 3; i++) {
                sender.write(LoopDevice.frame(LoopDevice.B, LoopDevice.A, i, 64));
            }
            sender.writeAndFlush(frame(3));
        }).sync();
        expectFrame(3);
        sender.eventLoop().submit(() -> { }).sync();
        assertEquals(0, bursts.statistics().receivedFrames());
        assertEquals(3, bursts.statistics().droppedAtClose());
    }

    /** A rule is created in the place of another one while frames of the old rule are still being delivered. */
    @Test
    void ruleAddedInHandlerReceivesNoFramesOfPreviousRule() throws InterruptedException {
        BlockingQueue<ChannelFuture> bound = new LinkedBlockingQueue<>();
        device.bind(group, device.to(LoopDevice.A), new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object msg) {
                ReferenceCountUtil.release(msg);
                ctx.close();
                RdmaRawChannel next = new RdmaRawChannel();
                next.pipeline().addLast(received);
                group.register(next);
                bound.add(next.bind(device.to(LoopDevice.B)));
            }
        });
        RdmaRawChannel sender = sender();
        sender.eventLoop().submit(() -> {
            for (int i = 0; i < 5; i++) {
                sender.write(frame(i));
            }
            sender.flush();
        }).sync();
        FrameQueueHandler.take(bound, "channel").sync();
        sender.writeAndFlush(LoopDevice.frame(LoopDevice.B, LoopDevice.A, 9, 64)).sync();
        expectFrame(9);
    }

    /** Above the high water mark, frames pass through the outbound buffer, where a cancelled frame keeps its place. */
    @Test
    void cancelledWriteDoesNotDuplicateOthers() throws InterruptedException {
        device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel sender = sender();
        sender.config().setWriteBufferWaterMark(new WriteBufferWaterMark(1, 64));
        sender.eventLoop().submit(() -> {
            for (int i = 0; i < 6; i++) {
                ChannelFuture write = sender.write(frame(i));
                if (i == 3) {
                    assertTrue(write.cancel(false));
                }
            }
            sender.flush();
        }).sync();
        for (int i : new int[] {0, 1, 2, 4, 5}) {
            expectFrame(i);
        }
        sender.writeAndFlush(frame(6)).sync();
        expectFrame(6);
    }
}
