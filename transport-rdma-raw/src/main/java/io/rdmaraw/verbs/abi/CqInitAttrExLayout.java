package io.rdmaraw.verbs.abi;

/** {@code struct ibv_cq_init_attr_ex}. */
public final class CqInitAttrExLayout {
    public static final int SIZE_BYTES = 56;
    public static final int CQE_OFFSET = 0;
    public static final int CHANNEL_OFFSET = 16;
    public static final int COMP_VECTOR_OFFSET = 24;
    public static final int WC_FLAGS_OFFSET = 32;
    public static final int COMP_MASK_OFFSET = 40;
    public static final int FLAGS_OFFSET = 44;

    private CqInitAttrExLayout() {
    }
}
