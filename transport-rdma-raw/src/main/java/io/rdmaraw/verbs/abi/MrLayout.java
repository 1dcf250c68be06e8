package io.rdmaraw.verbs.abi;

/** {@code struct ibv_mr}. */
public final class MrLayout {
    public static final int ADDR_OFFSET = 16;
    public static final int LENGTH_OFFSET = 24;
    public static final int LKEY_OFFSET = 36;

    private MrLayout() {
    }
}
