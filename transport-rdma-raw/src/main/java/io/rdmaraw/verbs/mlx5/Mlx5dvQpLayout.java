package io.rdmaraw.verbs.mlx5;

/** {@code struct mlx5dv_qp}. */
final class Mlx5dvQpLayout {
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

    private Mlx5dvQpLayout() {
    }
}
