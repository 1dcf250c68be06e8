package io.rdmaraw.verbs.mlx5;

/** {@code struct mlx5dv_cq_init_attr}. */
final class Mlx5dvCqInitAttrLayout {
    /** More than it has: every version of the header may add members at its end. */
    static final int ROOM_BYTES = 64;
    static final int COMP_MASK_OFFSET = 0;
    static final int CQE_COMP_RES_FORMAT_OFFSET = 8;

    private Mlx5dvCqInitAttrLayout() {
    }
}
