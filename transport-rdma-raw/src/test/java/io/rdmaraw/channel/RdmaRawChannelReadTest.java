package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.queue.QueueCounters;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

class RdmaRawChannelReadTest {
    private static final int SLOTS = 1024;

    private final LoopDevice device = new LoopDevice();
    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder()
            .receiveQueueDepth(256).sendQueueDepth(256).slotCount(SLOTS).build());
    private final FrameQueueHandler received = new FrameQueueHandler();
    private long sent;

    @AfterEach
    void shutDown() {
        received.messages.forEach(ReferenceCountUtil::release);
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private RdmaRawChannel sender() {
        return device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
    }

    /** Sends frames and waits until the loop, which is also the receiver's, has delivered them. */
    private void send(RdmaRawChannel sender, int firstNumber, int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, firstNumber + i, 64)).sync();
        }
        sent += count;
        awaitReceived(sender, sent);
    }

    /** The sender's queue is also the receiver's, since both channels are on one loop. */
    private static void awaitReceived(RdmaRawChannel channel, long frames) throws InterruptedException {
        long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (channel.eventLoop().submit(() ->
                channel.deviceQueue().frameQueue().counters().receivedFrames).sync().getNow() < frames) {
            assertTrue(System.nanoTime() < endNanos, "the frames sent did not come in");
        }
    }

    @Test
    void withoutAutoReadEachReadDeliversOneFrame() throws InterruptedException {
        RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received, false);
        send(sender(), 0, 5);
        assertEquals(0, received.messages.size());
        for (int i = 0; i < 5; i++) {
            receiver.read();
            ByteBuf frame = received.takeFrame();
            assertEquals(i, LoopDevice.number(frame));
            frame.release();
            receiver.eventLoop().submit(() -> { }).sync();
            assertEquals(0, received.messages.size(), "one read, one frame");
        }
    }

    @Test
    void unreadFramesAreKeptUpToBacklogThenCounted() throws InterruptedException {
        RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received, false);
        receiver.config().setReceiveBacklog(10);
        send(sender(), 0, 15);
        assertEquals(5, receiver.statistics().droppedNotRead());
        receiver.config().setAutoRead(true);
        for (int i = 0; i < 10; i++) {
            ByteBuf frame = received.takeFrame();
            assertEquals(i, LoopDevice.number(frame));
            frame.release();
        }
    }

    @Test
    void burstsCarryAllFramesInOrder() throws InterruptedException {
        RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received);
        receiver.config().setOption(RdmaRawChannelOption.FRAME_BURSTS, true);
        RdmaRawChannel sender = sender();
        for (int i = 0; i < 200; i++) {
            sender.write(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64));
        }
        sender.flush();
        int expected = 0;
        while (expected < 200) {
            FrameBurst burst = (FrameBurst) FrameQueueHandler.take(received.messages, "burst");
            assertTrue(burst.size() > 0 && burst.size() <= FrameBurst.MAX_FRAMES);
            for (int i = 0; i < burst.size(); i++) {
                assertEquals(expected++, LoopDevice.number(burst.frame(i)));
            }
            burst.release();
        }
    }

    /** The handler keeps every frame. Their number is three times the number of slots. */
    @Test
    void aHandlerThatKeepsFramesNeitherStopsTheLoopNorLosesFrames() throws InterruptedException {
        RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel sender = sender();
        List<ByteBuf> kept = new ArrayList<>();
        for (int sent = 0; sent < 3 * SLOTS; sent += 128) {
            for (int i = 0; i < 128; i++) {
                sender.write(LoopDevice.frame(LoopDevice.A, LoopDevice.B, sent + i, 64));
            }
            sender.flush();
            for (int i = 0; i < 128; i++) {
                kept.add(received.takeFrame());
            }
        }
        for (int i = 0; i < kept.size(); i++) {
            assertEquals(i, LoopDevice.number(kept.get(i)), "what was kept must not be overwritten");
        }
        QueueCounters counters = receiver.deviceQueue().frameQueue().counters();
        assertTrue(counters.copiedOutFrames > 0, "copies must be counted");
        kept.forEach(ByteBuf::release);
        // A frame may arrive before the device has completed its send, which holds a slot too.
        Patience.until(() -> LoopDevice.slotsMissing(receiver) == 0, "every slot that was kept to be free again");
    }

    @Test
    void twoChannelsOfOneRuleGetEveryFrame() throws InterruptedException {
        FrameQueueHandler second = new FrameQueueHandler();
        device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel other = device.bind(group, device.to(LoopDevice.A), second);
        send(sender(), 7, 1);
        ByteBuf first = received.takeFrame();
        ByteBuf copy = second.takeFrame();
        assertEquals(7, LoopDevice.number(first));
        assertEquals(7, LoopDevice.number(copy));
        first.release();
        assertEquals(7, LoopDevice.number(copy));
        copy.release();
        other.close().sync();
        send(sender(), 8, 1);
        ByteBuf last = received.takeFrame();
        assertEquals(8, LoopDevice.number(last));
        last.release();
        assertSame(null, second.messages.poll());
    }
}
