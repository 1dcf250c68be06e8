package io.rdmaraw.verbs.abi;

/** {@code struct ibv_qp_init_attr_ex}, with which {@code struct ibv_qp_init_attr} shares its first 60 bytes. */
public final class QpInitAttrExLayout {
    public static final int SIZE_BYTES = 136;
    public static final int SEND_CQ_OFFSET = 8;
    public static final int RECV_CQ_OFFSET = 16;
    public static final int CAP_MAX_SEND_WR_OFFSET = 32;
    public static final int CAP_MAX_RECV_WR_OFFSET = 36;
    public static final int CAP_MAX_SEND_SGE_OFFSET = 40;
    public static final int CAP_MAX_RECV_SGE_OFFSET = 44;
    public static final int CAP_MAX_INLINE_DATA_OFFSET = 48;
    public static final int QP_TYPE_OFFSET = 52;
    public static final int SQ_SIG_ALL_OFFSET = 56;
    public static final int COMP_MASK_OFFSET = 60;
    public static final int PD_OFFSET = 64;
    public static final int CREATE_FLAGS_OFFSET = 80;
    public static final int MAX_TSO_HEADER_OFFSET = 84;
    public static final int RWQ_IND_TBL_OFFSET = 88;
    public static final int RX_HASH_CONF_RX_HASH_FUNCTION_OFFSET = 96;
    public static final int RX_HASH_CONF_RX_HASH_KEY_LEN_OFFSET = 97;
    public static final int RX_HASH_CONF_RX_HASH_KEY_OFFSET = 104;
    public static final int RX_HASH_CONF_RX_HASH_FIELDS_MASK_OFFSET = 112;

    private QpInitAttrExLayout() {
    }
}
