package io.rdmaraw.tcp.stack.receive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;
import java.util.stream.Stream;

/** Merges received pieces into one message. Bytes keep their order and no reference is lost. */
class StreamReceiveQueueTest {
    /** An allocator that fails, as one of the user may. */
    private static final class Failing extends AbstractByteBufAllocator {
        Failing() {
            super(true);
        }

        @Override
        protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
            throw new OutOfMemoryError("planted");
        }

        @Override
        public boolean isDirectBufferPooled() {
            return false;
        }

        @Override
        protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
            throw new OutOfMemoryError("planted");
        }

        @Override
        public CompositeByteBuf compositeBuffer(int maxNumComponents) {
            throw new OutOfMemoryError("planted");
        }
    }

    private final StreamReceiveQueue received = new StreamReceiveQueue();

    private static ByteBuf piece(int bytes, int first) {
        ByteBuf piece = Unpooled.directBuffer(bytes);
        for (int i = 0; i < bytes; i++) {
            piece.writeByte(first + i);
        }
        return piece;
    }

    @ParameterizedTest
    @CsvSource({"10, 20", "1000, 1000", "600, 40000", "60000, 60000"})
    void failingAllocatorLosesNoPiece(int firstBytes, int secondBytes) {
        List<ByteBuf> pieces = Stream.of(piece(firstBytes, 0), piece(secondBytes, 7)).toList();
        pieces.forEach(received::add);
        if (firstBytes + secondBytes > 1 << 16) {
            assertEquals(firstBytes, takeAndRelease(new Failing()), "a single piece needs no memory");
        } else {
            assertThrows(OutOfMemoryError.class, () -> received.pollMerged(new Failing(), Integer.MAX_VALUE));
        }
        received.drop();
        assertTrue(received.isEmpty());
        pieces.forEach(piece -> assertEquals(0, piece.refCnt()));
    }

    @ParameterizedTest
    @CsvSource({"10, 20, 30", "1000, 1000, 2000", "600, 40000, 40600", "60000, 60000, 60000"})
    void piecesAreMergedInOrder(int firstBytes, int secondBytes, int mergedBytes) {
        List<ByteBuf> pieces = Stream.of(piece(firstBytes, 0), piece(secondBytes, firstBytes)).toList();
        pieces.forEach(received::add);
        ByteBuf merged = received.pollMerged(UnpooledByteBufAllocator.DEFAULT, Integer.MAX_VALUE);
        assertEquals(mergedBytes, merged.readableBytes());
        for (int i = 0; i < mergedBytes; i++) {
            assertEquals((byte) i, merged.getByte(i), "byte " + i);
        }
        merged.release();
        received.drop();
        pieces.forEach(piece -> assertEquals(0, piece.refCnt()));
    }

    private int takeAndRelease(Failing allocator) {
        ByteBuf taken = received.pollMerged(allocator, Integer.MAX_VALUE);
        int bytes = taken.readableBytes();
        taken.release();
        return bytes;
    }
}
