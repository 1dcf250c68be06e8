package io.rdmaraw.wire;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The Internet checksum (RFC 1071) and its incremental update (RFC 1624).
 *
 * <p>A <i>sum</i> is a {@code long} with a partial one's-complement sum in native byte order. It is opaque: pass
 * it to the next {@code sum} call or to {@link #finish}. A <i>checksum</i> is the 16-bit value in the header.
 *
 * <p>A sum may cover at most 2^32 words of 32 bits without overflow, far more than a packet has.
 */
public final class InternetChecksum {
    private static final long LOW_32 = 0xffff_ffffL;
    /** Length from which the loop that C2 vectorizes is faster than the one with little setup cost. */
    private static final int VECTOR_THRESHOLD_BYTES = 192;
    private static final boolean LITTLE = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

    private InternetChecksum() {
    }

    /** Returns the sum of {@code lengthBytes} bytes. An odd length is padded with a zero byte. */
    public static long sum(long address, int lengthBytes) {
        return lengthBytes < VECTOR_THRESHOLD_BYTES ? sumShort(address, lengthBytes) : sumLong(address, lengthBytes);
    }

    /**
     * Returns {@code initial} plus the sum of {@code lengthBytes} bytes. The preceding data must have an even
     * length.
     */
    public static long sum(long address, int lengthBytes, long initial) {
        return initial + sum(address, lengthBytes);
    }

    /** Returns {@code sum} plus the sum of bytes that start at an odd offset of the checksummed data. */
    public static long addAtOddOffset(long sum, long oddSum) {
        int folded = fold(oddSum);
        return sum + ((folded & 0xff) << 8 | folded >>> 8);
    }

    /**
     * Sums 64-bit words with end-around carry: three instructions per word and little setup, for headers. Two
     * accumulators are used because each addition depends on the one before.
     */
    private static long sumShort(long address, int lengthBytes) {
        long even = 0;
        long odd = 0;
        long position = address;
        long end = address + (lengthBytes & ~15);
        for (; position < end; position += 16) {
            long first = NativeMemory.getLong(position);
            long second = NativeMemory.getLong(position + 8);
            even = addWithCarry(even, first);
            odd = addWithCarry(odd, second);
        }
        return halves(even) + halves(odd) + tail(position, lengthBytes & 15);
    }

    /** Sums 32-bit words into a long. C2 of JDK 25 vectorizes this form, a plain reduction over a segment. */
    private static long sumLong(long address, int lengthBytes) {
        MemorySegment segment = NativeMemory.segment(address, lengthBytes);
        long sum = 0;
        int words = lengthBytes >> 2;
        for (int i = 0; i < words; i++) {
            sum += segment.get(ValueLayout.JAVA_INT_UNALIGNED, (long) i << 2) & LOW_32;
        }
        return sum + tail(address + ((long) words << 2), lengthBytes & 3);
    }

    private static long tail(long address, int lengthBytes) {
        long sum = 0;
        long position = address;
        int remaining = lengthBytes;
        if (remaining >= 8) {
            sum += halves(NativeMemory.getLong(position));
            position += 8;
            remaining -= 8;
        }
        if (remaining >= 4) {
            sum += NativeMemory.getInt(position) & LOW_32;
            position += 4;
            remaining -= 4;
        }
        if (remaining >= 2) {
            sum += NativeMemory.getShort(position) & 0xffff;
            position += 2;
            remaining -= 2;
        }
        return remaining == 0 ? sum : sum + paddedByte(NativeMemory.getByte(position));
    }

    /** Returns the sum of a part of any buffer. The reader and writer indices do not change. */
    public static long sum(ByteBuf buffer, int index, int lengthBytes) {
        if (buffer.hasMemoryAddress()) {
            if (index < 0 || lengthBytes < 0 || index > buffer.capacity() - lengthBytes) {
                throw new IndexOutOfBoundsException(lengthBytes + " bytes from " + index + " on of " + buffer);
            }
            return sum(buffer.memoryAddress() + index, lengthBytes);
        }
        long sum = 0;
        int position = index;
        int end = index + lengthBytes;
        for (; position + 8 <= end; position += 8) {
            sum += halves(LITTLE ? buffer.getLongLE(position) : buffer.getLong(position));
        }
        for (; position + 2 <= end; position += 2) {
            sum += (LITTLE ? buffer.getShortLE(position) : buffer.getShort(position)) & 0xffff;
        }
        return position == end ? sum : sum + paddedByte(buffer.getByte(position));
    }

    private static long addWithCarry(long sum, long word) {
        long result = sum + word;
        return Long.compareUnsigned(result, word) < 0 ? result + 1 : result;
    }

    /** Converts eight bytes, read as one word, to a sum. */
    static long halves(long word) {
        return (word & LOW_32) + (word >>> 32);
    }

    private static int paddedByte(byte value) {
        return LITTLE ? value & 0xff : (value & 0xff) << 8;
    }

    /**
     * Folds a sum to 16 bits by adding its halves twice. Adding the rotated value puts the sum with its
     * end-around carry into the upper half.
     */
    private static int fold(long sum) {
        int folded = (int) (sum + Long.rotateLeft(sum, 32) >>> 32);
        return folded + Integer.rotateLeft(folded, 16) >>> 16;
    }

    /** Returns the checksum for a sum in which the checksum field counts as 0. */
    public static int finish(long sum) {
        return NetworkOrder.swap16(~fold(sum));
    }

    /**
     * Converts a sum over memory to a sum of 16-bit numbers. Values that are written from registers can be added
     * to it as 16-bit or 32-bit numbers, before {@link #finishNumbers}.
     */
    public static int asNumber(long sum) {
        return NetworkOrder.swap16(fold(sum));
    }

    /** Returns the checksum for a sum of 16-bit or 32-bit numbers. The sum must be below 2^48. */
    public static int finishNumbers(long sum) {
        return ~fold(sum) & 0xffff;
    }

    /** Returns whether a sum over data with its checksum, including a pseudo-header if there is one, is valid. */
    public static boolean isValid(long sum) {
        return fold(sum) == 0xffff;
    }

    /** Returns the sum of the pseudo-header of UDP or TCP over IPv4, with the addresses of an IP header. */
    public static long pseudoHeaderIpv4(long ipHeaderAddress, int protocol, int transportLengthBytes) {
        // Two loads, because a header that was just written had its addresses stored separately. A single load
        // would stall until both stores complete.
        return (NativeMemory.getInt(ipHeaderAddress + 12) & LOW_32)
                + (NativeMemory.getInt(ipHeaderAddress + 16) & LOW_32) + pseudoWord(protocol, transportLengthBytes);
    }

    /** Returns the sum of the pseudo-header of UDP or TCP over IPv4. */
    public static long pseudoHeaderIpv4(int source, int destination, int protocol, int transportLengthBytes) {
        return (NetworkOrder.swap32(source) & LOW_32) + (NetworkOrder.swap32(destination) & LOW_32)
                + pseudoWord(protocol, transportLengthBytes);
    }

    /** Returns the sum of the pseudo-header of RFC 8200 section 8.1, with the addresses of an IPv6 header. */
    public static long pseudoHeaderIpv6(long ipHeaderAddress, int protocol, int transportLengthBytes) {
        return halves(NativeMemory.getLong(ipHeaderAddress + 8)) + halves(NativeMemory.getLong(ipHeaderAddress + 16))
                + halves(NativeMemory.getLong(ipHeaderAddress + 24))
                + halves(NativeMemory.getLong(ipHeaderAddress + 32))
                + pseudoWord(protocol, transportLengthBytes);
    }

    /** Returns the sum of the pseudo-header of RFC 8200 section 8.1. */
    public static long pseudoHeaderIpv6(long sourceHigh, long sourceLow, long destinationHigh, long destinationLow,
                                        int protocol, int transportLengthBytes) {
        return halves(NetworkOrder.swap64(sourceHigh)) + halves(NetworkOrder.swap64(sourceLow))
                + halves(NetworkOrder.swap64(destinationHigh)) + halves(NetworkOrder.swap64(destinationLow))
                + pseudoWord(protocol, transportLengthBytes);
    }

    private static long pseudoWord(int protocol, int transportLengthBytes) {
        return (NetworkOrder.swap16(protocol) & 0xffffL) + (NetworkOrder.swap32(transportLengthBytes) & LOW_32);
    }

    /** Returns the checksum after one 16-bit word was changed (RFC 1624 equation 3). */
    public static int update(int checksum, int oldWord, int newWord) {
        int sum = (~checksum & 0xffff) + (~oldWord & 0xffff) + (newWord & 0xffff);
        sum = (sum & 0xffff) + (sum >>> 16);
        sum = (sum & 0xffff) + (sum >>> 16);
        return ~sum & 0xffff;
    }
}
