package io.rdmaraw.verbs.mlx5;

/** {@code struct mlx5dv_wq_init_attr}. */
final class Mlx5dvWqInitAttrLayout {
    /** More than it has: every version of the header may add members at its end. */
    static final int ROOM_BYTES = 64;
    static final int COMP_MASK_OFFSET = 0;
    static final int STRIDING_RQ_ATTRS_SINGLE_STRIDE_LOG_NUM_OF_BYTES_OFFSET = 8;
    static final int STRIDING_RQ_ATTRS_SINGLE_WQE_LOG_NUM_OF_STRIDES_OFFSET = 12;

    private Mlx5dvWqInitAttrLayout() {
    }
}
