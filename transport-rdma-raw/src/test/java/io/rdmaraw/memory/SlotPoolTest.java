package io.rdmaraw.memory;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.ffi.PageMemory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

class SlotPoolTest {
    private static final int SLOTS = 8;
    private static final int STRIDE_BYTES = 2048;
    private static final int SLOT_BYTES = SlotPool.capacityBytes(STRIDE_BYTES);

    private final PageMemory memory = PageMemory.map(SLOTS * STRIDE_BYTES);
    private final SlotPoison poison = new SlotPoison(true);
    private final SlotPool pool = owned(new SlotPool(memory.address(), StrideLayout.NONE, SLOTS, STRIDE_BYTES, 7,
            SlotPoison.OFF));

    private static SlotPool owned(SlotPool pool) {
        pool.setOwner(Thread.currentThread());
        return pool;
    }

    @AfterEach
    void unmap() {
        memory.close();
    }

    @Test
    void everySlotIsTakenOnce() {
        Set<Long> addresses = new HashSet<>();
        for (int i = 0; i < SLOTS; i++) {
            FrameBuf buf = pool.acquire();
            assertTrue(addresses.add(buf.slotAddress()));
            assertEquals(SLOT_BYTES, buf.capacity());
            assertEquals(0, buf.readableBytes());
            assertEquals(1, buf.refCnt());
        }
        assertNull(pool.acquire());
        assertEquals(0, pool.available());
    }

    @Test
    void lastUsedSlotIsReusedFirst() {
        FrameBuf buf = pool.acquire();
        buf.writeInt(42).readByte();
        buf.markReaderIndex();
        assertTrue(buf.release());
        FrameBuf again = pool.acquire();
        assertSame(buf, again);
        assertEquals(0, again.readerIndex());
        assertEquals(0, again.resetReaderIndex().readerIndex(), "a mark of the last user must not survive");
    }

