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
    static final int MAX_CQ_OFFSET = 128;
    static final int MAX_CQE_OFFSET = 132;
    static final int MAX_MR_OFFSET = 136;
    static final int MAX_PD_OFFSET = 140;
    static final int MAX_RAW_ETHY_QP_OFFSET = 184;
    static final int PHYS_PORT_CNT_OFFSET = 227;

    private DeviceAttrLayout() {
    }
}
