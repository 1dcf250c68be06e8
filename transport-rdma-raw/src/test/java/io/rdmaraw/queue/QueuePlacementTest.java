package io.rdmaraw.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeLibrary;
import io.rdmaraw.memory.Slab;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.mlx5.BlueFlameFixture;
import io.rdmaraw.verbs.mlx5.Mlx5dv;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.VerbsContext;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests the completion vectors of queues and the registration of their memory on an emulated device. */
@Tag("emulated")
class QueuePlacementTest {
    private static final int DEPTH = 256;
    private static final SymbolLookup EMULATOR = NativeLibrary.load(System.getenv("LD_PRELOAD"));

    private final Arena arena = Arena.ofConfined();
    private final SharedDevice device = SharedDevice.acquire("mlx5_0");
    private final CompletionChannel channel = device.context().createCompletionChannel();

    @AfterEach
    void close() {
        channel.close();
        device.release();
        arena.close();
    }

    private FrameQueue open() {
        return FrameQueue.open(device, 1, channel, new FrameQueueOptions(DEPTH, DEPTH, 8, 1024, 2048,
                DirectAccess.ofProperty(), false, StridingReceive.NEVER));
    }

    private FrameQueue openByCalls() {
        return FrameQueue.open(device, 1, channel, new FrameQueueOptions(256, 256, 8, 1024, 2048,
                DirectAccess.NEVER, false, StridingReceive.NEVER));
    }

    private int query(String function, int number) {
        MemorySegment value = arena.allocate(ValueLayout.JAVA_INT);
        assertEquals(0, NativeCall.status(EMULATOR.findOrThrow(function).address(),
                arena.allocateFrom("mlx5_0").address(), number, value.address()));
        return value.get(ValueLayout.JAVA_INT, 0);
    }

    private int vectorOf(CompletionQueue queue) {
        return query("cxemu_query_completion_vector", Mlx5dv.ring(queue).number());
    }

    @Test
    void queuesUseCompletionVectorsInTurn() {
        assertEquals(2, device.context().completionVectorCount());
        try (FrameQueue first = open(); FrameQueue second = open(); FrameQueue third = open()) {
            int vector = vectorOf(first.receiveCompletionQueue());
            assertEquals(vector, vectorOf(first.sendCompletionQueue()), "one loop's queues interrupt one processor");
            assertNotEquals(vector, vectorOf(second.receiveCompletionQueue()));
            assertEquals(vector, vectorOf(third.receiveCompletionQueue()));
        }
    }

    /** More entries would be more memory for the device to write to, and less of it would stay in the cache. */
    @Test
    void completionQueuesHaveAnEntryPerRequest() {
        try (FrameQueue queue = FrameQueue.open(device, 1, channel, new FrameQueueOptions(DEPTH, DEPTH, 8, 1024, 2048,
                DirectAccess.AUTO, false, StridingReceive.NEVER))) {
            assertEquals(DEPTH, Mlx5dv.ring(queue.receiveCompletionQueue()).entries(), "receives");
            assertEquals(DEPTH, Mlx5dv.ring(queue.sendCompletionQueue()).entries(), "sends");
        }
    }

    /**
     * libmlx5 gives the first four queue pairs a register each, and distributes the others over the remaining
     * registers.
     */
    @Test
    void registerSharedWithLibmlx5IsDetected() {
        List<FrameQueue> byCalls = new ArrayList<>();
        while (byCalls.size() < 8) {
            byCalls.add(openByCalls());
        }
        try (FrameQueue rings = open()) {
            long register = Mlx5dv.rings(rings.queuePair()).blueFlameRegister();
            while (byCalls.stream().noneMatch(queue -> registerOf(queue) == register)) {
                assertFalse(BlueFlameFixture.isShared(register));
                assertTrue(byCalls.size() < 64, "every queue pair has a register of its own");
                byCalls.add(openByCalls());
            }
            assertTrue(BlueFlameFixture.isShared(register));
            byCalls.removeLast().close();
            assertFalse(BlueFlameFixture.isShared(register));
        } finally {
            byCalls.forEach(FrameQueue::close);
        }
    }

    private static long registerOf(FrameQueue queue) {
        return Mlx5dv.rings(queue.queuePair()).blueFlameRegister();
    }

    @Test
    void slabsAreRegisteredWithRelaxedOrdering() {
        try (FrameQueue queue = open()) {
            int access = query("cxemu_query_region_access", queue.slots().slot(0).lkey());
            assertEquals(VerbsContext.ACCESS_LOCAL_WRITE, access & ~VerbsContext.ACCESS_RELAXED_ORDERING);
            assertEquals(Slab.usesRelaxedOrdering(), (access & VerbsContext.ACCESS_RELAXED_ORDERING) != 0);
        }
    }
}
