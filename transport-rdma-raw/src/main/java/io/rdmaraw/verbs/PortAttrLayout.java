package io.rdmaraw.verbs;

/** {@code struct ibv_port_attr}. */
final class PortAttrLayout {
    static final int SIZE_BYTES = 52;
    static final int STATE_OFFSET = 0;
    static final int MAX_MTU_OFFSET = 4;
    static final int ACTIVE_MTU_OFFSET = 8;
    static final int GID_TBL_LEN_OFFSET = 12;
    static final int PORT_CAP_FLAGS_OFFSET = 16;
    static final int MAX_MSG_SZ_OFFSET = 20;
    static final int PKEY_TBL_LEN_OFFSET = 32;
    static final int LID_OFFSET = 34;
    static final int SM_LID_OFFSET = 36;
    static final int ACTIVE_WIDTH_OFFSET = 43;
    static final int ACTIVE_SPEED_OFFSET = 44;
    static final int PHYS_STATE_OFFSET = 45;
    static final int LINK_LAYER_OFFSET = 46;
    static final int FLAGS_OFFSET = 47;
    static final int PORT_CAP_FLAGS2_OFFSET = 48;

    private PortAttrLayout() {
    }
}
