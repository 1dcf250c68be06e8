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
    static final int BAD_PKEY_CNTR_OFFSET = 24;
    static final int QKEY_VIOL_CNTR_OFFSET = 28;
    static final int PKEY_TBL_LEN_OFFSET = 32;
    static final int LID_OFFSET = 34;
    static final int SM_LID_OFFSET = 36;
    static final int LMC_OFFSET = 38;
    static final int MAX_VL_NUM_OFFSET = 39;
    static final int SM_SL_OFFSET = 40;
    static final int SUBNET_TIMEOUT_OFFSET = 41;
    static final int INIT_TYPE_REPLY_OFFSET = 42;
    static final int ACTIVE_WIDTH_OFFSET = 43;
    static final int ACTIVE_SPEED_OFFSET = 44;
    static final int PHYS_STATE_OFFSET = 45;
    static final int LINK_LAYER_OFFSET = 46;
    static final int FLAGS_OFFSET = 47;
    static final int PORT_CAP_FLAGS2_OFFSET = 48;

    private PortAttrLayout() {
    }
}
