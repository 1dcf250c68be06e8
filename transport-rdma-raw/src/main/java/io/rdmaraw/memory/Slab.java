package io.rdmaraw.memory;

import io.rdmaraw.ffi.PageMemory;
import io.rdmaraw.verbs.MemoryRegion;
import io.rdmaraw.verbs.ProtectionDomain;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Page-aligned memory, registered as one memory region and cut into slots of one size,
 * behind chunks of strides if there are any.
 *
 * <p>Handlers may hold frames longer than the loop lives. After closing, no slot can be taken, and the memory is freed
 * when the last slot has been released.
 */
public final class Slab {
    /** {@code IBV_ACCESS_LOCAL_WRITE}: the device may write to the memory. */
    private static final int IBV_ACCESS_LOCAL_WRITE = 1;
    private static final Set<Slab> HELD = ConcurrentHashMap.newKeySet();

    private final PageMemory memory;
    private final MemoryRegion region;
    private final RegisteredRanges ranges;
    private final SlotPool pool;
    private boolean closed;

    private Slab(PageMemory memory, MemoryRegion region, RegisteredRanges ranges, SlotPool pool) {
        this.memory = memory;
        this.region = region;
        this.ranges = ranges;
        this.pool = pool;
    }

    /**
     * Maps and registers memory for {@code slotCount} slots.
     *
     * @param slotBytes length of a slot: a power of two of at least 64, so that slots do not share cache lines
     * @throws io.rdmaraw.verbs.VerbsException when the memory cannot be registered, with what is missing
     */
    public static Slab allocate(ProtectionDomain domain, RegisteredRanges ranges, int slotCount, int slotBytes) {
        return allocate(domain, ranges, StrideLayout.NONE, slotCount, slotBytes);
    }

    /** As {@link #allocate(ProtectionDomain, RegisteredRanges, int, int)}, with chunks of strides before the slots. */
    public static Slab allocate(ProtectionDomain domain, RegisteredRanges ranges, StrideLayout strides, int slotCount,
                                int slotBytes) {
        if (slotBytes < 64 || Integer.bitCount(slotBytes) != 1) {
            throw new IllegalArgumentException("slotBytes must be a power of two of at least 64, was " + slotBytes);
        }
        if (slotCount < 1) {
            throw new IllegalArgumentException("slotCount must be positive, was " + slotCount);
        }
        PageMemory memory = PageMemory.map(strides.lengthBytes() + (long) slotCount * slotBytes);
        MemoryRegion region;
        try {
            region = domain.registerMemory(memory.address(), memory.lengthBytes(),
                    IBV_ACCESS_LOCAL_WRITE | RelaxedOrdering.ACCESS_HERE);
        } catch (RuntimeException e) {
            memory.close();
            throw e;
        }
        SlotPool pool = new SlotPool(memory.address(), strides, slotCount, slotBytes, region.lkey(),
                SlotPoison.fromSystemProperty());
        ranges.add(memory.address(), memory.lengthBytes(), region.lkey());
        return new Slab(memory, region, ranges, pool);
    }

    /** Tells whether PCIe may reorder what devices write to slabs on this machine. */
    public static boolean relaxedOrdering() {
        return RelaxedOrdering.ACCESS_HERE != 0;
    }

    /** Returns the slots. */
    public SlotPool pool() {
        return pool;
    }

    /**
     * Returns how many slabs of this process are closed but not freed, because a slot has not been released. Any
     * thread.
     */
    public static int heldAfterClose() {
        return HELD.size();
    }

    /**
     * Describes each slot that keeps a closed slab from being freed: its number of references, and how its content
     * begins. For the search for the leak; any thread.
     */
    public static List<String> heldSlots() {
        return HELD.stream().flatMap(slab -> slab.pool.heldSlots().stream()).toList();
    }

    /**
     * Ends the taking of slots. On the owner's thread, once the device no longer writes to them.
     *
     * @param freed runs when the last slot is back and the memory is unregistered and unmapped
     */
    public void close(Runnable freed) {
        if (closed) {
            return;
        }
        closed = true;
        HELD.add(this);
        pool.disown(() -> {
            HELD.remove(this);
            ranges.remove(memory.address());
            region.close();
            memory.close();
            freed.run();
        });
    }
}
