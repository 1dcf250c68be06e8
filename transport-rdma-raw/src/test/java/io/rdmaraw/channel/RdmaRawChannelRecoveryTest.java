package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.RecoveryRateLimiter;
import io.rdmaraw.faults.SoftverbsFaults;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.memory.Slab;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.verbs.objects.QueuePair;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** After a device fault the channels continue and are notified, and lost frames are counted. */
class RdmaRawChannelRecoveryTest {
    /** {@code enum ibv_wc_status}. */
    private static final int IBV_WC_LOC_LEN_ERR = 1;
    private static final int IBV_WC_LOC_PROT_ERR = 4;
    private static final int IBV_WC_GENERAL_ERR = 21;
    private static final int AT_FDCWD = -100;

    private final LoopDevice device = new LoopDevice();
    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(2);
    private final FrameQueueHandler received = new FrameQueueHandler();
    private final FrameQueueHandler sent = new FrameQueueHandler();
    private RdmaRawChannel receiver;
    private RdmaRawChannel sender;
    private SharedDevice shared;
    private DeviceFaults faults;

    @BeforeEach
    void bind() {
        shared = SharedDevice.acquire(device.name);
        faults = DeviceFaults.of(shared.context());
        receiver = device.bind(group, device.to(LoopDevice.A), received);
        sender = device.bind(group, device.sendOnly(), sent);
    }

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        received.messages.forEach(ReferenceCountUtil::release);
        shared.release();
        faults.restore();
    }

    private static QueuePair queuePair(RdmaRawChannel channel) {
        return queueOf(channel).queuePair();
    }

    private void sendAndExpect(int number) throws InterruptedException {
        sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, number, 64)).sync();
        ByteBuf frame = received.takeFrame();
        assertEquals(number, LoopDevice.number(frame));
        frame.release();
    }

    private void sendAndExpectAfterOthers(int number) throws InterruptedException {
        sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, number, 64)).sync();
        int last;
        do {
            ByteBuf frame = received.takeFrame();
            last = LoopDevice.number(frame);
            frame.release();
        } while (last != number);
    }

    private static void expectRecovery(FrameQueueHandler handler) throws InterruptedException {
        RdmaRawQueueEvent event;
        do {
            event = (RdmaRawQueueEvent) handler.takeEvent();
        } while (event.kind() != RdmaRawQueueEvent.Kind.QUEUE_RECOVERED);
    }

    @ParameterizedTest
    @ValueSource(ints = {IBV_WC_LOC_PROT_ERR, IBV_WC_GENERAL_ERR})
    void aFailedSendIsRecoveredInPlace(int status) throws InterruptedException {
        sendAndExpect(1);
        faults.failNextCompletion(queueOf(sender), false, status);
        sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 2, 64)).sync();
        expectRecovery(sent);
        assertTrue(sender.isActive());
        assertEquals(1, sender.deviceQueue().frameQueue().counters().sendErrors);
        assertEquals(1, sender.deviceQueue().frameQueue().counters().recoveries);
        sendAndExpect(3);
    }

    @Test
    void aFailedReceiveIsRecoveredInPlaceAndItsSlotsComeBack() throws InterruptedException {
        sendAndExpect(1);
        for (int i = 0; i < 20; i++) {
            faults.failNextCompletion(queueOf(receiver), true, IBV_WC_LOC_PROT_ERR);
            sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 2, 64)).sync();
            expectRecovery(received);
            sendAndExpect(3 + i);
        }
        assertEquals(20, receiver.deviceQueue().frameQueue().counters().receiveErrors);
        expectAllSlotsBack(receiver);
    }

    /**
     * Errors that affect a single frame, for instance one longer than its slot. The test causes more of them than the
     * queue has slots.
     */
    @ParameterizedTest
    @ValueSource(ints = {IBV_WC_LOC_LEN_ERR, IBV_WC_GENERAL_ERR})
    void anErrorOfOneFrameIsCountedAndStopsNothing(int status) throws InterruptedException {
        sendAndExpect(0);
        int errors = receiver.deviceQueue().frameQueue().slots().bufferCount() + 100;
        for (int i = 1; i <= errors; i++) {
            faults.failNextCompletion(queueOf(receiver), true, status);
            sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 2, 64)).sync();
            sendAndExpect(i);
        }
        assertEquals(errors, receiver.deviceQueue().frameQueue().counters().receiveErrors);
        assertEquals(0, receiver.deviceQueue().frameQueue().counters().recoveries);
        expectAllSlotsBack(receiver);
    }

    @Test
    void aQueuePairThatFailsByItselfIsRecoveredInPlace() throws InterruptedException {
        sendAndExpect(1);
        for (int i = 0; i < 5; i++) {
            faults.failQueuePair(queuePair(receiver));
            expectRecovery(received);
            faults.failQueuePair(queuePair(sender));
            expectRecovery(sent);
            sendAndExpect(2 + i);
        }
        assertTrue(receiver.isActive() && sender.isActive());
    }

    @Test
    void receiveOverrunIsRecoveredAndLostFramesAreCounted() throws InterruptedException {
        sendAndExpect(0);
        long lostBefore = faults.lostFrames();
        long sentFrames = 0;
        for (int round = 0; round < 5; round++) {
            // Some frames have been received but not polled when the queue overruns. They are not lost.
            sentFrames += sendBurst(70);
            faults.overrunCompletions(queueOf(receiver), true);
            sentFrames += sendBurst(20);
            expectRecovery(received);
        }
        expectEveryFrameReceivedOrCounted(sentFrames, lostBefore);
        assertTrue(receiver.isActive());
        assertTrue(receiver.deviceQueue().frameQueue().counters().recoveries >= 5);
        sendAndExpectAfterOthers(1000);
        expectAllSlotsBack(receiver);
    }

    /** The device counts frames that found no receive; the sender's queue counts frames it could not send. */
    private void expectEveryFrameReceivedOrCounted(long sentFrames, long lostBefore) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        long receivedFrames = 0;
        long lost;
        do {
            lost = faults.lostFrames() - lostBefore + sender.deviceQueue().frameQueue().counters().lostInFlightFrames;
            Object frame = received.messages.poll(1, TimeUnit.MILLISECONDS);
            if (frame != null) {
                receivedFrames++;
                ReferenceCountUtil.release(frame);
            }
        } while (receivedFrames + lost != sentFrames && System.nanoTime() < deadline);
        assertEquals(sentFrames, receivedFrames + lost);
    }

    @Test
    void aReceivingQueuePairThatFailsUnderLoadLosesNoFrameUncounted() throws InterruptedException {
        sendAndExpect(0);
        long lostBefore = faults.lostFrames();
        long sentFrames = 0;
        for (int round = 0; round < 5; round++) {
            sentFrames += sendBurst(70);
            faults.failQueuePair(queuePair(receiver));
            sentFrames += sendBurst(20);
            expectRecovery(received);
        }
        expectEveryFrameReceivedOrCounted(sentFrames, lostBefore);
        sendAndExpectAfterOthers(1000);
        expectAllSlotsBack(receiver);
    }

    @Test
    void aSendingQueuePairThatFailsUnderLoadLosesNoFrameUncounted() throws InterruptedException {
        sendAndExpect(0);
        long lostBefore = faults.lostFrames();
        long sentFrames = 0;
        for (int round = 0; round < 5; round++) {
            sentFrames += sendBurst(70);
            faults.failQueuePair(queuePair(sender));
            expectRecovery(sent);
            sentFrames += sendBurst(20);
        }
        expectEveryFrameReceivedOrCounted(sentFrames, lostBefore);
        sendAndExpectAfterOthers(1000);
        expectAllSlotsBack(sender);
    }

    @Test
    void framesSentWhileThePortIsDownAreCounted() throws InterruptedException {
        sendAndExpect(0);
        long lostBefore = faults.lostFrames();
        faults.setPortUp(false);
        assertEquals(RdmaRawQueueEvent.Kind.PORT_DOWN, ((RdmaRawQueueEvent) received.takeEvent()).kind());
        sendBurst(50);
        expectEveryFrameReceivedOrCounted(50, lostBefore);
        assertEquals(50, faults.lostFrames() - lostBefore);
        faults.setPortUp(true);
        sendAndExpect(1);
        assertTrue(receiver.isActive() && sender.isActive());
    }

    @Test
    void sendOverrunIsRecoveredAndLostFramesAreCounted() throws InterruptedException {
        for (int round = 0; round < 5; round++) {
            faults.overrunCompletions(queueOf(sender), false);
            sendBurst(100);
            expectRecovery(sent);
            sendAndExpectAfterOthers(1000 + round);
        }
        assertTrue(sender.isActive());
        assertTrue(sender.deviceQueue().frameQueue().counters().lostInFlightFrames <= 500);
        expectAllSlotsBack(sender);
    }

    private static FrameQueue queueOf(RdmaRawChannel channel) {
        return channel.deviceQueue().frameQueue();
    }

    private int sendBurst(int frames) throws InterruptedException {
        ChannelFuture last = null;
        for (int i = 0; i < frames; i++) {
            last = sender.write(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64));
        }
        sender.flush();
        last.sync();
        return frames;
    }

    private static void expectAllSlotsBack(RdmaRawChannel channel) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        int missing;
        do {
            missing = LoopDevice.slotsMissing(channel);
        } while (missing > 0 && System.nanoTime() < deadline);
        assertEquals(0, missing, "slots lost");
    }

    /** The completion queue has wrapped many times by then. libmlx5's own consumer index must not matter. */
    @Test
    void aReceiveThatFailsAfterManyFramesIsRecoveredInPlace() throws InterruptedException {
        int number = 0;
        for (int round = 0; round < 4; round++) {
            for (int burst = 0; burst < 50; burst++) {
                sendBurst(64);
                takeFrames(64);
            }
            faults.failNextCompletion(queueOf(receiver), true, IBV_WC_LOC_PROT_ERR);
            sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 2, 64)).sync();
            expectRecovery(received);
            sendAndExpect(number++);
        }
        assertEquals(4, receiver.deviceQueue().frameQueue().counters().receiveErrors);
        assertEquals(4, receiver.deviceQueue().frameQueue().counters().recoveries);
        expectAllSlotsBack(receiver);
    }

    private void takeFrames(int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            received.takeFrame().release();
        }
    }

    @Test
    @Tag("softverbs")
    void repeatedFailuresAreRecoveredAtLimitedRate() throws InterruptedException {
        int failures = 4 * RecoveryRateLimiter.BURST;
        long start = System.nanoTime();
        for (int i = 0; i < failures; i++) {
            faults.failQueuePair(queuePair(receiver));
            expectRecovery(received);
        }
        long least = (failures - RecoveryRateLimiter.BURST) * RecoveryRateLimiter.INTERVAL_NANOS;
        assertTrue(System.nanoTime() - start >= least, "recovered faster than the pace allows");
        sendAndExpect(1);
    }

    @Test
    void channelsAreNotifiedOfLinkChanges() throws InterruptedException {
        faults.setPortUp(false);
        assertEquals(RdmaRawQueueEvent.Kind.PORT_DOWN, ((RdmaRawQueueEvent) received.takeEvent()).kind());
        faults.setPortUp(true);
        assertEquals(RdmaRawQueueEvent.Kind.PORT_UP, ((RdmaRawQueueEvent) received.takeEvent()).kind());
        sendAndExpect(1);
    }

    @Test
    void removedDeviceClosesItsChannels() throws InterruptedException {
        faults.failDevice();
        assertEquals(RdmaRawQueueEvent.Kind.DEVICE_REMOVED, ((RdmaRawQueueEvent) received.takeEvent()).kind());
        assertTrue(receiver.closeFuture().await(30, TimeUnit.SECONDS));
        assertTrue(sender.closeFuture().await(30, TimeUnit.SECONDS));
        ChannelFuture refused = sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 1, 64));
        assertTrue(refused.await(30, TimeUnit.SECONDS) && !refused.isSuccess(), "a closed channel takes no frames");
    }

    /** The completion channel of a removed device fails with EIO, which can precede the event of the removal. */
    @Test
    void completionChannelOfRemovedDeviceEndsItsChannels() throws InterruptedException {
        DeviceQueue queue = receiver.deviceQueue();
        receiver.eventLoop().submit(() -> {
            faults.failDevice();
            queue.pollCompletionEvent();
        }).sync();
        assertTrue(receiver.closeFuture().await(30, TimeUnit.SECONDS));
        assertTrue(sender.closeFuture().await(30, TimeUnit.SECONDS));
    }

    /**
     * The asynchronous events of a removed device cannot be read either. The queue that notices it closes its channels,
     * and another loop notices it itself.
     */
    @Test
    @Tag("softverbs")
    void deviceWithoutEventsEndsItsChannels() throws Exception {
        DeviceQueue queue = receiver.deviceQueue();
        int failing = openFailing();
        try (WarningsOf log = new WarningsOf(DeviceQueue.class)) {
            receiver.eventLoop().submit(() -> {
                Libc.replace(shared.context().asyncFd(), failing);
                Libc.replace(queue.completionChannel().fd(), failing);
                queue.pollCompletionEvent();
                assertNotSame(shared, acquireAndRelease(device.name), "the device of a new channel");
            }).sync();
            assertTrue(receiver.closeFuture().await(30, TimeUnit.SECONDS));
            String failure = device.name + " port 1: the device has failed or was removed, and its events cannot be"
                    + " read; its channels are closed";
            assertEquals(List.of(failure), log.messages().stream().filter(failure::equals).toList());
            StreamFixture.settle(sender.eventLoop());
            assertTrue(sender.closeFuture().await(30, TimeUnit.SECONDS));
            assertEquals(2, log.messages().size(), () -> "not one for each queue: " + log.messages());
        } finally {
            Libc.close(failing);
        }
    }

    /** Opens a file that cannot be read from the start: EIO. */
    private static int openFailing() {
        try (Arena arena = Arena.ofConfined()) {
            return NativeCall.intValue(Libc.address("openat"), AT_FDCWD, arena.allocateFrom("/proc/self/mem").address(),
                    0, 0);
        }
    }

    private static SharedDevice acquireAndRelease(String name) {
        SharedDevice acquired = SharedDevice.acquire(name);
        acquired.release();
        return acquired;
    }

    /** A program may end as soon as its channels are closed. */
    @Test
    void removedDeviceIsLoggedBeforeItsChannelsClose() throws InterruptedException {
        BlockingQueue<List<String>> lines = new LinkedBlockingQueue<>();
        try (WarningsOf device = new WarningsOf(SharedDevice.class)) {
            receiver.closeFuture().addListener(closed -> lines.add(List.copyOf(device.messages())));
            faults.failDevice();
            List<String> logged = lines.poll(30, TimeUnit.SECONDS);
            assertEquals(1, logged.stream().filter(line -> line.endsWith(
                    ": the device has failed or was removed; its channels are closed")).count(), logged.toString());
        }
    }

    @Test
    void memoryOfRemovedDeviceIsFreedWithLastFrame() throws InterruptedException {
        sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 7, 64)).sync();
        ByteBuf kept = received.takeFrame();
        faults.failDevice();
        assertTrue(receiver.closeFuture().await(30, TimeUnit.SECONDS));
        assertTrue(sender.closeFuture().await(30, TimeUnit.SECONDS));
        assertEquals(7, LoopDevice.number(kept), "a frame outlives its device");
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        int held = Slab.heldSlabCount();
        kept.release();
        assertEquals(held - 1, Slab.heldSlabCount(), "closed slabs whose memory is not back");
    }

    @Test
    @Tag("softverbs")
    void aRefusedFrameFailsItsPromiseAlone() throws InterruptedException {
        // A queue pair rejects sends until it is ready to send.
        queuePair(sender).toReset();
        ChannelFuture refused = sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 1, 64));
        assertFalse(refused.await().isSuccess());
        assertTrue(refused.cause().getMessage().contains("EINVAL"), refused.cause().getMessage());
        assertEquals(1, sender.deviceQueue().frameQueue().counters().refusedFrames);
        queuePair(sender).toInit(1);
        queuePair(sender).toReadyToReceive();
        queuePair(sender).toReadyToSend();
        sendAndExpect(2);
    }

    @Test
    @Tag("softverbs")
    void missingPrivilegeMemoryAndRuleSpaceAreExplained() {
        SoftverbsFaults softverbs = SoftverbsFaults.of(shared.context());
        softverbs.setRawPacketError(Errno.EPERM);
        String message = failToBindElsewhere();
        assertTrue(message.contains("CAP_NET_RAW"), message);
        softverbs.setRawPacketError(0);
        softverbs.setMemlockLimit(65536);
        message = failToBindElsewhere();
        assertTrue(message.contains("memlock"), message);
        softverbs.setMemlockLimit(0);
        softverbs.setFlowCapacity(1);
        ChannelFuture full = new Bootstrap().group(group).channel(RdmaRawChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).bind(device.to(LoopDevice.B)).awaitUninterruptibly();
        assertTrue(full.cause().getMessage().contains("ENOMEM"), full.cause().getMessage());
        assertTrue(receiver.isActive() && sender.isActive());
    }

    /** Binds on a loop that has no queue on the device yet, and returns the error. */
    private String failToBindElsewhere() {
        RdmaRawEventLoopGroup other = new RdmaRawEventLoopGroup(1);
        try {
            ChannelFuture future = new Bootstrap().group(other).channel(RdmaRawChannel.class)
                    .handler(new ChannelInboundHandlerAdapter()).bind(device.sendOnly()).awaitUninterruptibly();
            return future.cause().getMessage();
        } finally {
            other.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }
}
