package io.rdmaraw.queue;

import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.Slab;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.memory.StrideLayout;
import io.rdmaraw.verbs.abi.WcStatus;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Tests the distribution of slots when they are short. */
class SlotReceiveRequestsTest {
    private static final int SLOTS = 128;
    private static final int DEPTH = 64;
    /** Number of slots that a refill leaves for sending. */
    private static final int LEFT_FOR_SENDING = 16;

    private final SharedDevice device = SharedDevice.acquire("soft:loop:slot-receives");
    private final Slab slab = Slab.allocate(device.protectionDomain(), device.registeredRanges(), SLOTS, 2048);
    private final SlotPool slots = slab.pool();
    private final List<FrameBuf> held = new ArrayList<>();
    private final QueueCounters counters = new QueueCounters();
    private final TestReceives receives = new TestReceives(slots, counters, DEPTH, false);

    @BeforeEach
    void own() {
        slots.setOwner(Thread.currentThread());
    }

    @AfterEach
    void everySlotIsBack() {
        receives.releaseAll();
        held.forEach(FrameBuf::release);
        assertEquals(SLOTS, slots.available());
        slab.close(device::release);
    }

    private void hold(int count) {
        for (int i = 0; i < count; i++) {
            held.add(slots.acquire());
        }
    }

    @Test
    void lateQueueLeavesSlotsForSending() {
        hold(SLOTS - 40);
        receives.refill();
        assertEquals(LEFT_FOR_SENDING, slots.available());
        assertEquals(40 - LEFT_FOR_SENDING, receives.postedCount());
        assertEquals(DEPTH - receives.postedCount(), receives.refillDemand(), "it is owed the others");
        hold(LEFT_FOR_SENDING);
        receives.refill();
        assertEquals(40 - LEFT_FOR_SENDING, receives.postedCount(), "there is nothing to take");
        assertEquals(2, counters.receiveQueueLow);
    }

    @Test
    void slotsOfAFailedQueueStayReserved() {
        receives.refill();
        int free = slots.available();
        receives.flush(DEPTH / 2);
        assertTrue(receives.failed());
        assertEquals(free, slots.available());
        assertEquals(0, receives.refillDemand());
        hold(free);
        receives.afterReset();
        receives.refill();
        assertEquals(DEPTH, receives.postedCount(), "handlers that hold everything else took none of it");
    }

    @Test
    void slotsTakenByHandlersAreMissingInAFailedQueue() {
        receives.refill();
        receives.flush(1);
        for (int i = 0; i < DEPTH / 2; i++) {
            held.add(slots.openReceived(receives.complete(), 64));
        }
        receives.refillIfLow();
        assertEquals(DEPTH / 2, receives.refillDemand());
    }

    /** Held chunks are no shortage: the device then segments packets, which are received in ordinary slots. */
    @Test
    void heldChunksAreNotCountedAsShortage() {
        Slab chunks = Slab.allocate(device.protectionDomain(), device.registeredRanges(), StrideLayout.ofFrames(8, 500),
                SLOTS, 2048);
        device.retain();
        SlotPool pool = chunks.pool();
        pool.setOwner(Thread.currentThread());
        TestReceives gso = new TestReceives(pool, counters, 8, true);
        gso.refill();
        assertEquals(8, gso.postedCount());
        List<FrameBuf> frames = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            frames.add(pool.openReceived(gso.complete(), 500));
        }
        gso.refillIfLow();
        assertEquals(0, gso.postedCount());
        assertEquals(0, counters.receiveQueueLow);
        frames.forEach(FrameBuf::release);
        gso.refillIfLow();
        assertEquals(8, gso.postedCount());
        gso.releaseAll();
        assertEquals(8, pool.availableChunks());
        chunks.close(device::release);
    }

    /** A queue with requests that the test completes in order. */
    private static final class TestReceives extends SlotReceiveRequests {
        private final Deque<Integer> posted = new ArrayDeque<>();

        TestReceives(SlotPool slots, QueueCounters counters, int depth, boolean gso) {
            super(slots, counters, depth, gso);
        }

        int complete() {
            recordCompletion();
            return posted.remove();
        }

        void flush(int count) {
            for (int i = 0; i < count; i++) {
                handleError(WcStatus.WR_FLUSH_ERR, complete());
            }
        }

        @Override
        public void describe(int index, FrameBuf slot) {
            posted.add(slot.slotIndex());
        }

        @Override
        public int postDescribed(int count) {
            return count;
        }

        @Override
        public void reclaimAll() {
            while (!posted.isEmpty()) {
                reclaim(posted.remove());
            }
        }
    }
}
