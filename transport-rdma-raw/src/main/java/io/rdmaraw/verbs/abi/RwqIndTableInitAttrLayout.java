package io.rdmaraw.verbs.abi;

/** {@code struct ibv_rwq_ind_table_init_attr}. */
public final class RwqIndTableInitAttrLayout {
    public static final int SIZE_BYTES = 24;
    public static final int LOG_IND_TBL_SIZE_OFFSET = 0;
    public static final int IND_TBL_OFFSET = 8;

    private RwqIndTableInitAttrLayout() {
    }
}
