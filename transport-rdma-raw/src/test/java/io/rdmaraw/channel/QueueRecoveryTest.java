package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.queue.QueueFixture;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.Flow;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.RssOptions;
import io.rdmaraw.verbs.objects.RwqIndirectionTable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;


/** Frames that a queue has received but not polled when it is reset. */
class QueueRecoveryTest {
    private final LoopDevice loop = new LoopDevice();
    private final SharedDevice device = SharedDevice.acquire(loop.name);
    private final DeviceFaults faults = DeviceFaults.of(device.context());
    private final CompletionChannel channel = device.context().createCompletionChannel();
    private final FrameQueue sender = open(StridingReceive.NEVER);
    private final ReceiveBurst burst = new ReceiveBurst();
    private FrameQueue receiver;

    private FrameQueue open(StridingReceive striding) {
        return FrameQueue.open(device, device.context().ownPort(), channel,
                new FrameQueueOptions(256, 256, 8, 1024, 2048, DirectAccess.ofProperty(), false, striding));
    }

    @AfterEach
    void close() {
        receiver.close();
        sender.close();
        channel.close();
        device.release();
        faults.restore();
    }

    /** Returns when the device has completed the sends. */
    private void send(int frames) {
        for (int i = 0; i < frames; i++) {
            assertEquals(FrameQueue.ACCEPTED, sender.offer(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64)));
        }
        sender.post();
        long endNanos = System.nanoTime() + Patience.NANOS;
        while (sender.inFlight() > 0 && System.nanoTime() - endNanos < 0) {
            sender.reclaim();
        }
        assertEquals(0, sender.inFlight());
    }

    private int receiveAll() {
        int frames = 0;
        long emptyBefore = receiver.counters().emptyReceivePolls;
        while (receiver.counters().emptyReceivePolls == emptyBefore) {
            int count = receiver.receive(burst);
            for (int i = 0; i < count; i++) {
                burst.takeFrame(i).release();
            }
            frames += count;
        }
        return frames;
    }

    /** Receives all frames present, then sends more, which arrive too late. Runs before and after the reset. */
    private int takeAllAndSendMore() {
        int taken = receiveAll();
        send(20);
        assertEquals(0, receiveAll(), "it has stopped");
        return taken;
    }

    /**
     * Frames received before the reset are delivered. Frames that arrive after the last poll are counted by the device,
     * because the queue no longer receives.
     */
    @Test
    void framesBeforeResetAreDeliveredAndLaterOnesCounted() {
        receiver = open(StridingReceive.NEVER);
        receiver.steer(LoopDevice.toMac(LoopDevice.A));
        for (int round = 0; round < 3; round++) {
            long lostBefore = faults.lostFrames();
            send(50);
            faults.failQueuePair(receiver.queuePair());
            assertTrue(receiver.recordFailure(receiver.queuePair(), receiver.resetCounts()));
            int[] taken = new int[1];
            receiver.recover(() -> {
                assertEquals(0, receiver.sendRoom(), "what handlers answer waits");
                taken[0] += takeAllAndSendMore();
            });
            assertTrue(receiver.sendRoom() > 0, "it sends again");
            assertEquals(50, taken[0], "frames that had come in");
            assertEquals(40, faults.lostFrames() - lostBefore, "frames that the device has counted");
            send(1);
            assertEquals(1, receiveAll(), "it receives again");
        }
    }

    /**
     * The queue keeps receiving during the reset, as when it has too many rules to withdraw them all. Each frame is
     * then received or counted.
     */
    @Test
    void framesDuringResetAreReceivedOrCounted() {
        receiver = open(StridingReceive.NEVER);
        receiver.steer(LoopDevice.toMac(LoopDevice.A));
        for (int round = 0; round < 3; round++) {
            long lostBefore = faults.lostFrames();
            send(50);
            faults.failNextCompletion(receiver, false, WcStatus.LOC_QP_OP_ERR);
            receiver.offer(LoopDevice.frame(LoopDevice.B, LoopDevice.A, 0, 64));
            receiver.post();
            long endNanos = System.nanoTime() + Patience.NANOS;
            while (!receiver.failed() && System.nanoTime() - endNanos < 0) {
                receiver.reclaim();
            }
            assertTrue(receiver.failed());
            receiver.stopReceiving();
            int[] taken = new int[1];
            receiver.recover(() -> {
                taken[0] += receiveAll();
                send(20);
            });
            taken[0] += receiveAll();
            assertEquals(90, taken[0] + faults.lostFrames() - lostBefore, "frames received or counted");
            assertTrue(taken[0] >= 50, "frames that had come in");
            send(1);
            assertEquals(1, receiveAll(), "it receives again");
        }
    }

    /** The queue was reset after the event had been raised, because a completion reported the failure earlier. */
    @Test
    void eventFromBeforeResetIsIgnored() {
        receiver = open(StridingReceive.NEVER);
        FrameQueue.ResetCounts before = receiver.resetCounts();
        faults.failQueuePair(receiver.queuePair());
        assertTrue(receiver.recordFailure(receiver.queuePair(), before));
        receiver.recover(this::receiveAll);
        assertFalse(receiver.recordFailure(receiver.queuePair(), before));
        assertFalse(receiver.failed());
    }

    /** The same for a work queue that is reset alone, as used by RSS rules and by striding receive. */
    @Test
    void workQueueResetAloneLosesNoFrameUncounted() {
        receiver = open(StridingReceive.ofProperty());
        RwqIndirectionTable table = device.context().createIndirectionTable(receiver.workQueue());
        try (QueuePair spreading = device.protectionDomain().createQueuePair(QueuePairOptions.builder()
                .rss(new RssOptions(table, 0, new byte[RssOptions.KEY_LENGTH_BYTES],
                        receiver.portNumber())).build());
                Flow rule = spreading.createFlow(LoopDevice.toMac(LoopDevice.A))) {
            assertNotNull(rule);
            for (int round = 0; round < 3; round++) {
                long lostBefore = faults.lostFrames();
                send(50);
                receiver.workQueue().toError();
                QueueFixture.failWorkQueue(receiver);
                long errorsBefore = receiver.counters().receiveErrors;
                int[] taken = new int[1];
                receiver.recover(() -> taken[0] += takeAllAndSendMore());
                // The positions of frames that a striding queue has received are unknown after the failure.
                long useless = QueueFixture.isStriding(receiver)
                        ? receiver.counters().receiveErrors - errorsBefore : 0;
                assertEquals(50, taken[0] + useless, "frames that had come in");
                assertEquals(40, faults.lostFrames() - lostBefore, "frames that the device has counted");
                send(1);
                assertEquals(1, receiveAll(), "it receives again");
            }
        } finally {
            table.close();
        }
    }
}
