package io.rdmaraw.memory;

import io.rdmaraw.ffi.PageMemory;
import io.rdmaraw.verbs.objects.MemoryRegion;
import io.rdmaraw.verbs.objects.ProtectionDomain;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Page-aligned memory, registered as one memory region. It is divided into optional chunks of strides, followed
 * by slots of equal size.
 *
 * <p>Handlers may hold frames longer than the loop exists. After closing no slot can be taken, and the memory
 * is freed when the last slot is released.
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
     * Maps and registers memory.
     *
     * @param slotCount number of slots
     * @param slotBytes length of a slot: a power of two of at least 64, so that slots do not share cache lines
     * @throws io.rdmaraw.verbs.VerbsException if the memory cannot be registered
     */
    public static Slab allocate(ProtectionDomain domain, RegisteredRanges ranges, int slotCount, int slotBytes) {
        return allocate(domain, ranges, StrideLayout.NONE, slotCount, slotBytes);
    }

    /**
     * Like {@link #allocate(ProtectionDomain, RegisteredRanges, int, int)}, with chunks of strides before the
     * slots.
     */
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
                    IBV_ACCESS_LOCAL_WRITE | RelaxedOrdering.HOST_ACCESS_FLAG);
        } catch (RuntimeException e) {
            memory.close();
            throw e;
        }
        SlotPool pool = new SlotPool(memory.address(), strides, slotCount, slotBytes, region.lkey(),
                SlotPoison.fromSystemProperty());
        ranges.add(memory.address(), memory.lengthBytes(), region.lkey());
        return new Slab(memory, region, ranges, pool);
    }

    /** Returns whether PCIe may reorder the devices' writes to slabs on this machine. */
    public static boolean usesRelaxedOrdering() {
        return RelaxedOrdering.HOST_ACCESS_FLAG != 0;
    }

    /** Returns the pool of slots. */
    public SlotPool pool() {
        return pool;
    }

    /**
     * Returns the number of closed slabs in this process that are not freed because slots are still held.
     * Thread-safe.
     */
    public static int heldSlabCount() {
        return HELD.size();
    }

    /**
     * Describes the slots that keep closed slabs from being freed: reference count and start of the content.
     * For finding leaks. Thread-safe.
     */
    public static List<String> describeHeldSlots() {
        return HELD.stream().flatMap(slab -> slab.pool.describeHeldSlots().stream()).toList();
    }

    /**
     * Closes the slab: no further slots can be taken. Must be called on the owner's thread after the device has
     * stopped writing.
     *
     * @param onFreed runs after the last slot was returned and the memory was unregistered and unmapped
     */
    public void close(Runnable onFreed) {
        if (closed) {
            return;
        }
        closed = true;
        HELD.add(this);
        pool.retireWhenReturned(() -> {
            HELD.remove(this);
            ranges.remove(memory.address());
            region.close();
            memory.close();
            onFreed.run();
        });
    }
}
