package io.rdmaraw.verbs;

import io.rdmaraw.ffi.NativeMemory;
import java.nio.ByteOrder;

/** Writes numbers to native memory in network byte order. */
final class BigEndian {
    private static final boolean SWAP = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

    private BigEndian() {
    }

    static void putShort(long address, int value) {
        NativeMemory.putShort(address, SWAP ? Short.reverseBytes((short) value) : (short) value);
    }

    static void putInt(long address, int value) {
        NativeMemory.putInt(address, SWAP ? Integer.reverseBytes(value) : value);
    }

    static void putLong(long address, long value) {
        NativeMemory.putLong(address, SWAP ? Long.reverseBytes(value) : value);
    }

    /** Writes the low 48 bits. */
    static void putMac(long address, long mac) {
        putShort(address, (int) (mac >>> Integer.SIZE));
        putInt(address + Short.BYTES, (int) mac);
    }
}
