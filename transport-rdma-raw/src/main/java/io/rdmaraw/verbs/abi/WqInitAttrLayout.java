package io.rdmaraw.verbs.abi;

/** {@code struct ibv_wq_init_attr}. */
public final class WqInitAttrLayout {
    public static final int SIZE_BYTES = 48;
    public static final int WQ_TYPE_OFFSET = 8;
    public static final int MAX_WR_OFFSET = 12;
    public static final int MAX_SGE_OFFSET = 16;
    public static final int PD_OFFSET = 24;
    public static final int CQ_OFFSET = 32;
    public static final int COMP_MASK_OFFSET = 40;
    public static final int CREATE_FLAGS_OFFSET = 44;

    private WqInitAttrLayout() {
    }
}
