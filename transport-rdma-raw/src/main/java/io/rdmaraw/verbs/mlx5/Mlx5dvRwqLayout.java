package io.rdmaraw.verbs.mlx5;

/** {@code struct mlx5dv_rwq}. */
final class Mlx5dvRwqLayout {
    static final int SIZE_BYTES = 32;
    static final int BUF_OFFSET = 0;
    static final int DBREC_OFFSET = 8;
    static final int WQE_CNT_OFFSET = 16;
    static final int STRIDE_OFFSET = 20;

    private Mlx5dvRwqLayout() {
    }
}
