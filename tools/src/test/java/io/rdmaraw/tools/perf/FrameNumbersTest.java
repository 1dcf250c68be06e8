package io.rdmaraw.tools.perf;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.Unpooled;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.wire.InternetChecksum;
import java.lang.foreign.Arena;
import org.junit.jupiter.api.Test;

class FrameNumbersTest {
    @Test
    void missingFramesAreCountedAcrossTheEndOfTheNumbers() {
        FrameNumbers numbers = new FrameNumbers();
        for (long number = (1L << 31) - 3; number < (1L << 31) + 3; number++) {
            if (number != 1L << 31) {
                numbers.add(number & Stamp.NUMBER_MASK);
            }
        }
        assertEquals(1, numbers.lost());
        assertEquals(0, numbers.reordered());
    }

    @Test
    void aLateFrameIsNotALostOne() {
        FrameNumbers numbers = new FrameNumbers();
        for (long number : new long[] {5, 7, 6, 4, 8}) {
            numbers.add(number);
        }
        assertEquals(0, numbers.lost());
        assertEquals(2, numbers.reordered());
    }

    @Test
    void framesWithoutNumbersTellNothing() {
        FrameNumbers numbers = new FrameNumbers();
        numbers.add(1);
        numbers.add(Stamp.NONE);
        assertEquals(BandwidthSample.UNKNOWN, numbers.lost());
    }

    @Test
    void aStampLeavesTheChecksumAlone() {
        try (Arena arena = Arena.ofConfined()) {
            long address = arena.allocate(Stamp.LENGTH_BYTES).address();
            for (int number : new int[] {0, 1, 0x12345678, Stamp.WARM_UP | 99, -1}) {
                Stamp.write(address, number);
                assertEquals(Integer.toUnsignedLong(number), Stamp.read(address));
                byte[] bytes = NativeMemory.segment(address, 8).toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
                assertEquals(0, InternetChecksum.finish(InternetChecksum.sum(Unpooled.wrappedBuffer(bytes), 0, 8)));
            }
            NativeMemory.putLong(address, 0x4242424242424242L);
            assertEquals(Stamp.NONE, Stamp.read(address));
        }
    }
}
