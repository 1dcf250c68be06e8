package io.rdmaraw.ffi;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Reads and writes native memory by absolute address, in the machine's byte order.
 *
 * <p>This is the one way in which the hot path touches native structures. The handles are static and final so that the
 * compiler folds them; the layouts are unaligned because an aligned layout over the whole address space costs a check
 * of the address for every access. Nothing here checks that an address is mapped: a wrong address ends the process.
 */
public final class NativeMemory {
    @SuppressWarnings("restricted")
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
    private static final VarHandle INT = ValueLayout.JAVA_INT_UNALIGNED.varHandle();
    private static final VarHandle LONG = ValueLayout.JAVA_LONG_UNALIGNED.varHandle();
    private static final VarHandle SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.varHandle();
    private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();
    private static final VarHandle ALIGNED_INT = ValueLayout.JAVA_INT.varHandle();
    private static final VarHandle ALIGNED_LONG = ValueLayout.JAVA_LONG.varHandle();
    private static final long BASE_MASK = Long.MAX_VALUE >>> 1;
    private static final boolean SWAP = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

    private NativeMemory() {
    }

    /**
     * Returns an address as it is, for several accesses at small offsets from it. What it changes is what the compiler
     * knows: user space ends far below the bits that are cleared, and what begins there cannot leave the range of
     * {@link #ALL}, so these accesses have no check each. Hot.
     */
    public static long base(long address) {
        return address & BASE_MASK;
    }

    /** Returns the byte at {@code address}. */
    public static byte getByte(long address) {
        return (byte) BYTE.get(ALL, address);
    }

    /** Writes the byte at {@code address}. */
    public static void putByte(long address, byte value) {
        BYTE.set(ALL, address, value);
    }

    /** Returns the 16-bit value at {@code address}. */
    public static short getShort(long address) {
        return (short) SHORT.get(ALL, address);
    }

    /** Writes the 16-bit value at {@code address}. */
    public static void putShort(long address, short value) {
        SHORT.set(ALL, address, value);
    }

    /** Returns the 32-bit value at {@code address}. */
    public static int getInt(long address) {
        return (int) INT.get(ALL, address);
    }

    /** Writes the 32-bit value at {@code address}. */
    public static void putInt(long address, int value) {
        INT.set(ALL, address, value);
    }

    /** Returns the 64-bit value at {@code address}. */
    public static long getLong(long address) {
        return (long) LONG.get(ALL, address);
    }

    /** Writes the 64-bit value at {@code address}. */
    public static void putLong(long address, long value) {
        LONG.set(ALL, address, value);
    }

    /** Returns the byte at {@code address}; what is read later is not older than it. */
    public static byte getByteAcquire(long address) {
        return (byte) BYTE.getAcquire(ALL, address);
    }

    /** Writes a 32-bit big-endian value with one store, after all that was written before. Aligned addresses only. */
    public static void putIntBigEndianRelease(long address, int value) {
        ALIGNED_INT.setRelease(ALL, address, SWAP ? Integer.reverseBytes(value) : value);
    }

    /** Writes a 64-bit value with one store, after all that was written before. Aligned addresses only. */
    public static void putLongRelease(long address, long value) {
        ALIGNED_LONG.setRelease(ALL, address, value);
    }

    /** Orders all reads and writes before it against all behind it; on x86-64 a locked instruction. */
    public static void fullFence() {
        VarHandle.fullFence();
    }

    /** Copies {@code lengthBytes} bytes from one native address to another; the ranges may overlap. */
    public static void copy(long sourceAddress, long targetAddress, long lengthBytes) {
        MemorySegment.copy(ALL, sourceAddress, ALL, targetAddress, lengthBytes);
    }

    /**
     * Writes the first {@code count} values one after the other. A list of structures that is written for every burst
     * is kept in an array and copied whole: an array is written inline at any depth of calls, native memory only where
     * the JIT compiler still inlines the half dozen methods below each access.
     */
    public static void putLongs(long address, long[] values, int count) {
        MemorySegment.copy(values, 0, ALL, ValueLayout.JAVA_LONG_UNALIGNED, address, count);
    }

    /** Reads {@code values.length} values that lie one after the other. */
    public static void getLongs(long address, long[] values) {
        MemorySegment.copy(ALL, ValueLayout.JAVA_LONG_UNALIGNED, address, values, 0, values.length);
    }

    /** Copies {@code count} bytes from native memory into an array. */
    public static void getBytes(long address, byte[] target, int targetIndex, int count) {
        MemorySegment.copy(ALL, ValueLayout.JAVA_BYTE, address, target, targetIndex, count);
    }

    /** Copies {@code count} bytes of an array into native memory. */
    public static void putBytes(long address, byte[] source, int sourceIndex, int count) {
        MemorySegment.copy(source, sourceIndex, ALL, ValueLayout.JAVA_BYTE, address, count);
    }

    /** Sets {@code lengthBytes} bytes from {@code address} on to {@code value}. */
    public static void fill(long address, long lengthBytes, byte value) {
        ALL.asSlice(address, lengthBytes).fill(value);
    }

    /** Returns a segment over the given range that never expires; the owner of the memory keeps it mapped. */
    public static MemorySegment segment(long address, long lengthBytes) {
        return ALL.asSlice(address, lengthBytes);
    }
}
