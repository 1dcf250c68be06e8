package io.rdmaraw.ffi;

import java.nio.ByteOrder;

/** Reads and writes native memory in network byte order. Addresses are absolute and not checked. */
public final class NetworkOrder {
    private static final boolean SWAP = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

    private NetworkOrder() {
    }

    /** Returns the unsigned byte at {@code address}. */
    public static int getU8(long address) {
        return NativeMemory.getByte(address) & 0xff;
    }

    /** Returns the unsigned 16-bit value at {@code address}. */
    public static int getU16(long address) {
        short value = NativeMemory.getShort(address);
        return (SWAP ? Short.reverseBytes(value) : value) & 0xffff;
    }

    /** Returns the 32-bit value at {@code address}. */
    public static int getInt(long address) {
        int value = NativeMemory.getInt(address);
        return SWAP ? Integer.reverseBytes(value) : value;
    }

    /** Returns the 48-bit value at {@code address}. Reads exactly six bytes. */
    public static long getU48(long address) {
        return ((long) getU16(address) << 32) | (getInt(address + 2) & 0xffff_ffffL);
    }

    /** Returns the 64-bit value at {@code address}. */
    public static long getLong(long address) {
        long value = NativeMemory.getLong(address);
        return SWAP ? Long.reverseBytes(value) : value;
    }

    /** Writes the low 16 bits of {@code value}. */
    public static void putU16(long address, int value) {
        short narrow = (short) value;
        NativeMemory.putShort(address, SWAP ? Short.reverseBytes(narrow) : narrow);
    }

    /** Writes a 32-bit value. */
    public static void putInt(long address, int value) {
        NativeMemory.putInt(address, SWAP ? Integer.reverseBytes(value) : value);
    }

    /** Writes the low 48 bits of {@code value}. Writes exactly six bytes. */
    public static void putU48(long address, long value) {
        putU16(address, (int) (value >>> 32));
        putInt(address + 2, (int) value);
    }

    /** Writes a 64-bit value. */
    public static void putLong(long address, long value) {
        NativeMemory.putLong(address, SWAP ? Long.reverseBytes(value) : value);
    }

    /** Converts a 16-bit value between host and network byte order. */
    public static int swap16(int value) {
        return SWAP ? Short.reverseBytes((short) value) & 0xffff : value & 0xffff;
    }

    /** Converts a 32-bit value between host and network byte order. */
    public static int swap32(int value) {
        return SWAP ? Integer.reverseBytes(value) : value;
    }

    /** Converts a 64-bit value between host and network byte order. */
    public static long swap64(long value) {
        return SWAP ? Long.reverseBytes(value) : value;
    }
}
