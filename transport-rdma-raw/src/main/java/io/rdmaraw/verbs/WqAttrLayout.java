package io.rdmaraw.verbs;

/** {@code struct ibv_wq_attr}. */
final class WqAttrLayout {
    static final int SIZE_BYTES = 20;
    static final int ATTR_MASK_OFFSET = 0;
    static final int WQ_STATE_OFFSET = 4;
    static final int CURR_WQ_STATE_OFFSET = 8;
    static final int FLAGS_OFFSET = 12;
    static final int FLAGS_MASK_OFFSET = 16;

    private WqAttrLayout() {
    }
}
