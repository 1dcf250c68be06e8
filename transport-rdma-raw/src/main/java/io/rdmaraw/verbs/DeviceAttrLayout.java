package io.rdmaraw.verbs;

/** {@code struct ibv_device_attr}. */
final class DeviceAttrLayout {
    static final int SIZE_BYTES = 232;
    static final int FW_VER_OFFSET = 0;
    static final int NODE_GUID_OFFSET = 64;
    static final int SYS_IMAGE_GUID_OFFSET = 72;
    static final int MAX_MR_SIZE_OFFSET = 80;
    static final int PAGE_SIZE_CAP_OFFSET = 88;
    static final int VENDOR_ID_OFFSET = 96;
    static final int VENDOR_PART_ID_OFFSET = 100;
    static final int HW_VER_OFFSET = 104;
    static final int MAX_QP_OFFSET = 108;
    static final int MAX_QP_WR_OFFSET = 112;
    static final int DEVICE_CAP_FLAGS_OFFSET = 116;
    static final int MAX_SGE_OFFSET = 120;
    static final int MAX_SGE_RD_OFFSET = 124;
    static final int MAX_CQ_OFFSET = 128;
    static final int MAX_CQE_OFFSET = 132;
    static final int MAX_MR_OFFSET = 136;
    static final int MAX_PD_OFFSET = 140;
    static final int MAX_QP_RD_ATOM_OFFSET = 144;
    static final int MAX_EE_RD_ATOM_OFFSET = 148;
    static final int MAX_RES_RD_ATOM_OFFSET = 152;
    static final int MAX_QP_INIT_RD_ATOM_OFFSET = 156;
    static final int MAX_EE_INIT_RD_ATOM_OFFSET = 160;
    static final int ATOMIC_CAP_OFFSET = 164;
    static final int MAX_EE_OFFSET = 168;
    static final int MAX_RDD_OFFSET = 172;
    static final int MAX_MW_OFFSET = 176;
    static final int MAX_RAW_IPV6_QP_OFFSET = 180;
    static final int MAX_RAW_ETHY_QP_OFFSET = 184;
    static final int MAX_MCAST_GRP_OFFSET = 188;
    static final int MAX_MCAST_QP_ATTACH_OFFSET = 192;
    static final int MAX_TOTAL_MCAST_QP_ATTACH_OFFSET = 196;
    static final int MAX_AH_OFFSET = 200;
    static final int MAX_FMR_OFFSET = 204;
    static final int MAX_MAP_PER_FMR_OFFSET = 208;
    static final int MAX_SRQ_OFFSET = 212;
    static final int MAX_SRQ_WR_OFFSET = 216;
    static final int MAX_SRQ_SGE_OFFSET = 220;
    static final int MAX_PKEYS_OFFSET = 224;
    static final int LOCAL_CA_ACK_DELAY_OFFSET = 226;
    static final int PHYS_PORT_CNT_OFFSET = 227;

    private DeviceAttrLayout() {
    }
}
