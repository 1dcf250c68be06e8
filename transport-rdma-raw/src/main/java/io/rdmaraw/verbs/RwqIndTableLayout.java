package io.rdmaraw.verbs;

/** {@code struct ibv_rwq_ind_table}. */
final class RwqIndTableLayout {
    static final int SIZE_BYTES = 24;
    static final int IND_TBL_NUM_OFFSET = 12;

    private RwqIndTableLayout() {
    }
}
