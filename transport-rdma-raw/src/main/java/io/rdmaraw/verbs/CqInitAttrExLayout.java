package io.rdmaraw.verbs;

/** {@code struct ibv_cq_init_attr_ex}. */
final class CqInitAttrExLayout {
    static final int SIZE_BYTES = 56;
    static final int CQE_OFFSET = 0;
    static final int CQ_CONTEXT_OFFSET = 8;
    static final int CHANNEL_OFFSET = 16;
    static final int COMP_VECTOR_OFFSET = 24;
    static final int WC_FLAGS_OFFSET = 32;
    static final int COMP_MASK_OFFSET = 40;
    static final int FLAGS_OFFSET = 44;
    static final int PARENT_DOMAIN_OFFSET = 48;

    private CqInitAttrExLayout() {
    }
}
