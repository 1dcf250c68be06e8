package io.rdmaraw.verbs.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A queue writes whole requests to an exclusive register, but only doorbells to a shared one. */
class BlueFlameRegisterTest {
    private static final int HALF_BYTES = 256;
    private static final int BLOCKS = 16;
    private static final int FRAME_BYTES = 64;
    private static final byte FILL = (byte) 0xa5;

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment register = arena.allocate(2 * HALF_BYTES, 2 * HALF_BYTES);
    private final long frame = arena.allocate(FRAME_BYTES, FRAME_BYTES).address();

    @AfterEach
    void free() {
        arena.close();
    }

    /** A send queue in plain memory. */
    private final class Sender {
        final MemorySegment ring = arena.allocate((long) BLOCKS * Wqe.BLOCK_BYTES, Wqe.BLOCK_BYTES);
        final Mlx5SendQueue queue;
        int rings;

        Sender(int number) {
            long record = arena.allocate(Long.BYTES, Long.BYTES).address();
            queue = new Mlx5SendQueue(rings(number, ring.address(), record), false, 1);
        }

        /**
         * Sends a frame. Returns whether the whole request was written to the register, and not only its first 8
         * bytes.
         */
        boolean copiesItsRequest() {
            register.fill(FILL);
            MemorySegment half = register.asSlice((long) (rings++ & 1) * HALF_BYTES, Wqe.BLOCK_BYTES);
            int block = queue.put(frame, FRAME_BYTES, 1);
            queue.signalLast();
            queue.ringDoorbell();
            long differs = ring.asSlice((long) block * Wqe.BLOCK_BYTES, Wqe.BLOCK_BYTES).mismatch(half);
            if (differs >= 0) {
                assertEquals(Long.BYTES, differs, "bytes of the doorbell");
            }
            return differs < 0;
        }
    }

    private QueuePairRings rings(int number, long ring, long record) {
        return new QueuePairRings(number, ring, BLOCKS, new ReceiveQueueRing(0, 1, Wqe.UNIT_BYTES, record), record,
                register.address(), HALF_BYTES);
    }

    @Test
    void queueWithOwnRegisterWritesRequestsToIt() {
        Sender only = new Sender(1);
        for (int i = 0; i < BLOCKS; i++) {
            assertTrue(only.copiesItsRequest());
        }
        only.queue.close();
    }

    @Test
    void queuesWithSharedRegisterWriteOnlyDoorbells() {
        Sender first = new Sender(1);
        assertTrue(first.copiesItsRequest());
        Sender second = new Sender(2);
        assertFalse(first.copiesItsRequest());
        assertFalse(second.copiesItsRequest());
        first.queue.close();
        assertTrue(second.copiesItsRequest(), "the other queue pair is gone");
        second.queue.close();
        Sender third = new Sender(3);
        assertTrue(third.copiesItsRequest(), "a register that was given back");
        third.queue.close();
    }

    @Test
    void queuePairDrivenByLibmlx5SharesItsRegister() {
        Sender rings = new Sender(1);
        Runnable end = Mlx5SendQueue.registerVerbsSender(rings(2, 0, 0));
        assertFalse(rings.copiesItsRequest());
        end.run();
        assertTrue(rings.copiesItsRequest(), "the other queue pair is gone");
        rings.queue.close();
    }
}
