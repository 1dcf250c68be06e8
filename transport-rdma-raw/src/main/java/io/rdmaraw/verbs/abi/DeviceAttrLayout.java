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
    public static final int MAX_CQ_OFFSET = 128;
    public static final int MAX_CQE_OFFSET = 132;
    public static final int MAX_MR_OFFSET = 136;
    public static final int MAX_PD_OFFSET = 140;
    public static final int MAX_RAW_ETHY_QP_OFFSET = 184;
    public static final int PHYS_PORT_CNT_OFFSET = 227;

    private DeviceAttrLayout() {
    }
}
