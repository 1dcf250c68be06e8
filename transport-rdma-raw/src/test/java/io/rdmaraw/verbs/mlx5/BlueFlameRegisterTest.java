package io.rdmaraw.verbs.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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
        final int halfBytes;
        int rings;

        Sender(int number) {
            this(rings(number, 0, 0, HALF_BYTES), 0, BlueFlameUse.SINGLE);
        }

        /** Creates a sender at a register that is described by {@code like}. */
        Sender(QueuePairRings like, int maxInlineBlocks, BlueFlameUse use) {
            long record = arena.allocate(Long.BYTES, Long.BYTES).address();
            halfBytes = like.blueFlameBytes();
            queue = new Mlx5SendQueue(rings(like.number(), ring.address(), record, halfBytes), false,
                    maxInlineBlocks, 0, use);
        }

        /**
         * Sends a frame. Returns whether the whole request was written to the register, and not only its first 8
         * bytes.
         */
        boolean copiesItsRequest() {
            register.fill(FILL);
            MemorySegment half = register.asSlice((long) (rings++ & 1) * halfBytes, Wqe.BLOCK_BYTES);
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

    private QueuePairRings rings(int number, long ring, long record, int halfBytes) {
        return new QueuePairRings(number, ring, BLOCKS, new ReceiveQueueRing(0, 1, Wqe.UNIT_BYTES, record), record,
                register.address(), halfBytes);
    }

    @Test
    void queueWithOwnRegisterWritesRequestsToIt() {
        Sender only = new Sender(1);
        for (int i = 0; i < BLOCKS; i++) {
            assertTrue(only.copiesItsRequest());
        }
        only.queue.close();
    }

    /** libmlx5 reports a size of 0 for registers that are not write-combining. */
    @Test
    void registerWithoutHalvesGetsOnlyDoorbells() {
        Sender only = new Sender(rings(1, 0, 0, 0), 1, BlueFlameUse.SINGLE);
        for (int i = 0; i < BLOCKS; i++) {
            assertFalse(only.copiesItsRequest());
        }
        only.queue.close();
    }

    @ParameterizedTest
    @CsvSource({"1, 1, false, false", "yes, 1, false, false", "0, 1, true, true", "0, 0, true, false"})
    void variablesOfLibmlx5AreObeyed(String shutUp, String prefer, boolean inline, boolean pointed) {
        BlueFlameUse use = BlueFlameUse.of(Map.of("MLX5_SHUT_UP_BF", shutUp, "MLX5_POST_SEND_PREFER_BF", prefer));
        Sender holding = new Sender(rings(1, 0, 0, HALF_BYTES), 2, use);
        assertEquals(inline, holding.copiesItsRequest(), "a frame in its request");
        holding.queue.close();
        Sender pointing = new Sender(rings(1, 0, 0, HALF_BYTES), 0, use);
        assertEquals(pointed, pointing.copiesItsRequest(), "a frame that its request points to");
        pointing.queue.close();
    }

    @Test
    void singleRequestsUseBlueFlameByDefault() {
        assertEquals(BlueFlameUse.SINGLE, BlueFlameUse.of(Map.of()));
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
        Runnable end = Mlx5SendQueue.registerVerbsSender(rings(2, 0, 0, HALF_BYTES));
        assertFalse(rings.copiesItsRequest());
        end.run();
        assertTrue(rings.copiesItsRequest(), "the other queue pair is gone");
        rings.queue.close();
    }
}
