package io.rdmaraw.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.memory.StrideLayout;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.abi.StridingLimits;
import io.rdmaraw.verbs.StridingReceive;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Tests the division of memory for all kinds of devices and settings. */
class StridingPlanTest {
    private static final StridingLimits NEW_DEVICE = new StridingLimits(64, 8192, 8, 65536);
    private static final StridingLimits OLD_DEVICE = new StridingLimits(64, 8192, 512, 65536);

    private static FrameQueueOptions options(int depth, int slotCount, int slotBytes) {
        return new FrameQueueOptions(depth, 64, 2, slotCount, slotBytes, DirectAccess.AUTO, false,
                StridingReceive.AUTO);
    }

    @Example
    void halfOfTheMemoryIsForReceiving() {
        StridingPlan plan = StridingPlan.within(options(1024, 4096, 2048), NEW_DEVICE);
        assertEquals(new StridingPlan(new StrideLayout(32, 64, 2048), 2048, 16), plan);
    }

    @Example
    void longFrameUsesSeveralStrides() {
        StridingPlan plan = StridingPlan.within(options(1024, 4096, 16384), NEW_DEVICE);
        assertEquals(new StridingPlan(new StrideLayout(256, 64, 2048), 2048, 128), plan);
    }

    @Example
    void oldDevicesHaveLongRequests() {
        StridingPlan plan = StridingPlan.within(options(1024, 4096, 2048), OLD_DEVICE);
        assertEquals(new StridingPlan(new StrideLayout(4, 512, 2048), 2048, 2), plan);
        assertNull(StridingPlan.within(options(256, 1024, 2048), OLD_DEVICE));
    }

    @Property(tries = 2000)
    void planFitsIntoMemory(@ForAll @IntRange(min = 6, max = 13) int depthLog, @ForAll @IntRange(max = 20000) int more,
            @ForAll @IntRange(min = 8, max = 15) int slotLog, @ForAll boolean old) {
        StridingLimits limits = old ? OLD_DEVICE : NEW_DEVICE;
        FrameQueueOptions options = options(1 << depthLog, (1 << depthLog) + 256 + more, 1 << slotLog);
        StridingPlan plan = StridingPlan.within(options, limits);
        if (plan == null) {
            return;
        }
        StrideLayout layout = plan.layout();
        assertTrue(layout.lengthBytes() + (long) plan.slotCount() * options.slotBytes()
                <= (long) options.slotCount() * options.slotBytes(), plan::toString);
        assertTrue(plan.slotCount() >= 256, plan::toString);
        assertTrue(plan.maxRequests() >= 2 && plan.maxRequests() < layout.chunkCount(), plan::toString);
        assertTrue(layout.stridesPerChunk() >= limits.minStrides() && layout.chunkBytes() >= options.slotBytes(),
                plan::toString);
        assertTrue(plan.maxCompletions() >= plan.maxRequests() * layout.stridesPerChunk(), plan::toString);
    }
}
