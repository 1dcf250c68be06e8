package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.Sge;

/**
 * Accessors for {@code struct ibv_recv_wr}, a receive work request. Every method takes the address of the
 * structure.
 */
public final class ReceiveWr {
    public static final int SIZE_BYTES = 32;
    public static final int WR_ID_OFFSET = 0;
    public static final int NEXT_OFFSET = 8;
    public static final int SG_LIST_OFFSET = 16;
    public static final int NUM_SGE_OFFSET = 24;

    private ReceiveWr() {
    }

    /** Returns the ID that the completion will carry. */
    public static long wrId(long address) {
        return NativeMemory.getLong(address + WR_ID_OFFSET);
    }

    /** Sets the ID that the completion will carry. */
    public static void wrId(long address, long value) {
        NativeMemory.putLong(address + WR_ID_OFFSET, value);
    }

    /** Returns the address of the next request in the list, or 0. */
    public static long next(long address) {
        return NativeMemory.getLong(address + NEXT_OFFSET);
    }

    /** Sets the address of the next request in the list, or 0. */
    public static void next(long address, long value) {
        NativeMemory.putLong(address + NEXT_OFFSET, value);
    }

    /** Returns the address of the first {@link Sge}. */
    public static long sgList(long address) {
        return NativeMemory.getLong(address + SG_LIST_OFFSET);
    }

    /** Sets the address of the first {@link Sge}. */
    public static void sgList(long address, long value) {
        NativeMemory.putLong(address + SG_LIST_OFFSET, value);
    }

    /** Returns the number of SGEs. */
    public static int numSge(long address) {
        return NativeMemory.getInt(address + NUM_SGE_OFFSET);
    }

    /** Sets the number of SGEs. */
    public static void numSge(long address, int value) {
        NativeMemory.putInt(address + NUM_SGE_OFFSET, value);
    }
}
