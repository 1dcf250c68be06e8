package io.rdmaraw.queue;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.memory.Slab;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.VerbsObject;
import io.rdmaraw.verbs.objects.WorkQueue;
import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;

class ReceiveRingTest {
    /** Frames are copied out because handlers hold the slots. Other memory may be exhausted as well. */
    @Test
    void withoutMemoryForACopyTheFrameIsDroppedAndCounted() {
        SharedDevice device = SharedDevice.acquire("soft:loop:receive-ring");
        Slab slab = Slab.allocate(device.protectionDomain(), device.registeredRanges(), 4, 2048);
        SlotPool slots = slab.pool();
        slots.setOwner(Thread.currentThread());
        QueueCounters counters = new QueueCounters();
        ReceiveRing ring = new UnpolledRing(slots, counters, new Exhausted());
        ReceiveBurst burst = new ReceiveBurst();
        burst.begin(slots);
        int slotIndex = slots.acquireUnopened().slotIndex();
        ring.addToBurst(burst, slotIndex, 64, 1, true, true);
        assertEquals(0, burst.size());
        assertEquals(1, counters.noMemoryFrames);
        assertEquals(4, slots.available());
        slab.close(device::release);
    }

    private static final class Exhausted extends AbstractByteBufAllocator {
        @Override
        protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
            throw new OutOfMemoryError("the test's");
        }

        @Override
        protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
            throw new OutOfMemoryError("the test's");
        }

        @Override
        public boolean isDirectBufferPooled() {
            return false;
        }
    }

    /** A ring with completions created by the test. */
    private static final class UnpolledRing extends ReceiveRing {
        UnpolledRing(SlotPool slots, QueueCounters counters, ByteBufAllocator copyAllocator) {
            super(slots, counters, 4, copyAllocator);
        }

        @Override
        public ReceiveRequests queuePairRequests() {
            throw new UnsupportedOperationException();
        }

        @Override
        public ReceiveRequests workQueueRequestsOrNull() {
            return null;
        }

        @Override
        public CompletionQueue workQueueCompletionQueue() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void addWorkQueue(WorkQueue workQueue, int depth) {
            throw new UnsupportedOperationException();
        }

        @Override
        public int poll(ReceiveBurst burst) {
            return 0;
        }

        @Override
        public void arm() {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean owns(VerbsObject source) {
            return false;
        }

        @Override
        public void closeCompletions() {
            throw new UnsupportedOperationException();
        }
    }
}
