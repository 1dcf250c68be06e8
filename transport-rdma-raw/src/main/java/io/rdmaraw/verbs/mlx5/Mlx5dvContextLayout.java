package io.rdmaraw.verbs.mlx5;

/** {@code struct mlx5dv_context}. */
final class Mlx5dvContextLayout {
    /** More than it has: every version of the header adds members at its end. */
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

    private Mlx5dvContextLayout() {
    }
}
