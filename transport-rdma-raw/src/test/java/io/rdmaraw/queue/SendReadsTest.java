package io.rdmaraw.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeLibrary;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.objects.CompletionChannel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Measures the bytes that a card reads over PCIe to send a burst, and the number of doorbells. */
@Tag("emulated")
@Timeout(60)
class SendReadsTest {
    private static final String DEVICE = "mlx5_0";
    private static final int FRAME_BYTES = 60;
    private static final int BURST = FrameQueue.MAX_BURST_FRAMES;
    /** Number of counters in {@code struct cxemu_counters}. */
    private static final int COUNTERS = 64;
    private static final int DOORBELLS = 15;
    private static final int REQUEST_BYTES = 22;
    private static final int FRAME_READS = 24;

    /** A control and Ethernet segment, and a data segment for each of 32 frames: 9 blocks. */
    private static final int MULTI_PACKET_REQUEST_BYTES = 9 * 64;

    @Test
    void multiPacketRequestsReduceReadsOfABurst() {
        SharedDevice device = SharedDevice.acquire(DEVICE);
        CompletionChannel channel = device.context().createCompletionChannel();
        FrameQueue queue = FrameQueue.open(device, device.context().ownPort(), channel,
                new FrameQueueOptions(128, 128, 4, 512, 2048, DirectAccess.REQUIRED, false, StridingReceive.NEVER));
        long[] before = counters();
        for (int i = 0; i < BURST; i++) {
            FrameBuf frame = queue.slots().acquire();
            frame.writeZero(FRAME_BYTES);
            assertEquals(FrameQueue.ACCEPTED, queue.offer(frame));
        }
        assertEquals(0, queue.post());
        awaitSent(queue);
        long[] after = counters();
        boolean several = queue.mode().contains("multi-packet requests");
        assertEquals(Boolean.getBoolean("io.rdmaraw.multiPacketRequests"), several);
        assertEquals(several ? 2 * MULTI_PACKET_REQUEST_BYTES : BURST * 64,
                after[REQUEST_BYTES] - before[REQUEST_BYTES]);
        assertEquals(BURST, after[FRAME_READS] - before[FRAME_READS]);
        assertEquals(1, after[DOORBELLS] - before[DOORBELLS]);
        queue.close();
        channel.close();
        device.release();
    }

    private static void awaitSent(FrameQueue queue) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (queue.inFlight() > 0) {
            queue.reclaim();
            assertTrue(System.nanoTime() - deadline < 0, queue.inFlight() + " frames in flight");
        }
    }

    private static long[] counters() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment counters = arena.allocate(ValueLayout.JAVA_LONG, COUNTERS);
            long function = NativeLibrary.load(System.getenv("LD_PRELOAD")).findOrThrow("cxemu_query_counters")
                    .address();
            assertEquals(0, NativeCall.status(function, arena.allocateFrom(DEVICE).address(), counters.address()));
            return counters.toArray(ValueLayout.JAVA_LONG);
        }
    }
}
