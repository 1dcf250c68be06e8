package io.rdmaraw.ffi;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Reads and writes native memory by absolute address in host byte order.
 *
 * <p>The hot path accesses native structures only through this class. The handles are static and final so that
 * the JIT compiler folds them. The layouts are unaligned, because aligned layouts over the whole address space
 * would check the alignment of every access. Addresses are not checked: an invalid address crashes the process.
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
    private static final long USER_SPACE_MASK = Long.MAX_VALUE >>> 1;
    private static final boolean SWAP = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

    private NativeMemory() {
    }

    /**
     * Returns the same address, with information for the JIT compiler. The cleared bits are never set in user
     * space. Accesses at small offsets are therefore known to be within {@link #ALL} and need no bounds check. Hot
     * path.
     */
    public static long assumeUserSpace(long address) {
        return address & USER_SPACE_MASK;
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

    /** Returns the byte at {@code address} with acquire semantics: later reads do not return older data. */
    public static byte getByteAcquire(long address) {
        return (byte) BYTE.getAcquire(ALL, address);
    }

    /** Writes an aligned 32-bit value in big-endian order with one store, after all earlier writes. */
    public static void putIntBigEndianRelease(long address, int value) {
        ALIGNED_INT.setRelease(ALL, address, SWAP ? Integer.reverseBytes(value) : value);
    }

    /** Writes an aligned 64-bit value with one store, after all earlier writes. */
    public static void putLongRelease(long address, long value) {
        ALIGNED_LONG.setRelease(ALL, address, value);
    }

    /** Orders all earlier reads and writes before all later ones. On x86-64 this is a locked instruction. */
    public static void fullFence() {
        VarHandle.fullFence();
    }

    /** Copies {@code lengthBytes} bytes between native addresses. The ranges may overlap. */
    public static void copy(long sourceAddress, long targetAddress, long lengthBytes) {
        MemorySegment.copy(ALL, sourceAddress, ALL, targetAddress, lengthBytes);
    }

    /**
     * Writes the first {@code count} values of an array consecutively. Structures that are written for every
     * burst are prepared in an array and copied at once. The reason: the JIT compiler inlines array writes at any
     * call depth. It inlines native writes only if it can still inline about six methods below each access.
     */
    public static void putLongs(long address, long[] values, int count) {
        MemorySegment.copy(values, 0, ALL, ValueLayout.JAVA_LONG_UNALIGNED, address, count);
    }

    /** Reads {@code values.length} consecutive values. */
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

    /**
     * Returns a segment for a range. It never expires, so the owner must keep the memory mapped while it is
     * used.
     */
    public static MemorySegment segment(long address, long lengthBytes) {
        return ALL.asSlice(address, lengthBytes);
    }
}
