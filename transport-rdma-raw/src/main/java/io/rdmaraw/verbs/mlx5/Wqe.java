package io.rdmaraw.verbs.mlx5;

/**
 * The layout of send and receive requests: {@code struct mlx5_wqe_ctrl_seg}, {@code mlx5_wqe_eth_seg} and {@code
 * mlx5_wqe_data_seg}. A send request is a control, an Ethernet and data segments, one behind the other in units of 16
 * bytes; it begins at a block.
 */
final class Wqe {
    /** {@code MLX5_SEND_WQE_BB}: requests begin at multiples of it. */
    static final int BLOCK_BYTES = 64;
    static final int UNIT_BYTES = 16;
    static final int UNITS_PER_BLOCK = BLOCK_BYTES / UNIT_BYTES;

    /** {@code MLX5_OPCODE_SEND}. */
    static final int OPCODE_SEND = 0x0a;
    /** {@code MLX5_OPCODE_ENHANCED_MPSW} of DPDK and Linux; not in {@code mlx5dv.h}. */
    static final int OPCODE_MULTI_PACKET = 0x29;
    /** {@code MLX5_OPCODE_TSO}. */
    static final int OPCODE_TSO = 0x0e;

    static final int CTRL_SIZE_BYTES = 16;
    static final int CTRL_OPMOD_IDX_OPCODE_OFFSET = 0;
    static final int CTRL_QPN_DS_OFFSET = 4;
    static final int CTRL_FM_CE_SE_OFFSET = 11;
    static final int CTRL_IMM_OFFSET = 12;
    /** {@code MLX5_WQE_CTRL_CQ_UPDATE} in fm_ce_se: the request has a completion. */
    static final int CTRL_CQ_UPDATE = 8;

    static final int ETH_SIZE_BYTES = 32;
    static final int ETH_CS_FLAGS_OFFSET = 4;
    static final int ETH_MSS_OFFSET = 6;
    static final int ETH_INLINE_HDR_SZ_OFFSET = 12;
    static final int ETH_INLINE_HDR_START_OFFSET = 14;
    static final int ETH_INLINE_HDR_OFFSET = 16;
    /** {@code MLX5_ETH_WQE_L3_CSUM} in cs_flags: the device fills in the checksum of the IPv4 header. */
    static final int ETH_L3_CSUM = 1 << 6;
    /** {@code MLX5_ETH_WQE_L4_CSUM} in cs_flags: the device fills in the checksum of UDP or TCP. */
    static final int ETH_L4_CSUM = 1 << 7;
    /**
     * {@code MLX5_ETH_L2_INLINE_HEADER_SIZE}: how much of a frame its request carries itself. The least that every
     * device takes; those with multi-packet requests do without.
     */
    static final int ETH_L2_INLINE_BYTES = 18;

    /** {@code struct mlx5_wqe_srq_next_seg}: begins the requests of striding rings; without meaning there. */
    static final int NEXT_SIZE_BYTES = 16;

    static final int DATA_SIZE_BYTES = 16;
    static final int DATA_BYTE_COUNT_OFFSET = 0;
    static final int DATA_LKEY_OFFSET = 4;
    static final int DATA_ADDR_OFFSET = 8;
    /** {@code MLX5_INLINE_SEG} in the byte count: the bytes lie behind it, not where an address points. */
    static final int DATA_INLINE = 1 << 31;
    /** Where they begin. */
    static final int DATA_INLINE_START = 4;
    /** {@code MLX5_INVALID_LKEY}: ends the list of a receive request that has fewer segments than its stride holds. */
    static final int INVALID_LKEY = 0x100;

    private Wqe() {
    }
}
