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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** What handlers do wrong costs themselves at most: the loop, and the other channels on it, go on. */
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

    /** A frame in a slot of the loop, written on it. */
    private static ByteBuf registered(RdmaRawChannel channel, int number) {
        ByteBuf plain = frame(number);
        ByteBuf slot = channel.port().queue().slots().take().writeBytes(plain);
        plain.release();
        return slot;
    }

    private void expectFrame(int number) throws InterruptedException {
        ByteBuf frame = received.takeFrame();
        assertEquals(number, LoopDevice.number(frame));
        frame.release();
    }

    /** Released between write and flush: the frame is nobody's any more, and those around it go out. */
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

    /** Where nobody asks what became of the frames they are handed over together. */
    @Test
    void aReleasedSlotWithoutAPromiseIsLeftOut() throws InterruptedException {
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
        assertEquals(1, sender.port().queue().counters().releasedEarlyFrames());
    }

    /** Released once too often while the device sends it: the loop finds out when it releases it itself. */
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
        sender.eventLoop().submit(() -> sender.port().queue().reclaim()).awaitUninterruptibly();
        for (int i = 2; i < 200; i++) {
            sender.writeAndFlush(frame(i)).sync();
            expectFrame(i);
        }
        assertFalse(sender.eventLoop().isShuttingDown());
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
        RdmaRawPortStatistics port = sender.port().statistics();
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
        assertEquals(0, first.statistics().droppedWithoutRead(), "not-read");
        assertEquals(shared ? 1 : 4, port.unmatchedFrames, "no-channel");
    }
}
