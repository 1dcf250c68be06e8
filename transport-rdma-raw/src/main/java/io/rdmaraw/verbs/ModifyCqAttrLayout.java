package io.rdmaraw.verbs;

/** {@code struct ibv_modify_cq_attr}. */
final class ModifyCqAttrLayout {
    static final int SIZE_BYTES = 8;
    static final int ATTR_MASK_OFFSET = 0;
    static final int MODERATE_CQ_COUNT_OFFSET = 4;
    static final int MODERATE_CQ_PERIOD_OFFSET = 6;

    private ModifyCqAttrLayout() {
    }
}
