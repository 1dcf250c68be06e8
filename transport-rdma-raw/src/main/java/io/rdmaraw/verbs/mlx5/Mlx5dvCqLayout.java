package io.rdmaraw.verbs.mlx5;

/** {@code struct mlx5dv_cq}. */
final class Mlx5dvCqLayout {
    static final int SIZE_BYTES = 48;
    static final int BUF_OFFSET = 0;
    static final int DBREC_OFFSET = 8;
    static final int CQE_CNT_OFFSET = 16;
    static final int CQE_SIZE_OFFSET = 20;
    static final int CQ_UAR_OFFSET = 24;
    static final int CQN_OFFSET = 32;

    private Mlx5dvCqLayout() {
    }
}
