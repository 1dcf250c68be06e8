package io.rdmaraw.verbs.mlx5;

/** {@code struct mlx5dv_obj}. */
final class Mlx5dvObjLayout {
    /** More than it has: every version of the header may add objects at its end. */
    static final int ROOM_BYTES = 256;
    static final int QP_IN_OFFSET = 0;
    static final int CQ_IN_OFFSET = 16;
    static final int RWQ_IN_OFFSET = 48;

    private Mlx5dvObjLayout() {
    }
}
