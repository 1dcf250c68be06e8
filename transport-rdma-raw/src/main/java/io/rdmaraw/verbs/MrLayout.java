package io.rdmaraw.verbs;

/** {@code struct ibv_mr}. */
final class MrLayout {
    static final int SIZE_BYTES = 48;
    static final int ADDR_OFFSET = 16;
    static final int LENGTH_OFFSET = 24;
    static final int LKEY_OFFSET = 36;
    static final int RKEY_OFFSET = 40;

    private MrLayout() {
    }
}
