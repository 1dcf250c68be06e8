package io.rdmaraw.verbs.mlx5;

/**
 * The structures of {@code infiniband/mlx5dv.h}: sizes and offsets in bytes, named as in
 * {@link io.rdmaraw.verbs.abi.VerbsLayouts}.
 */
final class Mlx5dvLayouts {
    private Mlx5dvLayouts() {
    }

    /** {@code struct mlx5dv_context}. */
    static final class Mlx5dvContextLayout {
        /** Larger than the structure, since every version of the header may append members. */
        static final int ROOM_BYTES = 1024;
        static final int FLAGS_OFFSET = 8;
        static final int COMP_MASK_OFFSET = 16;
        static final int CQE_COMP_CAPS_MAX_NUM_OFFSET = 24;
        static final int CQE_COMP_CAPS_SUPPORTED_FORMAT_OFFSET = 28;
        static final int STRIDING_RQ_CAPS_MIN_SINGLE_STRIDE_LOG_NUM_OF_BYTES_OFFSET = 40;
        static final int STRIDING_RQ_CAPS_MAX_SINGLE_STRIDE_LOG_NUM_OF_BYTES_OFFSET = 44;
        static final int STRIDING_RQ_CAPS_MIN_SINGLE_WQE_LOG_NUM_OF_STRIDES_OFFSET = 48;
        static final int STRIDING_RQ_CAPS_MAX_SINGLE_WQE_LOG_NUM_OF_STRIDES_OFFSET = 52;
        static final int STRIDING_RQ_CAPS_SUPPORTED_QPTS_OFFSET = 56;
    }

    /** {@code struct mlx5dv_qp}. */
    static final class Mlx5dvQpLayout {
        static final int SIZE_BYTES = 96;
        static final int DBREC_OFFSET = 0;
        static final int SQ_BUF_OFFSET = 8;
        static final int SQ_WQE_CNT_OFFSET = 16;
        static final int SQ_STRIDE_OFFSET = 20;
        static final int RQ_BUF_OFFSET = 24;
        static final int RQ_WQE_CNT_OFFSET = 32;
        static final int RQ_STRIDE_OFFSET = 36;
        static final int BF_REG_OFFSET = 40;
        static final int BF_SIZE_OFFSET = 48;
    }

    /** {@code struct mlx5dv_cq}. */
    static final class Mlx5dvCqLayout {
        static final int SIZE_BYTES = 48;
        static final int BUF_OFFSET = 0;
        static final int DBREC_OFFSET = 8;
        static final int CQE_CNT_OFFSET = 16;
        static final int CQE_SIZE_OFFSET = 20;
        static final int CQ_UAR_OFFSET = 24;
        static final int CQN_OFFSET = 32;
    }

    /** {@code struct mlx5dv_rwq}. */
    static final class Mlx5dvRwqLayout {
        static final int SIZE_BYTES = 32;
        static final int BUF_OFFSET = 0;
        static final int DBREC_OFFSET = 8;
        static final int WQE_CNT_OFFSET = 16;
        static final int STRIDE_OFFSET = 20;
    }

    /** {@code struct mlx5dv_obj}. */
    static final class Mlx5dvObjLayout {
        /** Larger than the structure, since every version of the header may append objects. */
        static final int ROOM_BYTES = 256;
        static final int QP_IN_OFFSET = 0;
        static final int CQ_IN_OFFSET = 16;
        static final int RWQ_IN_OFFSET = 48;
    }

    /** {@code struct mlx5dv_cq_init_attr}. */
    static final class Mlx5dvCqInitAttrLayout {
        /** Larger than the structure, since every version of the header may append members. */
        static final int ROOM_BYTES = 64;
        static final int COMP_MASK_OFFSET = 0;
        static final int CQE_COMP_RES_FORMAT_OFFSET = 8;
    }

    /** {@code struct mlx5dv_qp_init_attr}. */
    static final class Mlx5dvQpInitAttrLayout {
        /** Larger than the structure, since every version of the header may append members. */
        static final int ROOM_BYTES = 128;
        static final int COMP_MASK_OFFSET = 0;
        static final int CREATE_FLAGS_OFFSET = 8;
    }

    /** {@code struct mlx5dv_wq_init_attr}. */
    static final class Mlx5dvWqInitAttrLayout {
        /** Larger than the structure, since every version of the header may append members. */
        static final int ROOM_BYTES = 64;
        static final int COMP_MASK_OFFSET = 0;
        static final int STRIDING_RQ_ATTRS_SINGLE_STRIDE_LOG_NUM_OF_BYTES_OFFSET = 8;
        static final int STRIDING_RQ_ATTRS_SINGLE_WQE_LOG_NUM_OF_STRIDES_OFFSET = 12;
    }
}
