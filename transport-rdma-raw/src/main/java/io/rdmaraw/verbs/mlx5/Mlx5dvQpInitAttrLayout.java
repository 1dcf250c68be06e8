package io.rdmaraw.verbs.mlx5;

/** {@code struct mlx5dv_qp_init_attr}. */
final class Mlx5dvQpInitAttrLayout {
    /** More than it has: every version of the header may add members at its end. */
    static final int ROOM_BYTES = 128;
    static final int COMP_MASK_OFFSET = 0;
    static final int CREATE_FLAGS_OFFSET = 8;

    private Mlx5dvQpInitAttrLayout() {
    }
}
