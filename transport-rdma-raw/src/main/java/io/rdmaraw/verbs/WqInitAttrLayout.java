package io.rdmaraw.verbs;

/** {@code struct ibv_wq_init_attr}. */
final class WqInitAttrLayout {
    static final int SIZE_BYTES = 48;
    static final int WQ_CONTEXT_OFFSET = 0;
    static final int WQ_TYPE_OFFSET = 8;
    static final int MAX_WR_OFFSET = 12;
    static final int MAX_SGE_OFFSET = 16;
    static final int PD_OFFSET = 24;
    static final int CQ_OFFSET = 32;
    static final int COMP_MASK_OFFSET = 40;
    static final int CREATE_FLAGS_OFFSET = 44;

    private WqInitAttrLayout() {
    }
}
