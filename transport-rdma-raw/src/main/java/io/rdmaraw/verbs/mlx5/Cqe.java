package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.verbs.abi.WcStatus;

/**
 * Accessors for a completion: {@code struct mlx5_cqe64} and {@code struct mlx5_err_cqe}. Every method takes its
 * address.
 */
public final class Cqe {
    static final int SIZE_BYTES = 64;
    static final int HDS_IP_EXT_OFFSET = 28;
    static final int L4_HDR_TYPE_ETC_OFFSET = 29;
    static final int BYTE_CNT_OFFSET = 44;
    static final int SOP_DROP_QPN_OFFSET = 56;
    static final int WQE_COUNTER_OFFSET = 60;
    static final int OP_OWN_OFFSET = 63;
    static final int ERROR_SYNDROME_OFFSET = 55;

    /** {@code MLX5_CQE_OWNER_MASK} in op_own: alternates with each round of the ring. */
    static final int OWNER_MASK = 1;
    static final int FORMAT_SHIFT = 2;
    static final int FORMAT_MASK = 3;
    /** {@code MLX5_INLINE_SCATTER_32}: the frame is in the first 32 bytes of the entry, not in the buffer. */
    static final int FORMAT_INLINE_32 = 1;
    /** {@code MLX5_INLINE_SCATTER_64}: the frame is in the 64 bytes before the entry, not in the buffer. */
    static final int FORMAT_INLINE_64 = 2;
    /** The entry is the title of a compressed session (PRM). */
    static final int FORMAT_COMPRESSED = 3;
    static final int OPCODE_SHIFT = 4;

    /** {@code MLX5_CQE_REQ}: a send has completed. */
    static final int OPCODE_REQ = 0;
    /** {@code MLX5_CQE_RESP_SEND}: a frame was received. */
    static final int OPCODE_RESP_SEND = 2;
    /** {@code MLX5_CQE_REQ_ERR}: a send failed. */
    static final int OPCODE_REQ_ERR = 13;
    /** {@code MLX5_CQE_RESP_ERR}: a receive failed. */
    static final int OPCODE_RESP_ERR = 14;
    /** {@code MLX5_CQE_INVALID}: the device has never written the entry. */
    static final int OPCODE_INVALID = 15;

    /** {@code MLX5_CQE_L3_OK} in hds_ip_ext. */
    static final int L3_OK = 1 << 1;
    /** {@code MLX5_CQE_L4_OK} in hds_ip_ext. */
    static final int L4_OK = 1 << 2;
    /** Position of {@code MLX5_CQE_L3_HDR_TYPE_*} in l4_hdr_type_etc. */
    static final int L3_HDR_TYPE_SHIFT = 2;
    static final int L3_HDR_TYPE_MASK = 3;
    /** {@code MLX5_CQE_L3_HDR_TYPE_IPV4}. */
    static final int L3_HDR_TYPE_IPV4 = 2;
    /** {@code MLX5_CQE_L3_HDR_TYPE_IPV6}. */
    static final int L3_HDR_TYPE_IPV6 = 1;

    static final int STRIDES_SHIFT = 16;
    static final int STRIDES_MASK = 0x7fff;
    static final int STRIDING_LENGTH_MASK = 0xffff;

    private static final int CHECKSUM_MASK = (L3_OK | L4_OK) << 8 | L3_HDR_TYPE_MASK << L3_HDR_TYPE_SHIFT;
    private static final int CHECKSUM_OK = (L3_OK | L4_OK) << 8 | L3_HDR_TYPE_IPV4 << L3_HDR_TYPE_SHIFT;
    /** An IPv6 header has no checksum. */
    private static final int IPV6_CHECKSUM_MASK = L4_OK << 8 | L3_HDR_TYPE_MASK << L3_HDR_TYPE_SHIFT;
    private static final int IPV6_CHECKSUM_OK = L4_OK << 8 | L3_HDR_TYPE_IPV6 << L3_HDR_TYPE_SHIFT;
    private static final int FLOW_TAG_MASK = 0xffffff;

    private Cqe() {
    }

    static int opcode(byte opOwn) {
        return (opOwn & 0xff) >>> OPCODE_SHIFT;
    }

    static int format(byte opOwn) {
        return opOwn >>> FORMAT_SHIFT & FORMAT_MASK;
    }

    private static byte opOwn(long cqe) {
        return NativeMemory.getByte(cqe + OP_OWN_OFFSET);
    }

    /** Returns whether the request failed; see {@link #status}. */
    public static boolean isError(long cqe) {
        int opcode = opcode(opOwn(cqe));
        return opcode == OPCODE_REQ_ERR || opcode == OPCODE_RESP_ERR;
    }

    /** Returns the status of a {@linkplain #isError failed} request as a {@link WcStatus} value. */
    public static int status(long cqe) {
        return Syndrome.toStatus(NativeMemory.getByte(cqe + ERROR_SYNDROME_OFFSET) & 0xff);
    }

    /**
     * Returns the low 16 bits of the request's index, which counts blocks in a send ring and requests in a
     * receive ring. In a striding ring it is the index of the first stride within the request.
     */
    public static int wqeCounter(long cqe) {
        return NetworkOrder.getU16(cqe + WQE_COUNTER_OFFSET);
    }

    /** Returns the number of bytes received. */
    public static int byteCount(long cqe) {
        return NetworkOrder.getInt(cqe + BYTE_CNT_OFFSET);
    }

    /** Returns the number of strides in the {@link #byteCount} of a striding queue's completion. */
    public static int stridesOf(int byteCount) {
        return byteCount >>> STRIDES_SHIFT & STRIDES_MASK;
    }

    /** Returns whether the strides are unused because the next frame did not fit into them. */
    public static boolean isFiller(int byteCount) {
        return byteCount < 0;
    }

    /** Returns the number of bytes received in the {@link #byteCount} of a striding queue's completion. */
    public static int stridingLengthOf(int byteCount) {
        return byteCount & STRIDING_LENGTH_MASK;
    }

    /** Returns the tag of the flow rule that the frame matched, or 0 if the rule has none. */
    public static int flowTag(long cqe) {
        return NetworkOrder.getInt(cqe + SOP_DROP_QPN_OFFSET) & FLOW_TAG_MASK;
    }

    /**
     * Returns whether the device has verified the UDP or TCP checksum and, for IPv4, the header checksum.
     * libmlx5 reports this only for IPv4.
     */
    public static boolean checksumVerified(long cqe) {
        // hds_ip_ext and l4_hdr_type_etc are adjacent, so one load reads both.
        int both = NetworkOrder.getU16(cqe + HDS_IP_EXT_OFFSET);
        return (both & CHECKSUM_MASK) == CHECKSUM_OK || (both & IPV6_CHECKSUM_MASK) == IPV6_CHECKSUM_OK;
    }

    /** Returns whether the device wrote the frame into the completion queue; see {@link #copyInlineData}. */
    public static boolean hasInlineData(long cqe) {
        return format(opOwn(cqe)) != 0;
    }

    /** Copies a frame that the device wrote into the completion queue to its buffer. */
    public static void copyInlineData(long cqe, long buffer) {
        int format = format(opOwn(cqe));
        if (format == FORMAT_INLINE_32) {
            NativeMemory.copy(cqe, buffer, Math.min(byteCount(cqe), SIZE_BYTES / 2));
        } else if (format == FORMAT_INLINE_64) {
            NativeMemory.copy(cqe - SIZE_BYTES, buffer, Math.min(byteCount(cqe), SIZE_BYTES));
        }
    }
}
