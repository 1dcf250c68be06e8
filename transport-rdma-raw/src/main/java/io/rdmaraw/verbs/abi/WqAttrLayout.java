package io.rdmaraw.verbs.abi;

/** {@code struct ibv_wq_attr}. */
public final class WqAttrLayout {
    public static final int SIZE_BYTES = 20;
    public static final int ATTR_MASK_OFFSET = 0;
    public static final int WQ_STATE_OFFSET = 4;
    static final int CURR_WQ_STATE_OFFSET = 8;
    static final int FLAGS_OFFSET = 12;
    static final int FLAGS_MASK_OFFSET = 16;

    private WqAttrLayout() {
    }
}
