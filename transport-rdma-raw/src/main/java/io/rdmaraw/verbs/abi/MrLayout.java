package io.rdmaraw.verbs.abi;

/** {@code struct ibv_mr}. */
public final class MrLayout {
    static final int SIZE_BYTES = 48;
    public static final int ADDR_OFFSET = 16;
    public static final int LENGTH_OFFSET = 24;
    public static final int LKEY_OFFSET = 36;
    static final int RKEY_OFFSET = 40;

    private MrLayout() {
    }
}
