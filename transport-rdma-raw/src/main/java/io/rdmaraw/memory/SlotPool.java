package io.rdmaraw.memory;

import io.netty.buffer.ByteBufAllocator;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The free slots of one slab, owned by one event loop. Some of them may be strides of chunks ({@link StrideLayout}):
 * those have the first numbers, are taken by the chunk, and come back one by one.
 *
 * <p>The owner's thread takes and returns slots on an array stack: the slot used last is the one whose lines are still
 * in the cache. Every other thread returns slots through a linked list that the owner takes over whole, so neither side
 * locks and there is no ABA problem. Only the owner takes slots.
 */
public final class SlotPool {
    /** No slot's number. */
    public static final int NONE = -1;
    private static final int COLOURS = 8;
    private static final int CACHE_LINE_BYTES = 64;
    private static final int LEAST_COLOURED_BYTES = 2048;
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
    /** Slots with lower numbers are strides. */
    private final int strideSlots;
    private final int slotBytes;
    /** The free slots' numbers. Numbers, because storing a reference into an old array costs G1 a fence. */
    private final int[] free;
    private final SlotPoison poison;
    private final RegisteredByteBufAllocator allocator;
    private int freeCount;
    private volatile Thread owner;
    @SuppressWarnings("unused") // through RETURNED
    private volatile FrameBuf returned;
    /** Set once the owner is gone; from then on the thread that returns the last slot runs {@link #onAllReturned}. */
    private volatile Runnable onAllReturned;

    /** The strides come first in memory too. */
    SlotPool(long firstStrideAddress, StrideLayout layout, int slotCount, int placeBytes, int lkey, SlotPoison poison) {
        this.poison = poison;
        chunks = new StrideChunks(layout);
        strideSlots = layout.strides();
        slotBytes = capacityBytes(placeBytes);
        allocator = new RegisteredByteBufAllocator(this, slotBytes);
        slots = new FrameBuf[strideSlots + slotCount];
        free = new int[slotCount];
        for (int i = 0; i < strideSlots; i++) {
            int offset = i % layout.stridesPerChunk() * layout.strideBytes();
            slots[i] = new FrameBuf(this, firstStrideAddress + (long) i * layout.strideBytes(), layout.strideBytes(),
                    layout.chunkBytes() - offset, i, lkey);
            poison.onFree(slots[i]);
        }
        long firstSlotAddress = firstStrideAddress + layout.lengthBytes();
        // Filled from the end so that the first slots taken are the first in memory.
        for (int i = 0; i < slotCount; i++) {
            int number = strideSlots + i;
            long address = firstSlotAddress + (long) i * placeBytes + colourOffsetBytes(i, placeBytes);
            slots[number] = new FrameBuf(this, address, slotBytes, slotBytes, number, lkey);
            free[slotCount - 1 - i] = number;
            poison.onFree(slots[number]);
        }
        freeCount = slotCount;
    }

    /**
     * Returns how many bytes a slot holds whose neighbours are {@code strideBytes} away.
     *
     * <p>Slots lie at multiples of a power of two, so their first bytes, which are all that most frames need, would
     * share a few sets of the cache and evict one another. Each slot therefore begins at one of {@value #COLOURS} cache
     * lines of its place, in turns.
     */
    public static int capacityBytes(int strideBytes) {
        return strideBytes < LEAST_COLOURED_BYTES ? strideBytes : strideBytes - (COLOURS - 1) * CACHE_LINE_BYTES;
    }

    private static int colourOffsetBytes(int slotIndex, int strideBytes) {
        return strideBytes < LEAST_COLOURED_BYTES ? 0 : slotIndex % COLOURS * CACHE_LINE_BYTES;
    }

    /** Sets the thread that takes slots from now on. Called by the loop whenever it (re)starts on a thread. */
    public void ownedBy(Thread thread) {
        owner = thread;
    }

    /** Tells whether a buffer is one of this pool's slots. */
    public boolean owns(FrameBuf buf) {
        return buf.isOf(this);
    }

    /** Returns the buffer of a slot, free or not. */
    public FrameBuf slot(int slotIndex) {
        return slots[slotIndex];
    }

    /** Returns how many bytes a slot that {@link #take} gives can hold. */
    public int slotBytes() {
        return slotBytes;
    }

    /** Returns the key of the memory region that all slots and strides lie in. */
    public int lkey() {
        return slots[0].lkey();
    }

    /** Returns the number of all slots, strides among them. */
    public int slotCount() {
        return slots.length;
    }

    /** Returns how the strides lie. */
    public StrideLayout strideLayout() {
        return chunks.layout();
    }

    /** Returns how many chunks {@link #takeChunk} could take now. Owner's thread only. */
    public int availableChunks() {
        if (returned != null) {
            takeOverReturned();
        }
        return chunks.available();
    }

    /** Tells whether few slots or chunks are left to receive into. Owner's thread only. */
    public boolean isReceiveMemoryLow() {
        boolean receivesInChunks = strideSlots > 0 && !chunks.layout().besideSlots();
        return receivesInChunks ? availableChunks() < chunks.layout().chunks() / 4 : available() < free.length / 4;
    }

