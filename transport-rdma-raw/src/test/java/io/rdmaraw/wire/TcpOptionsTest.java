package io.rdmaraw.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;


import io.rdmaraw.ffi.NativeMemory;
import java.util.HexFormat;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class TcpOptionsTest {
    private static final GuardedMemory MEMORY = new GuardedMemory();
    private final TcpOptions options = new TcpOptions();

    private boolean parse(String hex) {
        byte[] bytes = HexFormat.of().parseHex(hex.replace(" ", ""));
        return options.parse(MEMORY.putAtEnd(bytes), bytes.length);
    }

    /** The options of a SYN sent by Linux. */
    @Test
    void readsSynOfLinux() {
        assertTrue(parse("020405b4 0402080a 01020304 00000000 01030307"));
        assertEquals(1460, options.maximumSegmentSize());
        assertTrue(options.isSackPermitted());
        assertTrue(options.hasTimestamps());
        assertEquals(0x01020304, options.timestampValue());
        assertEquals(0, options.timestampEcho());
        assertEquals(7, options.windowScale());
        assertEquals(0, options.sackBlockCount());
        assertEquals(TcpOptions.ABSENT, options.fastOpenCookieLengthBytes());
    }

    @Test
    void readsTimestampsAndSack() {
        assertTrue(parse("0101080a 11111111 22222222 0101050a fffffff0 00000010"));
        assertEquals(0x11111111, options.timestampValue());
        assertEquals(0x22222222, options.timestampEcho());
        assertEquals(1, options.sackBlockCount());
        assertEquals(-16, options.sackStart(0));
        assertEquals(16, options.sackEnd(0));
    }

    /** RFC 9768 section 3.2.3: two orders of the counters, and any length. */
    @Test
    void readsAccEcnInBothOrders() {
        assertTrue(parse("ae0b 000001 000203 040506 01"));
        assertEquals(7, options.accEcnCounters());
        assertEquals(1, options.accEcnEct1Bytes());
        assertEquals(0x203, options.accEcnCeBytes());
        assertEquals(0x40506, options.accEcnEct0Bytes());
        assertTrue(parse("ac08 ffffff 000203"));
        assertEquals(TcpOptions.ACC_ECN_CE | TcpOptions.ACC_ECN_ECT0, options.accEcnCounters());
        assertEquals(0xFFFFFF, options.accEcnEct0Bytes());
        assertEquals(0, options.accEcnEct1Bytes());
        assertTrue(parse("ac0b 000001 000002 000003 01"));
        assertEquals(3, options.accEcnEct1Bytes());
        assertTrue(parse("ae02"));
        assertEquals(0, options.accEcnCounters());
        assertTrue(parse("ae07 000001 0000"));
        assertEquals(TcpOptions.ACC_ECN_ECT1, options.accEcnCounters());
        assertTrue(parse("ae0e 000001 000002 000003 ffffff 0101"));
        assertEquals(3, options.accEcnEct0Bytes());
        assertFalse(parse("ae0b 000001 000002 0000"));
        assertEquals(TcpOptions.ABSENT, options.accEcnCounters());
    }

    @Test
    void alignedFastPathClearsPreviousOptions() {
        parse("020405b4 0402080a 01020304 00000000 01030307");
        assertTrue(parse("0101080a 0a0b0c0d 01010101"));
        assertEquals(0x0a0b0c0d, options.timestampValue());
        assertEquals(TcpOptions.ABSENT, options.maximumSegmentSize());
        assertEquals(TcpOptions.ABSENT, options.windowScale());
        assertFalse(options.isSackPermitted());
    }

    @Test
    void limitsWindowScale() {
        assertTrue(parse("0303ff00"));
        assertEquals(14, options.windowScale());
    }

    @Test
    void invalidLengthEndsParsingAndKeepsEarlierOptions() {
        assertFalse(parse("020405b4 08000000"));
        assertEquals(1460, options.maximumSegmentSize());
        assertFalse(parse("020405b4 080a0000"));
        assertFalse(options.hasTimestamps());
        assertFalse(parse("01010108"));
        assertFalse(parse("0501"));
    }

    @Test
    void knownKindWithWrongLengthIsIgnored() {
        assertTrue(parse("0203ff 0402 03020000"));
        assertEquals(TcpOptions.ABSENT, options.maximumSegmentSize());
        assertTrue(options.isSackPermitted());
        assertTrue(parse("0509 00000000000000 0000"));
        assertEquals(0, options.sackBlockCount());
        assertTrue(parse("0502"));
        assertEquals(0, options.sackBlockCount());
    }

    @Test
    void unknownKindsAreSkippedUntilTheEnd() {
        assertTrue(parse("fd04abcd 020405b4 00 03030700000000"));
        assertEquals(1460, options.maximumSegmentSize());
        assertEquals(TcpOptions.ABSENT, options.windowScale());
    }

    @Test
    void readsFastOpenCookie() {
        assertTrue(parse("220a1122334455667788 0101"));
        assertEquals(8, options.fastOpenCookieLengthBytes());
        assertEquals(2, options.fastOpenCookieOffset());
        assertTrue(parse("22020101"));
        assertEquals(0, options.fastOpenCookieLengthBytes());
    }

    @Property(tries = 20000)
    void arbitraryBytesAreReadWithinBounds(@ForAll @Size(max = 40) byte[] bytes) {
        options.parse(MEMORY.putAtEnd(bytes), bytes.length);
        options.parse(MEMORY.putAtStart(bytes), bytes.length);
        assertTrue(options.sackBlockCount() <= TcpOptions.MAX_SACK_BLOCKS);
        assertTrue(options.windowScale() <= 14);
        assertTrue(options.fastOpenCookieOffset() + options.fastOpenCookieLengthBytes() <= bytes.length);
    }

    /** Bytes typical for options, so that every kind occurs at the end of the memory with every length. */
    @Test
    void typicalBytesAreReadWithinBounds() {
        int[] likely = {0, 1, 2, 3, 4, 5, 6, 8, 10, 18, 34, 40};
        Random random = new Random(1);
        for (int i = 0; i < 500_000; i++) {
            byte[] bytes = new byte[random.nextInt(41)];
            for (int k = 0; k < bytes.length; k++) {
                bytes[k] = (byte) likely[random.nextInt(likely.length)];
            }
            options.parse(MEMORY.putAtEnd(bytes), bytes.length);
            assertTrue(options.fastOpenCookieOffset() + options.fastOpenCookieLengthBytes() <= bytes.length);
        }
    }

    @Property(tries = 500)
    void writtenOptionsAreReadBack(@ForAll @IntRange(max = 65535) int mss, @ForAll @IntRange(max = 14) int shift,
            @ForAll int value, @ForAll int echo, @ForAll @IntRange(min = 1, max = 4) int blocks) {
        long start = MEMORY.atEnd(64);
        long end = TcpOptionWriter.maximumSegmentSize(start, mss);
        end = TcpOptionWriter.sackPermittedAndTimestamps(end, value, echo);
        end = TcpOptionWriter.windowScale(end, shift);
        assertTrue(options.parse(start, (int) (end - start)));
        assertEquals(mss, options.maximumSegmentSize());
        assertEquals(shift, options.windowScale());
        assertTrue(options.isSackPermitted());
        assertEquals(value, options.timestampValue());
        assertEquals(echo, options.timestampEcho());
        end = TcpOptionWriter.sackHead(TcpOptionWriter.sackPermitted(start), blocks);
        for (int i = 0; i < blocks; i++) {
            end = TcpOptionWriter.sackBlock(end, value + i, echo - i);
        }
        assertTrue(options.parse(start, (int) (end - start)));
        assertEquals(blocks, options.sackBlockCount());
        for (int i = 0; i < blocks; i++) {
            assertEquals(value + i, options.sackStart(i));
            assertEquals(echo - i, options.sackEnd(i));
        }
    }

    @Test
    void writtenOptionsHaveTheBytesOfTheStandard() {
        long start = MEMORY.atEnd(40);
        long end = TcpOptionWriter.timestamps(TcpOptionWriter.maximumSegmentSize(start, 1460), 1, 2);
        assertArrayEquals(HexFormat.of().parseHex("020405b40101080a0000000100000002"),
                GuardedMemory.bytes(start, (int) (end - start)));
        NativeMemory.putByte(start, (byte) TcpOptions.KIND_NOP);
        assertEquals(start + 4, TcpOptionWriter.pad(start, start + 1));
        assertArrayEquals(new byte[] {1, 0, 0, 0}, GuardedMemory.bytes(start, 4));
        assertEquals(start + 4, TcpOptionWriter.pad(start, start + 4));
    }
}
