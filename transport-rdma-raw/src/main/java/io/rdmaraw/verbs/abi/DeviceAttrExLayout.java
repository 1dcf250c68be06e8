package io.rdmaraw.verbs.abi;

/** {@code struct ibv_device_attr_ex}, which begins with {@code struct ibv_device_attr}. */
public final class DeviceAttrExLayout {
    public static final int SIZE_BYTES = 400;
    public static final int COMPLETION_TIMESTAMP_MASK_OFFSET = 264;
    public static final int HCA_CORE_CLOCK_OFFSET = 272;
    public static final int DEVICE_CAP_FLAGS_EX_OFFSET = 280;
    public static final int TSO_CAPS_MAX_TSO_OFFSET = 288;
    public static final int TSO_CAPS_SUPPORTED_QPTS_OFFSET = 292;
    public static final int RSS_CAPS_SUPPORTED_QPTS_OFFSET = 296;
    public static final int RSS_CAPS_MAX_RWQ_INDIRECTION_TABLES_OFFSET = 300;
    public static final int RSS_CAPS_MAX_RWQ_INDIRECTION_TABLE_SIZE_OFFSET = 304;
    public static final int RSS_CAPS_RX_HASH_FIELDS_MASK_OFFSET = 312;
    public static final int RSS_CAPS_RX_HASH_FUNCTION_OFFSET = 320;
    public static final int MAX_WQ_TYPE_RQ_OFFSET = 328;
    public static final int PACKET_PACING_CAPS_QP_RATE_LIMIT_MIN_OFFSET = 332;
    public static final int PACKET_PACING_CAPS_QP_RATE_LIMIT_MAX_OFFSET = 336;
    public static final int PACKET_PACING_CAPS_SUPPORTED_QPTS_OFFSET = 340;
    public static final int RAW_PACKET_CAPS_OFFSET = 344;
    public static final int CQ_MOD_CAPS_MAX_CQ_COUNT_OFFSET = 368;
    public static final int CQ_MOD_CAPS_MAX_CQ_PERIOD_OFFSET = 370;
    public static final int MAX_DM_SIZE_OFFSET = 376;
    public static final int PHYS_PORT_CNT_EX_OFFSET = 396;

    private DeviceAttrExLayout() {
    }
}
