package io.rdmaraw.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.HexFormat;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class InternetChecksumTest {
    private static final GuardedMemory MEMORY = new GuardedMemory();

    /** The example of RFC 1071 section 3. Its sum is ddf2. */
    @Test
    void matchesExampleOfRfc1071() {
        long address = MEMORY.putAtEnd(HexFormat.of().parseHex("0001f203f4f5f6f7"));
        assertEquals(~0xddf2 & 0xffff, InternetChecksum.finish(InternetChecksum.sum(address, 8)));
    }

    /** An IPv4 header with the checksum b861, published in many textbooks. */
    @Test
    void matchesKnownHeader() {
        byte[] header = HexFormat.of().parseHex("45000073000040004011b861c0a80001c0a800c7");
        long address = MEMORY.putAtEnd(header);
        assertTrue(InternetChecksum.isValid(InternetChecksum.sum(address, header.length)));
        header[10] = 0;
        header[11] = 0;
        assertEquals(0xb861, InternetChecksum.finish(InternetChecksum.sum(MEMORY.putAtEnd(header), header.length)));
    }

    @Property(tries = 3000)
    void matchesNaiveSumForEveryLengthAndAlignment(@ForAll @Size(max = 3000) byte[] bytes) {
        int expected = naive(bytes);
        assertEquals(expected, InternetChecksum.finish(InternetChecksum.sum(MEMORY.putAtEnd(bytes), bytes.length)));
        assertEquals(expected, InternetChecksum.finish(InternetChecksum.sum(MEMORY.putAtStart(bytes), bytes.length)));
        assertEquals(expected, InternetChecksum.finish(InternetChecksum.sum(Unpooled.wrappedBuffer(bytes), 0,
                bytes.length)));
    }

    @Test
    void matchesNaiveSumForAllOnes() {
        for (int length = 0; length < 600; length++) {
            byte[] ones = new byte[length];
            Arrays.fill(ones, (byte) 0xff);
            assertEquals(naive(ones), InternetChecksum.finish(InternetChecksum.sum(MEMORY.putAtEnd(ones), length)));
        }
        byte[] largest = new byte[65535];
        Arrays.fill(largest, (byte) 0xff);
        assertEquals(naive(largest), InternetChecksum.finish(InternetChecksum.sum(MEMORY.putAtEnd(largest), 65535)));
    }

    @Property(tries = 1000)
    void sumsOfPartsAddUp(@ForAll @Size(min = 1, max = 600) byte[] bytes, @ForAll int where) {
        int cut = Math.floorMod(where, bytes.length);
        long address = MEMORY.putAtEnd(bytes);
        long first = InternetChecksum.sum(address, cut);
        long second = InternetChecksum.sum(address + cut, bytes.length - cut);
        long whole = (cut & 1) == 0 ? first + second : InternetChecksum.addAtOddOffset(first, second);
        assertEquals(naive(bytes), InternetChecksum.finish(whole));
    }

    @Property(tries = 2000)
    void updateEqualsRecomputing(@ForAll @Size(40) byte[] bytes, @ForAll short word) {
        bytes[4] |= 1;
        int before = naive(bytes);
        int oldWord = (bytes[10] & 0xff) << 8 | bytes[11] & 0xff;
        bytes[10] = (byte) (word >> 8);
        bytes[11] = (byte) word;
        assertEquals(naive(bytes), InternetChecksum.update(before, oldWord, word));
    }

    /** RFC 1624 section 4: the example for which the older equation of RFC 1141 fails. */
    @Test
    void updateMatchesExampleOfRfc1624() {
        assertEquals(0x0000, InternetChecksum.update(0xdd2f, 0x5555, 0x3285));
    }

    @Test
    void pseudoHeaderSumsAreTheSameFromMemoryAndFromValues() {
        long v4 = MEMORY.atEnd(20);
        Ipv4Header.write(v4, 0, 40, 1, 0, 64, 6, 0xc0a80001, 0x0a0b0c0d);
        assertEquals(InternetChecksum.finish(InternetChecksum.pseudoHeaderIpv4(v4, 6, 1234)),
                InternetChecksum.finish(InternetChecksum.pseudoHeaderIpv4(0xc0a80001, 0x0a0b0c0d, 6, 1234)));
        long v6 = MEMORY.atEnd(40);
        Ipv6Header.setSource(v6, 0x20010db800000001L, 0xfedcba9876543210L);
        Ipv6Header.setDestination(v6, 0x20010db8ffff0001L, 0x0123456789abcdefL);
        assertEquals(InternetChecksum.finish(InternetChecksum.pseudoHeaderIpv6(v6, 17, 70000)),
                InternetChecksum.finish(InternetChecksum.pseudoHeaderIpv6(0x20010db800000001L, 0xfedcba9876543210L,
                        0x20010db8ffff0001L, 0x0123456789abcdefL, 17, 70000)));
        byte[] expected = HexFormat.of().parseHex("20010db800000001fedcba987654321020010db8ffff00010123456789abcdef"
                + "0001117000000011");
        assertEquals(naive(expected), InternetChecksum.finish(InternetChecksum.pseudoHeaderIpv6(v6, 17, 70000)));
    }

    @Test
    void buffersOfAllKindsHaveTheSameSum() {
        byte[] bytes = new byte[301];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i * 37);
        }
        byte[] part = Arrays.copyOfRange(bytes, 3, 290);
        ByteBuf composite = Unpooled.wrappedBuffer(Unpooled.wrappedBuffer(bytes, 0, 13), Unpooled.wrappedBuffer(bytes,
                13, 288));
        ByteBuf direct = Unpooled.directBuffer().writeBytes(bytes);
        for (ByteBuf buffer : new ByteBuf[] {composite, direct, Unpooled.copiedBuffer(bytes)}) {
            assertEquals(naive(part), InternetChecksum.finish(InternetChecksum.sum(buffer, 3, part.length)));
            assertThrows(IndexOutOfBoundsException.class, () -> InternetChecksum.sum(buffer, buffer.capacity() - 1, 2));
            buffer.release();
        }
    }

    @Test
    void wrongBitIsDetected() {
        byte[] header = HexFormat.of().parseHex("45000073000040004011b861c0a80001c0a800c7");
        for (int bit = 0; bit < header.length * 8; bit++) {
            byte[] damaged = header.clone();
            damaged[bit / 8] ^= (byte) (1 << bit % 8);
            assertFalse(InternetChecksum.isValid(InternetChecksum.sum(MEMORY.putAtEnd(damaged), damaged.length)));
        }
    }

    /** RFC 1071 literally: 16-bit words in network order, with the carries added at the end. */
    static int naive(byte[] bytes) {
        long sum = 0;
        for (int i = 0; i < bytes.length; i += 2) {
            sum += (bytes[i] & 0xff) << 8 | (i + 1 < bytes.length ? bytes[i + 1] & 0xff : 0);
        }
        while (sum >>> 16 != 0) {
            sum = (sum & 0xffff) + (sum >>> 16);
        }
        return (int) ~sum & 0xffff;
    }
}
