package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.Sge;

/**
 * Accessors for {@code struct ibv_send_wr}, a send work request. Every method takes the address of the
 * structure.
 */
public final class SendWr {
    public static final int SIZE_BYTES = 128;
    public static final int WR_ID_OFFSET = 0;
    public static final int NEXT_OFFSET = 8;
    public static final int SG_LIST_OFFSET = 16;
    public static final int NUM_SGE_OFFSET = 24;
    public static final int OPCODE_OFFSET = 28;
    public static final int SEND_FLAGS_OFFSET = 32;
    public static final int IMM_DATA_OFFSET = 36;
    public static final int TSO_HDR_OFFSET = 80;
    public static final int TSO_HDR_SZ_OFFSET = 88;
    public static final int TSO_MSS_OFFSET = 90;

    /** {@code IBV_WR_SEND}. */
    public static final int OPCODE_SEND = 2;
    /** {@code IBV_WR_TSO}: the device segments the payload. */
    public static final int OPCODE_TSO = 10;
    /** {@code IBV_SEND_SIGNALED}: the request generates a completion. */
    public static final int FLAG_SIGNALED = 1 << 1;
    /** {@code IBV_SEND_SOLICITED}. */
    public static final int FLAG_SOLICITED = 1 << 2;
    /**
     * {@code IBV_SEND_INLINE}: posting copies the data. The SGEs need no lkey, and the memory may be reused
     * when the post returns.
     */
    public static final int FLAG_INLINE = 1 << 3;
    /** {@code IBV_SEND_IP_CSUM}: the device computes the IPv4 header checksum and the TCP or UDP checksum. */
    public static final int FLAG_IP_CSUM = 1 << 4;

    private SendWr() {
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

    /** Returns the operation: {@link #OPCODE_SEND} or {@link #OPCODE_TSO}. */
    public static int opcode(long address) {
        return NativeMemory.getInt(address + OPCODE_OFFSET);
    }

    /** Sets the operation: {@link #OPCODE_SEND} or {@link #OPCODE_TSO}. */
    public static void opcode(long address, int value) {
        NativeMemory.putInt(address + OPCODE_OFFSET, value);
    }

    /** Returns the flags: an OR of {@link #FLAG_SIGNALED} and so on. */
    public static int sendFlags(long address) {
        return NativeMemory.getInt(address + SEND_FLAGS_OFFSET);
    }

    /** Sets the flags: an OR of {@link #FLAG_SIGNALED} and so on. */
    public static void sendFlags(long address, int value) {
        NativeMemory.putInt(address + SEND_FLAGS_OFFSET, value);
    }

    /** Returns the address of the headers that precede every segment of a TSO send. */
    public static long tsoHdr(long address) {
        return NativeMemory.getLong(address + TSO_HDR_OFFSET);
    }

    /** Sets the address of the headers that precede every segment of a TSO send. */
    public static void tsoHdr(long address, long value) {
        NativeMemory.putLong(address + TSO_HDR_OFFSET, value);
    }

    /** Returns the length in bytes of the headers of a TSO send. */
    public static short tsoHeaderLengthBytes(long address) {
        return NativeMemory.getShort(address + TSO_HDR_SZ_OFFSET);
    }

    /** Sets the length in bytes of the headers of a TSO send. */
    public static void tsoHeaderLengthBytes(long address, short value) {
        NativeMemory.putShort(address + TSO_HDR_SZ_OFFSET, value);
    }

    /** Returns the payload of each segment of a TSO send, in bytes. */
    public static short tsoMss(long address) {
        return NativeMemory.getShort(address + TSO_MSS_OFFSET);
    }

    /** Sets the payload of each segment of a TSO send, in bytes. */
    public static void tsoMss(long address, short value) {
        NativeMemory.putShort(address + TSO_MSS_OFFSET, value);
    }
}
