package io.rdmaraw.verbs;

/** {@code struct ibv_rwq_ind_table_init_attr}. */
final class RwqIndTableInitAttrLayout {
    static final int SIZE_BYTES = 24;
    static final int LOG_IND_TBL_SIZE_OFFSET = 0;
    static final int IND_TBL_OFFSET = 8;
    static final int COMP_MASK_OFFSET = 16;

    private RwqIndTableInitAttrLayout() {
    }
}
