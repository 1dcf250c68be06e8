package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.WcStatus;

/** Accessors for {@code struct ibv_wc}, a work completion. Every method takes the address of the structure. */
public final class Wc {
    public static final int SIZE_BYTES = 48;
    public static final int WR_ID_OFFSET = 0;
    public static final int STATUS_OFFSET = 8;
    public static final int OPCODE_OFFSET = 12;
    public static final int VENDOR_ERR_OFFSET = 16;
    public static final int BYTE_LEN_OFFSET = 20;
    public static final int IMM_DATA_OFFSET = 24;
    public static final int QP_NUM_OFFSET = 28;
    public static final int SRC_QP_OFFSET = 32;
    public static final int WC_FLAGS_OFFSET = 36;

    /** {@code IBV_WC_SEND}. */
    public static final int OPCODE_SEND = 0;
    /** {@code IBV_WC_TSO}. */
    public static final int OPCODE_TSO = 7;
    /** {@code IBV_WC_RECV}. */
    public static final int OPCODE_RECV = 1 << 7;
    /** {@code IBV_WC_IP_CSUM_OK}: the device verified the IPv4 header checksum and the TCP or UDP checksum. */
    public static final int FLAG_IP_CSUM_OK = 1 << 2;

    private Wc() {
    }

    /** Returns the ID of the completed request. */
    public static long wrId(long address) {
        return NativeMemory.getLong(address + WR_ID_OFFSET);
    }

    /**
     * Returns the status; see {@link WcStatus}. Unless it is 0, only wr_id, status, qp_num and vendor_err are
     * defined.
     */
    public static int status(long address) {
        return NativeMemory.getInt(address + STATUS_OFFSET);
    }

    /** Returns the opcode. Receives have bit 7 ({@link #OPCODE_RECV}) set. */
    public static int opcode(long address) {
        return NativeMemory.getInt(address + OPCODE_OFFSET);
    }

    /** Returns the vendor's error code. */
    public static int vendorErr(long address) {
        return NativeMemory.getInt(address + VENDOR_ERR_OFFSET);
    }

    /** Returns the length of the received frame in bytes. */
    public static int byteLen(long address) {
        return NativeMemory.getInt(address + BYTE_LEN_OFFSET);
    }

    /** Returns the queue pair number; on mlx5, the flow tag of a received raw packet. */
    public static int qpNum(long address) {
        return NativeMemory.getInt(address + QP_NUM_OFFSET);
    }

    /** Returns the flags, for example {@link #FLAG_IP_CSUM_OK}. */
    public static int wcFlags(long address) {
        return NativeMemory.getInt(address + WC_FLAGS_OFFSET);
    }
}
