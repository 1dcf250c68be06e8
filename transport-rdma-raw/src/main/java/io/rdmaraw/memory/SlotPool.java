package io.rdmaraw.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The free slots of one slab, owned by one event loop. The first slots may be strides of chunks
 * ({@link StrideLayout}). These are acquired by the chunk and released one by one.
 *
 * <p>The owner's thread acquires and releases slots on an array stack, so that the slot used last, which is still
 * in the cache, is reused first. Other threads release slots through a lock-free linked list. The owner takes
 * over the whole list at once, which avoids the ABA problem. Only the owner acquires slots.
 */
public final class SlotPool {
    /** Value of an array element that contains no slot index. */
    public static final int NONE = -1;
    private static final int COLOURS = 8;
    private static final int CACHE_LINE_BYTES = 64;
    private static final int MIN_COLOURED_BYTES = 2048;
    private static final VarHandle RETURNED;

    static {
        try {
            RETURNED = MethodHandles.lookup().findVarHandle(SlotPool.class, "returned", FrameBuf.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final FrameBuf[] slots;
    private final StrideChunks chunks;
    /** Number of strides. Slots with lower indices are strides. */
    private final int strideCount;
    private final int slotCapacityBytes;
    /** Indices of the free slots. Storing references in an old array would cause barriers in G1. */
    private final int[] free;
    private final SlotPoison poison;
    private final RegisteredByteBufAllocator allocator;
    private int freeCount;
    private volatile Thread owner;
    @SuppressWarnings("unused") // Accessed through RETURNED.
    private volatile FrameBuf returned;
    /** Set when the pool has no owner any more. The thread that returns the last slot then runs it. */
    private volatile Runnable onAllReturned;

    /** The strides precede the slots in memory. */
    SlotPool(long firstStrideAddress, StrideLayout layout, int slotCount, int slotDistanceBytes, int lkey,
            SlotPoison poison) {
        this.poison = poison;
        chunks = new StrideChunks(layout);
        strideCount = layout.strideCount();
        slotCapacityBytes = capacityBytes(slotDistanceBytes);
        allocator = new RegisteredByteBufAllocator(this, slotCapacityBytes);
        slots = new FrameBuf[strideCount + slotCount];
        free = new int[slotCount];
        for (int i = 0; i < strideCount; i++) {
            int offset = i % layout.stridesPerChunk() * layout.strideBytes();
            slots[i] = new FrameBuf(this, firstStrideAddress + (long) i * layout.strideBytes(), layout.strideBytes(),
                    layout.chunkBytes() - offset, i, lkey);
            poison.onFree(slots[i]);
        }
        long firstSlotAddress = firstStrideAddress + layout.lengthBytes();
        // Filled from the end, so that the first slots acquired are the first in memory.
        for (int i = 0; i < slotCount; i++) {
            int slotIndex = strideCount + i;
            long address = firstSlotAddress + (long) i * slotDistanceBytes + colourOffsetBytes(i, slotDistanceBytes);
            slots[slotIndex] = new FrameBuf(this, address, slotCapacityBytes, slotCapacityBytes, slotIndex, lkey);
            free[slotCount - 1 - i] = slotIndex;
            poison.onFree(slots[slotIndex]);
        }
        freeCount = slotCount;
    }

    /**
     * Returns the usable bytes of a slot.
     *
     * <p>Slots are at multiples of a power of two. Without an offset, their first bytes, which are all that
     * short frames use, would compete for a few cache sets. Therefore slots begin at one of {@value #COLOURS}
     * different cache lines of their place, in turn.
     *
     * @param slotDistanceBytes distance between two slots
     */
    public static int capacityBytes(int slotDistanceBytes) {
        return slotDistanceBytes < MIN_COLOURED_BYTES ? slotDistanceBytes
                : slotDistanceBytes - (COLOURS - 1) * CACHE_LINE_BYTES;
    }

    private static int colourOffsetBytes(int slotIndex, int slotDistanceBytes) {
        return slotDistanceBytes < MIN_COLOURED_BYTES ? 0 : slotIndex % COLOURS * CACHE_LINE_BYTES;
    }

    /** Sets the thread that acquires slots. The loop calls this whenever it (re)starts on a thread. */
    public void setOwner(Thread thread) {
        owner = thread;
    }

    /** Returns whether a buffer is a slot of this pool. */
    public boolean owns(FrameBuf buf) {
        return buf.belongsTo(this);
    }

    /** Returns the buffer of a slot or stride, whether free or not. */
    public FrameBuf slot(int slotIndex) {
        return slots[slotIndex];
    }

    /** Returns the number of bytes that a slot can hold: {@link #capacityBytes} of the configured slot size. */
    public int slotCapacityBytes() {
        return slotCapacityBytes;
    }

    /** Returns the lkey of the memory region of all slots and strides. */
    public int lkey() {
        return slots[0].lkey();
    }

    /** Returns the number of slots and strides. Each has a buffer: {@link #slot}. */
    public int bufferCount() {
        return slots.length;
    }

    /** Returns the layout of the strides. */
    public StrideLayout strideLayout() {
        return chunks.layout();
    }

    /** Returns the number of free chunks. May be called on the owner's thread only. */
    public int availableChunks() {
        if (returned != null) {
            drainReturned();
        }
        return chunks.available();
    }

    /** Returns whether few slots or chunks are left for receiving. May be called on the owner's thread only. */
    public boolean isReceiveMemoryLow() {
        boolean receivesInChunks = strideCount > 0 && !chunks.layout().ordinaryFramesInSlots();
        return receivesInChunks ? availableChunks() < chunks.layout().chunkCount() / 4 : available() < free.length / 4;
    }

    /**
     * Acquires a chunk for the device to fill. May be called on the owner's thread only.
     *
     * @return the slot index of its first stride, or -1 if no chunk is free
     */
    public int acquireChunk() {
        if (availableChunks() == 0) {
            return -1;
        }
        int first = chunks.acquire() * chunks.layout().stridesPerChunk();
        for (int i = 0; i < chunks.layout().stridesPerChunk(); i++) {
            poison.onAcquire(slots[first + i]);
        }
        return first;
    }

    /** Releases unused strides of one chunk. May be called on the owner's thread only. */
    public void releaseStrides(int firstSlot, int count) {
        for (int i = 0; i < count; i++) {
            poison.onFree(slots[firstSlot + i]);
        }
        chunks.release(firstSlot, count);
    }

    /** Returns the number of free slots, not counting strides. May be called on the owner's thread only. */
    public int available() {
        if (returned != null) {
            drainReturned();
        }
        return freeCount;
    }

    /**
     * Returns the approximate number of slots that are not free: posted for receiving, in flight, or held by
     * handlers and connections. Thread-safe. Slots returned by other threads are counted until the owner takes
     * them over.
     */
    public int inUse() {
        return slots.length - strideCount - freeCount;
    }

    /**
     * Acquires a free slot as an empty buffer with one reference and the slot's length as capacity. May be called
     * on the owner's thread only.
     *
     * @return the buffer, or null if no slot is free
     */
    public FrameBuf acquire() {
        FrameBuf buf = acquireUnopened();
        return buf == null ? null : buf.open(buf.slotCapacityBytes(), Integer.MAX_VALUE);
    }

    /**
     * Acquires a free slot without opening its buffer, in order to post it to a receive queue.
     * {@link #openReceived} opens the buffer when a frame has arrived. May be called on the owner's thread only.
     *
     * @return the buffer, or null if no slot is free
     */
    public FrameBuf acquireUnopened() {
        if (freeCount == 0 && available() == 0) {
            return null;
        }
        FrameBuf buf = slots[free[--freeCount]];
        poison.onAcquire(buf);
        return buf;
    }

    /**
     * Opens the buffer of a slot acquired with {@link #acquireUnopened}.
     *
     * @param lengthBytes number of bytes that the device wrote to the slot
     */
    public FrameBuf openReceived(int slotIndex, int lengthBytes) {
        FrameBuf buf = slots[slotIndex];
        if (slotIndex < strideCount) {
            StrideLayout layout = chunks.layout();
            return buf.openFilled(lengthBytes, layout.stridesOf(lengthBytes), layout.strideBytes());
        }
        return buf.openFilled(lengthBytes);
    }

    /**
     * Releases a slot that was acquired with {@link #acquireUnopened} and never opened. May be called on the owner's
     * thread only.
     */
    public void releaseUnopened(int slotIndex) {
        poison.onFree(slots[slotIndex]);
        free[freeCount++] = slotIndex;
    }

    /** Returns the allocator of these slots. */
    public RegisteredByteBufAllocator allocator() {
        return allocator;
    }

    boolean isOwner(Thread thread) {
        return thread == owner;
    }

    /**
     * Releases a run of slots. Equivalent to {@link FrameBuf#release} for each, but checks common conditions
     * only once. The run ends at the first slot that has other references, is a stride, or has an attached
     * buffer. Hot path.
     *
     * @param slotIndices elements of released slots are set to {@value #NONE}; such an element also ends the
     *                    run
     * @return the number of released slots
     */
    public int releaseRun(int[] slotIndices, int from, int end) {
        if (Thread.currentThread() != owner || poison.isOn()) {
            return 0;
        }
        int[] stack = free;
        int count = freeCount;
        int i = from;
        while (i < end) {
            int slotIndex = slotIndices[i];
            if (slotIndex < strideCount || !slots[slotIndex].releaseIfLastReference()) {
                break;
            }
            slotIndices[i++] = NONE;
            stack[count++] = slotIndex;
        }
        freeCount = count;
        return i - from;
    }

    void recycle(FrameBuf buf) {
        poison.onFree(buf);
        if (Thread.currentThread() == owner) {
            pushFree(buf);
            return;
        }
        FrameBuf head;
        do {
            head = returned;
            buf.nextReturned = head;
        } while (!RETURNED.compareAndSet(this, head, buf));
        if (onAllReturned != null) {
            runIfAllReturned();
        }
    }

    private void pushFree(FrameBuf buf) {
        int slotIndex = buf.slotIndex();
        if (slotIndex < strideCount) {
            chunks.release(slotIndex, buf.closeStrides(chunks.layout().strideBytes()));
        } else {
            free[freeCount++] = slotIndex;
        }
    }

    private void drainReturned() {
        FrameBuf buf = (FrameBuf) RETURNED.getAndSet(this, (FrameBuf) null);
        while (buf != null) {
            FrameBuf next = buf.nextReturned;
            buf.nextReturned = null;
            pushFree(buf);
            buf = next;
        }
    }

    /**
     * Ends the ownership: no further slots can be acquired. Runs an action when all slots are returned, either at
     * once or on the thread that returns the last one.
     */
    void retireWhenReturned(Runnable action) {
        owner = null;
        onAllReturned = action;
        runIfAllReturned();
    }

    private synchronized void runIfAllReturned() {
        drainReturned();
        Runnable action = onAllReturned;
        if (freeCount == free.length && chunks.areAllFree() && action != null) {
            onAllReturned = null;
            action.run();
        }
    }

    /**
     * Describes the slots that have not been released. Valid only after {@link #retireWhenReturned}, while the memory
     * is mapped.
     */
    synchronized List<String> describeHeldSlots() {
        if (onAllReturned == null) {
            return List.of();
        }
        drainReturned();
        boolean[] isFree = new boolean[slots.length];
        for (int i = 0; i < freeCount; i++) {
            isFree[free[i]] = true;
        }
        int stridesPerChunk = Math.max(1, chunks.layout().stridesPerChunk());
        return IntStream.range(0, slots.length)
                .filter(i -> i < strideCount ? !chunks.isFree(i / stridesPerChunk) : !isFree[i])
                .mapToObj(i -> slots[i].describeHeld()).toList();
    }
}