    @Test
    void takesBackSlotsReleasedByOtherThreads() throws InterruptedException {
        List<FrameBuf> taken = new ArrayList<>();
        for (int i = 0; i < SLOTS; i++) {
            taken.add(pool.acquire());
        }
        List<Thread> threads = new ArrayList<>();
        for (FrameBuf buf : taken) {
            threads.add(Thread.ofPlatform().start(buf::release));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(SLOTS, pool.available());
        for (int i = 0; i < SLOTS; i++) {
            assertNotNull(pool.acquire());
        }
    }

    private int[] takeNumbers(int count) {
        int[] numbers = new int[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = pool.acquire().slotIndex();
        }
        return numbers;
    }

    @Test
    void runEndsAtASlotWithOtherReferences() {
        int[] numbers = takeNumbers(SLOTS);
        int[] before = numbers.clone();
        FrameBuf moved = pool.slot(numbers[1]);
        moved.writeZero(100);
        moved.restrictTo(50, 50);
        FrameBuf held = pool.slot(numbers[4]);
        held.retain();
        assertEquals(3, pool.releaseRun(numbers, 1, SLOTS));
        for (int i = 0; i < SLOTS; i++) {
            boolean released = i >= 1 && i < 4;
            assertEquals(released ? SlotPool.NONE : before[i], numbers[i]);
            assertEquals(released ? 0 : i == 4 ? 2 : 1, pool.slot(before[i]).refCnt());
        }
        assertEquals(3, pool.available());
        assertEquals(moved.slotAddress(), moved.readableAddress(), "the next user has the whole slot");
        assertEquals(0, pool.releaseRun(numbers, 1, SLOTS), "nothing is released twice");
        held.release();
        assertEquals(SLOTS - 4, pool.releaseRun(numbers, 4, SLOTS));
        assertEquals(SLOTS - 1, pool.available());
    }

    @Test
    void runEndsAtStridesAndAttachedBuffers() {
        int[] numbers = takeNumbers(3);
        pool.slot(numbers[0]).attach(pool.acquire());
        pool.slot(numbers[1]).attach(Unpooled.directBuffer());
        pool.slot(numbers[2]).capacity(2 * STRIDE_BYTES);
        for (int i = 0; i < numbers.length; i++) {
            assertEquals(0, pool.releaseRun(numbers, i, numbers.length));
            pool.slot(numbers[i]).release();
            assertEquals(0, pool.releaseRun(numbers, i, numbers.length), "released early");
        }
        assertEquals(SLOTS, pool.available());
        SlotPool strides = striding(SlotPoison.OFF);
        int first = strides.acquireChunk();
        FrameBuf frame = strides.openReceived(first, 600);
        assertEquals(0, strides.releaseRun(new int[] {first}, 0, 1));
        assertEquals(1, frame.refCnt());
    }

    @Test
    void runsAreReleasedOnlyByTheOwnerWithoutPoison() throws InterruptedException {
        int[] numbers = takeNumbers(2);
        AtomicInteger released = new AtomicInteger();
        Thread other = Thread.ofPlatform().start(() -> released.set(pool.releaseRun(numbers, 0, 2)));
        other.join();
        assertEquals(0, released.get());
        assertEquals(2, pool.releaseRun(numbers, 0, 2));
        SlotPool poisoned = owned(new SlotPool(memory.address(), StrideLayout.NONE, SLOTS, STRIDE_BYTES, 7, poison));
        assertEquals(0, poisoned.releaseRun(new int[] {poisoned.acquire().slotIndex()}, 0, 1));
    }

    @Test
    void disownActionRunsWhenTheLastSlotIsReturned() {
        AtomicInteger ends = new AtomicInteger();
        FrameBuf first = pool.acquire();
        FrameBuf second = pool.acquire();
        pool.retireWhenReturned(ends::incrementAndGet);
        first.release();
        assertEquals(0, ends.get());
        second.release();
        assertEquals(1, ends.get());
    }

    @Test
    void disownActionRunsAtOnceIfAllSlotsAreFree() {
        AtomicInteger ends = new AtomicInteger();
        pool.retireWhenReturned(ends::incrementAndGet);
        assertEquals(1, ends.get());
    }

    @Test
    void allocatorRespectsReserveAndOwner() throws InterruptedException {
        pool.allocator().setReservedSlots(SLOTS - 1);
        ByteBuf registered = pool.allocator().directBuffer(100, 5000);
        assertEquals(100, registered.capacity());
        assertEquals(5000, registered.maxCapacity());
        assertTrue(inSlab(registered));
        ByteBuf beyond = pool.allocator().directBuffer(100);
        assertFalse(inSlab(beyond), "the reserve is for receiving");
        assertEquals(1, pool.allocator().unregisteredCount());
        Thread other = Thread.ofPlatform().start(() -> pool.allocator().directBuffer(10).release());
        other.join();
        assertEquals(2, pool.allocator().unregisteredCount());
        registered.release();
        beyond.release();
        assertEquals(SLOTS, pool.available());
    }

    @Test
    void poisonFindsAWriterAfterRelease() {
        SlotPool poisoned = owned(new SlotPool(memory.address(), StrideLayout.NONE, SLOTS, STRIDE_BYTES, 7, poison));
        FrameBuf buf = poisoned.acquire();
        long address = buf.slotAddress();
        buf.release();
        NativeMemory.putInt(address + 100, 1);
        poisoned.acquire().release();
        assertEquals(1, poison.violationCount());
        poisoned.acquire().release();
        assertEquals(1, poison.violationCount());
    }

    private boolean inSlab(ByteBuf buf) {
        return buf.hasMemoryAddress() && buf.memoryAddress() >= memory.address()
                && buf.memoryAddress() < memory.address() + SLOTS * STRIDE_BYTES;
    }

    /** Two chunks of four strides of 256 bytes, and four slots. */
    private SlotPool striding(SlotPoison withPoison) {
        return owned(new SlotPool(memory.address(), new StrideLayout(2, 4, 256), 4, STRIDE_BYTES, 7, withPoison));
    }

    @Test
    void frameOfSeveralStridesIsContiguous() {
        SlotPool strides = striding(SlotPoison.OFF);
        int first = strides.acquireChunk();
        FrameBuf frame = strides.openReceived(first + 1, 600);
        assertEquals(600, frame.readableBytes());
        assertEquals(3 * 256, frame.capacity());
        assertEquals(memory.address() + 256, frame.readableAddress());
        frame.setInt(596, 42);
        assertEquals(42, frame.nioBuffer(596, 4).getInt());
        assertEquals(42, NetworkOrder.getInt(memory.address() + 256 + 596));
        frame.capacity(700);
        assertTrue(frame.isRegistered());
        frame.release();
        FrameBuf shorter = strides.openReceived(first, 20);
        assertEquals(256, shorter.capacity());
        shorter.release();
    }

    @Test
    void oneFrameChunksExistBesideSlots() {
        SlotPool large = owned(new SlotPool(memory.address(), StrideLayout.ofFrames(2, 500), 4, STRIDE_BYTES, 7,
                SlotPoison.OFF));
        assertEquals(512, large.strideLayout().chunkBytes());
        int first = large.acquireChunk();
        int second = large.acquireChunk();
        assertEquals(-1, large.acquireChunk());
        assertFalse(large.isReceiveMemoryLow(), "ordinary frames are received in slots, all of which are free");
        assertEquals(4, large.available());
        FrameBuf frame = large.openReceived(second, 500);
        assertEquals(memory.address() + 512, frame.readableAddress());
        assertEquals(500, frame.readableBytes());
        frame.release();
        assertEquals(1, large.availableChunks());
        large.releaseStrides(first, 1);
        assertEquals(2, large.availableChunks());
        FrameBuf[] slots = {large.acquire(), large.acquire(), large.acquire(), large.acquire()};
        assertTrue(large.isReceiveMemoryLow());
        assertEquals(memory.address() + 2 * 512, slots[0].slotAddress());
        for (FrameBuf slot : slots) {
            slot.release();
        }
        assertEquals(16384 * 4 + 64, StrideLayout.ofFrames(1, 16384 * 4).chunkBytes(), "not a power of two apart");
    }

    @Test
    void chunkIsFreeAfterItsLastStrideIsReturned() throws InterruptedException {
        SlotPool strides = striding(SlotPoison.OFF);
        int first = strides.acquireChunk();
        assertEquals(4, strides.acquireChunk());
        assertEquals(-1, strides.acquireChunk());
        FrameBuf spanning = strides.openReceived(first, 257);
        FrameBuf last = strides.openReceived(first + 3, 60);
        strides.releaseStrides(first + 2, 1);
        spanning.release();
        assertEquals(0, strides.availableChunks());
        Thread other = new Thread(last::release);
        other.start();
        other.join();
        assertEquals(1, strides.availableChunks());
        assertEquals(4, strides.available());
        assertEquals(first, strides.acquireChunk());
    }

    @Test
    void disownActionRunsWhenTheLastStrideIsReturned() {
        SlotPool strides = striding(SlotPoison.OFF);
        AtomicInteger freed = new AtomicInteger();
        int first = strides.acquireChunk();
        FrameBuf frame = strides.openReceived(first, 300);
        strides.releaseStrides(first + 2, 2);
        strides.retireWhenReturned(freed::incrementAndGet);
        assertEquals(0, freed.get());
        frame.release();
        assertEquals(1, freed.get());
    }

    @Test
    void poisonFindsStridesWrittenToAfterTheirRelease() {
        SlotPool strides = striding(poison);
        int first = strides.acquireChunk();
        assertEquals(0, poison.violationCount());
        FrameBuf frame = strides.openReceived(first, 4 * 256);
        frame.release();
        NativeMemory.putByte(memory.address() + 700, (byte) 1);
        assertEquals(first, strides.acquireChunk());
        assertEquals(1, poison.violationCount());
    }
}
