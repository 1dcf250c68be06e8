package io.rdmaraw.memory;

import io.netty.buffer.ByteBufAllocator;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.LongAdder;

/**
 * The free slots of one slab, owned by one event loop.
 *
 * <p>The owner's thread takes and returns slots on an array stack: the slot used last is the one whose lines are still
 * in the cache. Every other thread returns slots through a linked list that the owner takes over whole, so neither side
 * locks and there is no ABA problem. Only the owner takes slots.
 */
public final class SlotPool {
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
    /** The free slots' numbers. Numbers, because storing a reference into an old array costs G1 a fence. */
    private final int[] free;
    private final SlotPoison poison;
    private final RegisteredByteBufAllocator allocator;
    private final LongAdder movedOut = new LongAdder();
    private int freeCount;
    private volatile Thread owner;
    @SuppressWarnings("unused") // through RETURNED
    private volatile FrameBuf returned;
    /** Set once the owner is gone; from then on whoever returns the last slot runs {@link #onAllReturned}. */
    private volatile Runnable onAllReturned;

    SlotPool(long firstSlotAddress, int slotCount, int strideBytes, int lkey, SlotPoison poison) {
        this.poison = poison;
        int slotBytes = capacityBytes(strideBytes);
        allocator = new RegisteredByteBufAllocator(this, slotBytes);
        slots = new FrameBuf[slotCount];
        free = new int[slotCount];
        // Filled from the end so that the first slots taken are the first in memory.
        for (int i = 0; i < slotCount; i++) {
            long address = firstSlotAddress + (long) i * strideBytes + colourOffsetBytes(i, strideBytes);
            slots[i] = new FrameBuf(this, address, slotBytes, i, lkey);
            free[slotCount - 1 - i] = i;
            poison.onFree(slots[i]);
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

    /** Says which thread takes slots from now on. Called by the loop whenever it (re)starts on a thread. */
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

    /** Returns the number of all slots. */
    public int slotCount() {
        return slots.length;
    }

    /** Returns how many slots the owner could take now. Owner's thread only. */
    public int available() {
        if (returned != null) {
            takeOverReturned();
        }
        return freeCount;
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
     * Takes a free slot without making it a live buffer: what is posted to a receive queue has no user yet, and is
     * opened by {@link #openReceived} when a frame has come in.
     */
    public FrameBuf takeClosed() {
        if (freeCount == 0 && (returned == null || takeOverReturned() == 0)) {
            return null;
        }
        FrameBuf buf = slots[free[--freeCount]];
        poison.onTake(buf);
        return buf;
    }

    /** Makes a slot that was taken closed a buffer with the {@code lengthBytes} that the device wrote to it. */
    public FrameBuf openReceived(int slotIndex, int lengthBytes) {
        FrameBuf buf = slots[slotIndex];
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

    /** Returns how often a buffer outgrew its slot, after which its content is no longer registered. */
    public long movedOutCount() {
        return movedOut.sum();
    }

    void countMovedOut() {
        movedOut.increment();
    }

    boolean isOwner(Thread thread) {
        return thread == owner;
    }

    void giveBack(FrameBuf buf) {
        poison.onFree(buf);
        if (Thread.currentThread() == owner) {
            free[freeCount++] = buf.slotIndex();
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

    private int takeOverReturned() {
        FrameBuf buf = (FrameBuf) RETURNED.getAndSet(this, (FrameBuf) null);
        int taken = 0;
        while (buf != null) {
            FrameBuf next = buf.nextReturned;
            buf.nextReturned = null;
            free[freeCount++] = buf.slotIndex();
            buf = next;
            taken++;
        }
        return taken;
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
        if (freeCount == slots.length && action != null) {
            onAllReturned = null;
            action.run();
        }
    }
}
