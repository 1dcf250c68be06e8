package io.rdmaraw.verbs.abi;

/** {@code struct ibv_port_attr}. */
public final class PortAttrLayout {
    public static final int SIZE_BYTES = 52;
    public static final int STATE_OFFSET = 0;
    public static final int MAX_MTU_OFFSET = 4;
    public static final int ACTIVE_MTU_OFFSET = 8;
    public static final int GID_TBL_LEN_OFFSET = 12;
    public static final int PORT_CAP_FLAGS_OFFSET = 16;
    public static final int MAX_MSG_SZ_OFFSET = 20;
    public static final int PKEY_TBL_LEN_OFFSET = 32;
    public static final int LID_OFFSET = 34;
    public static final int SM_LID_OFFSET = 36;
    public static final int ACTIVE_WIDTH_OFFSET = 43;
    public static final int ACTIVE_SPEED_OFFSET = 44;
    public static final int PHYS_STATE_OFFSET = 45;
    public static final int LINK_LAYER_OFFSET = 46;
    public static final int FLAGS_OFFSET = 47;
    public static final int PORT_CAP_FLAGS2_OFFSET = 48;

    private PortAttrLayout() {
    }
}
