package io.rdmaraw.tools.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tools.frame.EthernetAddresses;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProbeFrameTest {
    @ParameterizedTest
    @ValueSource(ints = {60, 61, 64, 67, 1514})
    void everyFlippedBitBehindTheHeaderIsFound(int lengthBytes) {
        ByteBuf frame = frame(77, lengthBytes);
        assertTrue(ProbeFrame.isIntact(frame, lengthBytes));
        assertEquals(77, ProbeFrame.sequence(frame));
        for (int bit = 12 * 8; bit < lengthBytes * 8; bit++) {
            int flip = 1 << bit % 8;
            frame.setByte(bit / 8, frame.getByte(bit / 8) ^ flip);
            assertFalse(ProbeFrame.isIntact(frame, lengthBytes), "bit " + bit);
            frame.setByte(bit / 8, frame.getByte(bit / 8) ^ flip);
        }
        assertTrue(ProbeFrame.isIntact(frame, lengthBytes));
    }

    @Test
    void aFrameOfAnotherLengthIsNotIntact() {
        ByteBuf frame = frame(1, 64);
        assertFalse(ProbeFrame.isIntact(frame.slice(0, 60), 64));
        assertFalse(ProbeFrame.isIntact(Unpooled.copiedBuffer(frame, Unpooled.buffer(4).writeInt(0)), 64));
    }

    @Test
    void contentDependsOnTheNumber() {
        assertFalse(ByteBufUtil.equals(frame(1, 64), 30, frame(2, 64), 30, 8));
    }

    @Test
    void addressesAreWrittenAndSwapped() {
        ByteBuf frame = frame(1, 64);
        ProbeFrame.writeHeader(frame, 0x0a0b0c0d0e0fL, 0xf10203040506L);
        assertEquals("0a0b0c0d0e0ff1020304050688b5", ByteBufUtil.hexDump(frame, 0, 14));
        EthernetAddresses.swap(frame);
        assertEquals("f102030405060a0b0c0d0e0f88b5", ByteBufUtil.hexDump(frame, 0, 14));
    }

    private static ByteBuf frame(long sequence, int lengthBytes) {
        ByteBuf frame = Unpooled.buffer(lengthBytes).writerIndex(lengthBytes);
        ProbeFrame.writeHeader(frame, 2, 1);
        ProbeFrame.stamp(frame, sequence, lengthBytes);
        return frame;
    }
}
