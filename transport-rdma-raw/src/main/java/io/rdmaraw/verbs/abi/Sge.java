package io.rdmaraw.verbs.abi;

import io.rdmaraw.ffi.NativeMemory;
import java.nio.ByteOrder;

/**
 * Accessors for {@code struct ibv_sge}, a part of a registered memory region. Every method takes the address of
 * the structure.
 */
public final class Sge {
    public static final int SIZE_BYTES = 16;
    public static final int ADDR_OFFSET = 0;
    public static final int LENGTH_OFFSET = 8;
    public static final int LKEY_OFFSET = 12;
    private static final boolean LITTLE_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

    private Sge() {
    }

    /** Returns the address of the first byte. */
    public static long addr(long address) {
        return NativeMemory.getLong(address + ADDR_OFFSET);
    }

    /** Sets the address of the first byte. */
    public static void addr(long address, long value) {
        NativeMemory.putLong(address + ADDR_OFFSET, value);
    }

    /** Returns the length in bytes, unsigned. */
    public static int length(long address) {
        return NativeMemory.getInt(address + LENGTH_OFFSET);
    }

    /** Sets the length in bytes, unsigned. */
    public static void length(long address, int value) {
        NativeMemory.putInt(address + LENGTH_OFFSET, value);
    }

    /** Returns the lkey of the memory region. */
    public static int lkey(long address) {
        return NativeMemory.getInt(address + LKEY_OFFSET);
    }

    /** Sets the lkey of the memory region. */
    public static void lkey(long address, int value) {
        NativeMemory.putInt(address + LKEY_OFFSET, value);
    }

    /** Writes all members. */
    public static void write(long sge, long address, int lengthBytes, int lkey) {
        addr(sge, address);
        lengthAndLkey(sge, lengthBytes, lkey);
    }

    /** Writes the adjacent members length and lkey with one store. */
    public static void lengthAndLkey(long address, int lengthBytes, int lkey) {
        NativeMemory.putLong(address + LENGTH_OFFSET, lengthAndLkey(lengthBytes, lkey));
    }

    /** Returns the 64-bit value at {@link #LENGTH_OFFSET} for a length and an lkey. */
    public static long lengthAndLkey(int lengthBytes, int lkey) {
        return LITTLE_ENDIAN ? lengthBytes & 0xffffffffL | (long) lkey << Integer.SIZE
                : (long) lengthBytes << Integer.SIZE | lkey & 0xffffffffL;
    }
}
