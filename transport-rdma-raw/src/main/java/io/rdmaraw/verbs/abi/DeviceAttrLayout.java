package io.rdmaraw.verbs.abi;

/** {@code struct ibv_device_attr}. */
public final class DeviceAttrLayout {
    public static final int SIZE_BYTES = 232;
    public static final int FW_VER_OFFSET = 0;
    public static final int NODE_GUID_OFFSET = 64;
    public static final int SYS_IMAGE_GUID_OFFSET = 72;
    public static final int MAX_MR_SIZE_OFFSET = 80;
    public static final int PAGE_SIZE_CAP_OFFSET = 88;
    public static final int VENDOR_ID_OFFSET = 96;
    public static final int VENDOR_PART_ID_OFFSET = 100;
    public static final int HW_VER_OFFSET = 104;
    public static final int MAX_QP_OFFSET = 108;
    public static final int MAX_QP_WR_OFFSET = 112;
    public static final int DEVICE_CAP_FLAGS_OFFSET = 116;
    public static final int MAX_SGE_OFFSET = 120;
    public static final int MAX_SGE_RD_OFFSET = 124;
    public static final int MAX_CQ_OFFSET = 128;
    public static final int MAX_CQE_OFFSET = 132;
    public static final int MAX_MR_OFFSET = 136;
    public static final int MAX_PD_OFFSET = 140;
    public static final int MAX_QP_RD_ATOM_OFFSET = 144;
    public static final int MAX_EE_RD_ATOM_OFFSET = 148;
    public static final int MAX_RES_RD_ATOM_OFFSET = 152;
    public static final int MAX_QP_INIT_RD_ATOM_OFFSET = 156;
    public static final int MAX_EE_INIT_RD_ATOM_OFFSET = 160;
    public static final int ATOMIC_CAP_OFFSET = 164;
    public static final int MAX_EE_OFFSET = 168;
    public static final int MAX_RDD_OFFSET = 172;
    public static final int MAX_MW_OFFSET = 176;
    public static final int MAX_RAW_IPV6_QP_OFFSET = 180;
    public static final int MAX_RAW_ETHY_QP_OFFSET = 184;
    public static final int MAX_MCAST_GRP_OFFSET = 188;
    public static final int MAX_MCAST_QP_ATTACH_OFFSET = 192;
    public static final int MAX_TOTAL_MCAST_QP_ATTACH_OFFSET = 196;
    public static final int MAX_AH_OFFSET = 200;
    public static final int MAX_FMR_OFFSET = 204;
    public static final int MAX_MAP_PER_FMR_OFFSET = 208;
    public static final int MAX_SRQ_OFFSET = 212;
    public static final int MAX_SRQ_WR_OFFSET = 216;
    public static final int MAX_SRQ_SGE_OFFSET = 220;
    public static final int MAX_PKEYS_OFFSET = 224;
    public static final int LOCAL_CA_ACK_DELAY_OFFSET = 226;
    public static final int PHYS_PORT_CNT_OFFSET = 227;

    private DeviceAttrLayout() {
    }
}
