package io.rdmaraw.verbs.abi;

/** {@code struct ibv_wq_attr}. */
public final class WqAttrLayout {
    public static final int SIZE_BYTES = 20;
    public static final int ATTR_MASK_OFFSET = 0;
    public static final int WQ_STATE_OFFSET = 4;

    private WqAttrLayout() {
    }
}