    /**
     * Takes a chunk for the device to fill.
     *
     * @return the number of its first stride's slot, or -1 when there is none. Owner's thread only
     */
    public int takeChunk() {
        if (availableChunks() == 0) {
            return -1;
        }
        int first = chunks.take() * chunks.layout().stridesPerChunk();
        for (int i = 0; i < chunks.layout().stridesPerChunk(); i++) {
            poison.onTake(slots[first + i]);
        }
        return first;
    }

    /** Returns strides of one chunk that hold no frame. Owner's thread only. */
    public void returnStrides(int firstSlot, int count) {
        for (int i = 0; i < count; i++) {
            poison.onFree(slots[firstSlot + i]);
        }
        chunks.giveBack(firstSlot, count);
    }

    /** Returns how many slots the owner could take now, strides not among them. Owner's thread only. */
    public int available() {
        if (returned != null) {
            takeOverReturned();
        }
        return freeCount;
    }

    /**
     * Returns about how many slots are not free: those posted for receiving, in flight, or held by handlers and
     * connections. Any thread may ask; slots that other threads have returned count until the owner looks at them.
     */
    public int inUse() {
        return slots.length - strideSlots - freeCount;
    }

    /**
     * Takes a free slot as an empty buffer with one reference and the slot's whole length as capacity.
     *
     * @return the buffer, or null when every slot is in use. Owner's thread only
     */
    public FrameBuf take() {
        FrameBuf buf = takeClosed();
        return buf == null ? null : buf.open(buf.slotBytes(), Integer.MAX_VALUE);
    }

    /**
     * Takes a free slot without making it a live buffer: a slot that is posted to a receive queue has no user yet; it
     * is opened by {@link #openReceived} when a frame has come in.
     */
    public FrameBuf takeClosed() {
        if (freeCount == 0 && available() == 0) {
            return null;
        }
        FrameBuf buf = slots[free[--freeCount]];
        poison.onTake(buf);
        return buf;
    }

    /** Makes a slot that was taken closed a buffer with the {@code lengthBytes} that the device wrote to it. */
    public FrameBuf openReceived(int slotIndex, int lengthBytes) {
        FrameBuf buf = slots[slotIndex];
        if (slotIndex < strideSlots) {
            StrideLayout layout = chunks.layout();
            return buf.openFilled(lengthBytes, layout.stridesOf(lengthBytes), layout.strideBytes());
        }
        return buf.openFilled(lengthBytes);
    }

    /** Returns a slot that was taken closed and never opened. Owner's thread only. */
    public void returnClosed(int slotIndex) {
        poison.onFree(slots[slotIndex]);
        free[freeCount++] = slotIndex;
    }

    /** Returns the allocator that hands out these slots. */
    public RegisteredByteBufAllocator allocator() {
        return allocator;
    }

    boolean isOwner(Thread thread) {
        return thread == owner;
    }

    /**
     * Releases slots that the caller alone has a reference to, up to the first that someone else has one to, or that is
     * more than a slot: a stride, or a buffer with others attached. The same as {@link FrameBuf#release} for each, but
     * what is the same for all is looked at once. Hot.
     *
     * @param slotIndices {@value #NONE} takes the place of each that is released, and ends what can be
     * @return how many were released
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
            if (slotIndex < strideSlots || !slots[slotIndex].releaseAlone()) {
                break;
            }
            slotIndices[i++] = NONE;
            stack[count++] = slotIndex;
        }
        freeCount = count;
        return i - from;
    }

    void giveBack(FrameBuf buf) {
        poison.onFree(buf);
        if (Thread.currentThread() == owner) {
            putBack(buf);
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

    private void putBack(FrameBuf buf) {
        int slotIndex = buf.slotIndex();
        if (slotIndex < strideSlots) {
            chunks.giveBack(slotIndex, buf.closeStrides(chunks.layout().strideBytes()));
        } else {
            free[freeCount++] = slotIndex;
        }
    }

    private void takeOverReturned() {
        FrameBuf buf = (FrameBuf) RETURNED.getAndSet(this, (FrameBuf) null);
        while (buf != null) {
            FrameBuf next = buf.nextReturned;
            buf.nextReturned = null;
            putBack(buf);
            buf = next;
        }
    }

    /**
     * Ends the ownership: no slot is taken any more. Runs {@code action} once every slot is back, at once if that is
     * so already, else on the thread that returns the last one.
     */
    void disown(Runnable action) {
        owner = null;
        onAllReturned = action;
        runIfAllReturned();
    }

    private synchronized void runIfAllReturned() {
        takeOverReturned();
        Runnable action = onAllReturned;
        if (freeCount == free.length && chunks.areAllBack() && action != null) {
            onAllReturned = null;
            action.run();
        }
    }

    /** Describes each slot that has not been released. Only after {@link #disown}, while the memory is mapped. */
    synchronized List<String> heldSlots() {
        if (onAllReturned == null) {
            return List.of();
        }
        takeOverReturned();
        boolean[] back = new boolean[slots.length];
        for (int i = 0; i < freeCount; i++) {
            back[free[i]] = true;
        }
        int stridesPerChunk = Math.max(1, chunks.layout().stridesPerChunk());
        return IntStream.range(0, slots.length)
                .filter(i -> i < strideSlots ? !chunks.isBack(i / stridesPerChunk) : !back[i])
                .mapToObj(i -> slots[i].describeHeld()).toList();
    }
}
