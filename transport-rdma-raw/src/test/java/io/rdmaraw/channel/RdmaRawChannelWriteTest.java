package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.channel.loop.LoopTurn;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.queue.QueueCounters;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.FrameReceiver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.CountDownLatch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

class RdmaRawChannelWriteTest {
    private final LoopDevice device = new LoopDevice();
    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(2, RdmaRawIoHandlerConfig.builder()
            .receiveQueueDepth(8192).sendQueueDepth(64).slotCount(16384).build());
    private final FrameQueueHandler received = new FrameQueueHandler();
    private RdmaRawChannel sender;

    @BeforeEach
    void bind() {
        device.bind(group, device.to(LoopDevice.A), received);
        sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
    }

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        received.messages.forEach(ReferenceCountUtil::release);
    }

    private <T> T onLoop(Callable<T> task) throws Exception {
        return sender.eventLoop().submit(task).sync().getNow();
    }

    private QueueCounters counters() {
        return sender.deviceQueue().frameQueue().counters();
    }

    /** Returns a frame in a slot of the sender's loop. */
    private ByteBuf registered(int number, int lengthBytes) throws Exception {
        return onLoop(() -> {
            ByteBuf plain = LoopDevice.frame(LoopDevice.A, LoopDevice.B, number, lengthBytes);
            FrameBuf slot = sender.deviceQueue().frameQueue().slots().acquire();
            slot.writeBytes(plain);
            plain.release();
            return slot;
        });
    }

    private void expect(ByteBuf expected) throws InterruptedException {
        ByteBuf frame = received.takeFrame();
        assertEquals(ByteBufUtil.hexDump(expected), ByteBufUtil.hexDump(frame));
        frame.release();
        expected.release();
    }

    /** The frame may arrive before the device has written the completion of its send. */
    private void awaitReclaimed(ByteBuf sent) throws Exception {
        long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (sent.refCnt() > 0) {
            onLoop(() -> sender.deviceQueue().frameQueue().reclaim());
            assertTrue(System.nanoTime() < endNanos, "the completion of the send did not come");
        }
    }

    @Test
    void registeredMemoryIsSentInPlaceAndReleasedWhenSent() throws Exception {
        ByteBuf frame = registered(1, 100);
        ByteBuf expected = frame.copy();
        sender.writeAndFlush(frame).sync();
        expect(expected);
        awaitReclaimed(frame);
        assertEquals(0, counters().copiedInFrames);
    }

    @Test
    void aSliceOfRegisteredMemoryIsSentInPlace() throws Exception {
        ByteBuf whole = registered(2, 200);
        ByteBuf padded = onLoop(() -> sender.deviceQueue().frameQueue().slots().acquire());
        padded.writeZero(50).writeBytes(whole);
        whole.release();
        ByteBuf slice = padded.retainedSlice(50, 200);
        padded.release();
        ByteBuf expected = slice.copy();
        sender.writeAndFlush(slice).sync();
        expect(expected);
        assertEquals(0, counters().copiedInFrames);
    }

    /**
     * The device may read the frame after the write has completed, when the other holder of the buffer may change it.
     */
    @Test
    void frameWithAnotherHolderIsCopied() throws Exception {
        ByteBuf held = registered(2, 200);
        ByteBuf expected = held.copy();
        assertEquals(1, onLoop(() -> {
            sender.writeAndFlush(held.retainedDuplicate());
            return held.refCnt();
        }), "references while the device has not reported the frame");
        expect(expected);
        assertEquals(1, counters().copiedInFrames);
        held.release();
    }

    @Test
    void unregisteredMemoryIsCopiedOnceAndCounted() throws Exception {
        ByteBuf direct = Unpooled.directBuffer().writeBytes(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 3, 80));
        ByteBuf expected = direct.copy();
        sender.writeAndFlush(direct).sync();
        expect(expected);
        assertEquals(1, counters().copiedInFrames);
        assertEquals(0, direct.refCnt());
    }

    @Test
    void memoryAllocatedOnLoopIsRegistered() throws Exception {
        ByteBuf frame = onLoop(() -> {
            ByteBuf allocated = sender.alloc().buffer(70);
            ByteBuf plain = LoopDevice.frame(LoopDevice.A, LoopDevice.B, 3, 70);
            allocated.writeBytes(plain);
            plain.release();
            return allocated;
        });
        ByteBuf expected = frame.copy();
        sender.writeAndFlush(frame).sync();
        expect(expected);
        assertEquals(0, counters().copiedInFrames);
        sender.alloc().buffer(70).release();
    }

    @Test
    void aCompositeOfRegisteredPartsIsGatheredByTheDevice() throws Exception {
        ByteBuf header = registered(4, 64);
        ByteBuf payload = registered(5, 300);
        CompositeByteBuf composite = Unpooled.compositeBuffer().addComponents(true, header, payload);
        ByteBuf expected = composite.copy();
        sender.writeAndFlush(composite).sync();
        expect(expected);
        assertEquals(0, counters().copiedInFrames);
        assertEquals(0, counters().coalescedFrames);
    }

    @Test
    void compositeWithIndicesInsideItsPartsIsGathered() throws Exception {
        ByteBuf waste = registered(6, 100);
        ByteBuf header = registered(7, 64);
        ByteBuf payload = registered(8, 300);
        CompositeByteBuf composite = Unpooled.compositeBuffer().addComponents(true, waste, header, payload);
        composite.readerIndex(100).writerIndex(100 + 64 + 120);
        ByteBuf expected = composite.copy();
        sender.writeAndFlush(composite).sync();
        expect(expected);
        assertEquals(0, counters().coalescedFrames);
    }

    @Test
    void aCompositeOfMorePartsThanTheDeviceGathersIsCopiedTogether() throws Exception {
        CompositeByteBuf composite = Unpooled.compositeBuffer();
        composite.addComponent(true, registered(9, 64));
        for (int i = 0; i < 30; i++) {
            composite.addComponent(true, registered(i, 20));
        }
        ByteBuf expected = composite.copy();
        sender.writeAndFlush(composite).sync();
        expect(expected);
        assertEquals(1, counters().coalescedFrames);
    }

    /** The send queue holds 64 frames. The others wait in the outbound buffer. */
    @Test
    void writesBeyondTheSendQueueKeepTheirOrderAndCompleteTheirPromises() throws Exception {
        List<ChannelFuture> futures = new ArrayList<>();
        onLoop(() -> {
            for (int i = 0; i < 3000; i++) {
                futures.add(sender.write(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64)));
            }
            assertFalse(sender.isWritable(), "3000 frames are beyond every watermark");
            sender.flush();
            return null;
        });
        for (ChannelFuture future : futures) {
            future.sync();
        }
        for (int i = 0; i < 3000; i++) {
            ByteBuf frame = received.takeFrame();
            assertEquals(i, LoopDevice.number(frame));
            frame.release();
        }
        assertTrue(onLoop(sender::isWritable));
    }

    @Test
    void aBurstMessageIsSentInOrderWithOnePromise() throws Exception {
        FrameBurst burst = new FrameBurst();
        for (int i = 0; i < FrameBurst.MAX_FRAMES; i++) {
            burst.add(registered(i, 70));
        }
        sender.writeAndFlush(burst).sync();
        for (int i = 0; i < FrameBurst.MAX_FRAMES; i++) {
            ByteBuf frame = received.takeFrame();
            assertEquals(i, LoopDevice.number(frame));
            frame.release();
        }
        assertEquals(0, burst.refCnt());
    }

    @Test
    void unflushedWritesFailAtClose() throws Exception {
        ByteBuf frame = registered(1, 64);
        ChannelPromise promise = sender.newPromise();
        onLoop(() -> {
            sender.write(frame, promise);
            sender.close();
            return null;
        });
        assertInstanceOf(ClosedChannelException.class, promise.await().cause());
        assertEquals(0, frame.refCnt());
    }

    @Test
    void aCancelledWriteIsNotSent() throws Exception {
        ByteBuf frame = registered(1, 64);
        ChannelPromise promise = sender.newPromise();
        onLoop(() -> {
            sender.write(frame, promise);
            promise.cancel(false);
            sender.flush();
            return null;
        });
        assertEquals(0, frame.refCnt());
        sender.writeAndFlush(registered(2, 64)).sync();
        ByteBuf only = received.takeFrame();
        assertEquals(2, LoopDevice.number(only));
        only.release();
    }

    @Test
    void aListenerMayCloseTheChannelInTheMiddleOfAFlush() throws Exception {
        List<ChannelFuture> futures = new ArrayList<>();
        onLoop(() -> {
            for (int i = 0; i < 200; i++) {
                futures.add(sender.write(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64)));
            }
            futures.get(10).addListener(future -> sender.close());
            sender.flush();
            return null;
        });
        int sent = 0;
        for (ChannelFuture future : futures) {
            assertTrue(future.await(30, TimeUnit.SECONDS), "a promise was forgotten");
            sent += future.isSuccess() ? 1 : 0;
        }
        assertTrue(sent > 10 && sent < 200, sent + " sent");
        for (int i = 0; i < sent; i++) {
            ByteBuf frame = received.takeFrame();
            assertEquals(i, LoopDevice.number(frame));
            frame.release();
        }
    }

    @Test
    void aListenerMayWriteAndFlushInTheMiddleOfAFlush() throws Exception {
        onLoop(() -> {
            for (int i = 0; i < 70; i++) {
                int number = 1000 + i;
                sender.write(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64)).addListener(future ->
                        sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, number, 64)));
            }
            sender.flush();
            return null;
        });
        for (int i = 0; i < 140; i++) {
            ByteBuf frame = received.takeFrame();
            assertEquals(i < 70 ? i : 930 + i, LoopDevice.number(frame));
            frame.release();
        }
    }

    /** The memory of the frame is registered with another device. */
    @Test
    void aFrameOfAnotherDeviceIsCopied() throws Exception {
        LoopDevice otherDevice = LoopDevice.inMemory();
        RdmaRawChannel other = otherDevice.bind(group, otherDevice.sendOnly(), new ChannelInboundHandlerAdapter());
        ByteBuf frame = other.eventLoop().submit(() ->
                (ByteBuf) other.deviceQueue().frameQueue().slots().acquire()).sync().getNow();
        ByteBuf plain = LoopDevice.frame(LoopDevice.A, LoopDevice.B, 77, 90);
        frame.writeBytes(plain);
        plain.release();
        ByteBuf expected = frame.copy();
        sender.writeAndFlush(frame).sync();
        expect(expected);
        assertEquals(1, counters().copiedInFrames);
    }

    @Test
    void otherMessagesAreRefusedWithAnExplanation() {
        ChannelFuture future = sender.writeAndFlush("text").awaitUninterruptibly();
        assertInstanceOf(UnsupportedOperationException.class, future.cause());
        assertTrue(future.cause().getMessage().contains("ByteBuf"));
        assertTrue(sender.isActive());
    }

    /** The completion that makes room may have been polled before the loop goes to sleep. */
    @Test
    void loopDoesNotSleepIfWaitingSenderHasRoom() throws Exception {
        CountDownLatch called = new CountDownLatch(1);
        FrameReceiver waiting = new FrameReceiver() {
            @Override
            public boolean receive(ByteBuf frame, boolean checksumVerified) {
                frame.release();
                return false;
            }

            @Override
            public void endBurst() {
            }

            @Override
            public void onSendRoom() {
                called.countDown();
            }
        };
        onLoop(() -> {
            sender.deviceQueue().notifyWhenRoom(waiting);
            LoopTurn turn = new LoopTurn();
            turn.setDeviceQueues(new DeviceQueue[] {sender.deviceQueue()});
            assertTrue(turn.nextDeadlineNanos() - System.nanoTime() <= 0, "the turn is due");
            turn.run();
            assertFalse(turn.hasPendingDelivery());
            return null;
        });
        assertTrue(called.await(Patience.SECONDS, TimeUnit.SECONDS));
    }
}
