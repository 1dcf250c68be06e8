package io.rdmaraw.verbs.mlx5;

/**
 * The layout of send and receive requests: {@code struct mlx5_wqe_ctrl_seg}, {@code mlx5_wqe_eth_seg} and
 * {@code mlx5_wqe_data_seg}. A send request begins at a block. It consists of a control segment, an Ethernet
 * segment and data segments, in units of 16 bytes.
 */
final class Wqe {
    /** {@code MLX5_SEND_WQE_BB}: requests begin at multiples of this size. */
    static final int BLOCK_BYTES = 64;
    static final int UNIT_BYTES = 16;
    static final int UNITS_PER_BLOCK = BLOCK_BYTES / UNIT_BYTES;

    /** {@code MLX5_OPCODE_SEND}. */
    static final int OPCODE_SEND = 0x0a;
    /** {@code MLX5_OPCODE_ENHANCED_MPSW} of DPDK and Linux. Not defined in {@code mlx5dv.h}. */
    static final int OPCODE_MULTI_PACKET = 0x29;
    /** {@code MLX5_OPCODE_TSO}. */
    static final int OPCODE_TSO = 0x0e;

    static final int CTRL_SIZE_BYTES = 16;
    static final int CTRL_OPMOD_IDX_OPCODE_OFFSET = 0;
    static final int CTRL_QPN_DS_OFFSET = 4;
    static final int CTRL_FM_CE_SE_OFFSET = 11;
    static final int CTRL_IMM_OFFSET = 12;
    /** {@code MLX5_WQE_CTRL_CQ_UPDATE} in fm_ce_se: the request generates a completion. */
    static final int CTRL_CQ_UPDATE = 8;

    static final int ETH_SIZE_BYTES = 32;
    static final int ETH_CS_FLAGS_OFFSET = 4;
    static final int ETH_MSS_OFFSET = 6;
    static final int ETH_INLINE_HDR_SZ_OFFSET = 12;
    static final int ETH_INLINE_HDR_START_OFFSET = 14;
    static final int ETH_INLINE_HDR_OFFSET = 16;
    /** {@code MLX5_ETH_WQE_L3_CSUM} in cs_flags: the device computes the IPv4 header checksum. */
    static final int ETH_L3_CSUM = 1 << 6;
    /** {@code MLX5_ETH_WQE_L4_CSUM} in cs_flags: the device computes the UDP or TCP checksum. */
    static final int ETH_L4_CSUM = 1 << 7;
    /**
     * {@code MLX5_ETH_L2_INLINE_HEADER_SIZE}: the number of bytes of a frame that are inlined in its request.
     * This is the minimum of all devices; devices with multi-packet requests need none.
     */
    static final int ETH_L2_INLINE_BYTES = 18;

    /** {@code struct mlx5_wqe_srq_next_seg}: the unused first segment of requests in striding rings. */
    static final int NEXT_SIZE_BYTES = 16;

    static final int DATA_SIZE_BYTES = 16;
    static final int DATA_BYTE_COUNT_OFFSET = 0;
    static final int DATA_LKEY_OFFSET = 4;
    static final int DATA_ADDR_OFFSET = 8;
    /** {@code MLX5_INLINE_SEG} in the byte count: the data follows the byte count instead of an address. */
    static final int DATA_INLINE = 1 << 31;
    /** Offset of inline data. */
    static final int DATA_INLINE_START = 4;
    /**
     * {@code MLX5_INVALID_LKEY}: terminates a receive request with fewer data segments than its stride can
     * hold.
     */
    static final int INVALID_LKEY = 0x100;

    private Wqe() {
    }
}
