package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairState;
import io.rdmaraw.verbs.objects.SendWr;
import io.rdmaraw.verbs.objects.Wc;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The states of a queue pair, and the operations that each permits. */
abstract class StateConformance extends ProviderConformance {
    private static final byte[] FRAME = Frames.raw("02:00:00:00:00:02", "02:00:00:00:00:01", Frames.ETHER_TYPE, 60);

    StateConformance(Devices devices) {
        super(devices);
    }

    @Test
    void aQueuePairGoesFromResetToReadyToSend() {
        QueuePair queuePair = sender.queuePair(o -> o);
        assertEquals(QueuePairState.RESET, queuePair.state());
        queuePair.toInit(queuePair.port());
        assertEquals(QueuePairState.INIT, queuePair.state());
        queuePair.toReadyToReceive();
        assertEquals(QueuePairState.RTR, queuePair.state());
        queuePair.toReadyToSend();
        assertEquals(QueuePairState.RTS, queuePair.state());
        queuePair.toError();
        assertEquals(QueuePairState.ERR, queuePair.state());
        queuePair.toReset();
        assertEquals(QueuePairState.RESET, queuePair.state());
        assertEquals(QueuePairState.RTS, Port.ready(queuePair).state());
    }

    @Test
    void statesCannotBeSkipped() {
        QueuePair queuePair = sender.queuePair(o -> o);
        assertFails(Errno.EINVAL, queuePair::toReadyToReceive);
        assertFails(Errno.EINVAL, queuePair::toReadyToSend);
        assertEquals(QueuePairState.RESET, queuePair.state());
        queuePair.toInit(queuePair.port());
        assertFails(Errno.EINVAL, queuePair::toReadyToSend);
        queuePair.toReadyToReceive();
        assertFails(Errno.EINVAL, () -> queuePair.toInit(queuePair.port()));
        queuePair.toError();
        assertFails(Errno.EINVAL, queuePair::toReadyToSend);
    }

    @Test
    void initNeedsAPortThatExists() {
        QueuePair queuePair = sender.queuePair(o -> o);
        assertFails(Errno.EINVAL, () -> queuePair.modify(QueuePairState.INIT, 0, QueuePair.ATTR_STATE));
        int ports = sender.context.queryDeviceExtended().portCount();
        assertFails(Errno.EINVAL, () -> queuePair.toInit(ports + 1));
        assertFails(Errno.EINVAL, () -> queuePair.toInit(0));
        assertFails(Errno.EINVAL, () -> queuePair.toInit(257));
        queuePair.toInit(queuePair.port());
    }

    @Test
    void sendsAreRefusedBeforeReadyToSend() {
        QueuePair queuePair = sender.queuePair(o -> o);
        long slot = Port.write(sender.slot(), FRAME);
        long[] sge = {slot, FRAME.length, sender.memory.lkey()};
        assertNotEquals(0, sender.postSend(queuePair, 1, SendWr.FLAG_SIGNALED, sge));
        queuePair.toInit(queuePair.port());
        assertNotEquals(0, sender.postSend(queuePair, 1, SendWr.FLAG_SIGNALED, sge));
        queuePair.toReadyToReceive();
        assertNotEquals(0, sender.postSend(queuePair, 1, SendWr.FLAG_SIGNALED, sge));
        queuePair.toReadyToSend();
        assertEquals(0, sender.postSend(queuePair, 1, SendWr.FLAG_SIGNALED, sge));
        assertEquals(1, sender.await().wrId());
    }

    @Test
    void receivesArePostedFromInitOn() {
        QueuePair queuePair = receiver.queuePair(o -> o);
        long slot = receiver.slot();
        assertNotEquals(0, receiver.postReceive(queuePair, slot, new long[] {slot, Port.SLOT_BYTES,
                receiver.memory.lkey()}));
        queuePair.toInit(queuePair.port());
        receiver.receive(queuePair, 1);
        queuePair.toReadyToReceive();
        flow(queuePair, "ether-type 0x88b5");
        sender.send(sender.readyQueuePair(), FRAME);
        assertArrayEquals(FRAME, receiver.awaitFrames(1).getFirst());
    }

    @Test
    void errorFlushesOutstandingRequestsInOrder() {
        QueuePair queuePair = receiver.readyQueuePair();
        for (int i = 1; i <= 5; i++) {
            long slot = receiver.slot();
            assertEquals(0, receiver.postReceive(queuePair, i, new long[] {slot, 2048, receiver.memory.lkey()}));
        }
        queuePair.toError();
        List<Port.Completion> flushed = receiver.await(5);
        for (int i = 0; i < 5; i++) {
            assertEquals(i + 1, flushed.get(i).wrId());
            assertEquals(WcStatus.WR_FLUSH_ERR, flushed.get(i).status());
            assertEquals(queuePair.number(), flushed.get(i).queuePairNumber());
        }
    }

    @Test
    void requestPostedInErrorStateIsFlushed() {
        QueuePair queuePair = receiver.readyQueuePair();
        queuePair.toError();
        long slot = receiver.slot();
        long[] sge = {slot, 2048, receiver.memory.lkey()};
        assertEquals(0, receiver.postReceive(queuePair, 7, sge));
        assertEquals(0, receiver.postSend(queuePair, 8, 0, sge));
        List<Port.Completion> flushed = receiver.await(2);
        assertEquals(List.of(7L, 8L), flushed.stream().map(Port.Completion::wrId).sorted().toList());
        flushed.forEach(c -> assertEquals(WcStatus.WR_FLUSH_ERR, c.status(), "even an unsignalled send"));
    }

    @Test
    void resetDropsOutstandingRequestsAndTheQueuePairWorksAgain() {
        QueuePair queuePair = listener("ether-type 0x88b5", 5);
        queuePair.toReset();
        Port.ready(queuePair);
        receiver.receive(queuePair, 1);
        sender.send(sender.readyQueuePair(), FRAME);
        Port.Completion only = receiver.await();
        assertEquals(WcStatus.SUCCESS, only.status());
        assertTrue(receiver.poll().isEmpty());
        assertEquals(Wc.OPCODE_RECV, only.opcode());
    }

    @Test
    void aQueuePairInErrorReceivesNothingUntilItIsRecovered() {
        QueuePair queuePair = listener("ether-type 0x88b5", 1);
        QueuePair sending = sender.readyQueuePair();
        queuePair.toError();
        receiver.await(1);
        sender.send(sending, FRAME);
        awaitIgnored(queuePair);
        queuePair.toReset();
        Port.ready(queuePair);
        receiver.receive(queuePair, 2);
        byte[] second = Frames.raw("02:00:00:00:00:02", "02:00:00:00:00:01", Frames.ETHER_TYPE, 61);
        sender.send(sending, second);
        assertArrayEquals(second, receiver.awaitFrames(1).getFirst());
        assertTrue(receiver.poll().isEmpty());
    }

    /** Waits until a frame has reached the queue pair that was not ready to receive it. */
    abstract void awaitIgnored(QueuePair queuePair);
}
