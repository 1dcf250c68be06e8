package io.rdmaraw.verbs;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.DeviceAttrExLayout;

/**
 * {@code struct ibv_device_attr_ex}, as far as raw packets go. What the driver does not report is 0.
 *
 * @param device                        what every device reports
 * @param completionTimestampMask       the valid bits of a completion's time stamp
 * @param coreClockKilohertz            the clock of the time stamps
 * @param capabilityFlagsEx             {@code device_cap_flags_ex}
 * @param maxTsoBytes                   the longest payload of one TSO send
 * @param tsoQueuePairTypes             bit mask by {@code enum ibv_qp_type}
 * @param rssQueuePairTypes             bit mask by {@code enum ibv_qp_type}
 * @param maxIndirectionTables          indirection tables
 * @param maxIndirectionTableEntries    entries of one indirection table
 * @param rssHashFields                 what can be hashed, from {@link RssOptions#SOURCE_IPV4} and so on
 * @param rssHashFunctions              bit mask, {@link RssOptions#FUNCTION_TOEPLITZ}
 * @param maxReceiveWorkQueues          receive work queues
 * @param rateLimitMinKilobitsPerSecond the slowest packet pacing
 * @param rateLimitMaxKilobitsPerSecond the fastest packet pacing
 * @param rateLimitQueuePairTypes       bit mask by {@code enum ibv_qp_type}
 * @param rawPacketCapabilities         {@link #RAW_PACKET_CVLAN_STRIPPING} and so on
 * @param maxModerationCount            completions that an event can be delayed for
 * @param maxModerationPeriodMicros     how long an event can be delayed
 * @param maxDeviceMemoryBytes          memory on the device
 * @param ports                         number of physical ports
 */
public record ExtendedDeviceAttributes(DeviceAttributes device, long completionTimestampMask, long coreClockKilohertz,
        long capabilityFlagsEx, int maxTsoBytes, int tsoQueuePairTypes, int rssQueuePairTypes, int maxIndirectionTables,
        int maxIndirectionTableEntries, long rssHashFields, int rssHashFunctions, int maxReceiveWorkQueues,
        int rateLimitMinKilobitsPerSecond, int rateLimitMaxKilobitsPerSecond, int rateLimitQueuePairTypes,
        int rawPacketCapabilities, int maxModerationCount, int maxModerationPeriodMicros, long maxDeviceMemoryBytes,
        int ports) {
    public static final int RAW_PACKET_CVLAN_STRIPPING = 1;
    public static final int RAW_PACKET_SCATTER_FCS = 1 << 1;
    public static final int RAW_PACKET_IP_CSUM = 1 << 2;
    public static final int RAW_PACKET_DELAY_DROP = 1 << 3;
    /** The bit of raw-packet queue pairs in the masks by type. */
    public static final int TYPE_RAW_PACKET_BIT = 1 << 8;

    static ExtendedDeviceAttributes read(long attr) {
        DeviceAttributes device = DeviceAttributes.read(attr);
        int ports = NativeMemory.getInt(attr + DeviceAttrExLayout.PHYS_PORT_CNT_EX_OFFSET);
        return new ExtendedDeviceAttributes(device,
                NativeMemory.getLong(attr + DeviceAttrExLayout.COMPLETION_TIMESTAMP_MASK_OFFSET),
                NativeMemory.getLong(attr + DeviceAttrExLayout.HCA_CORE_CLOCK_OFFSET),
                NativeMemory.getLong(attr + DeviceAttrExLayout.DEVICE_CAP_FLAGS_EX_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrExLayout.TSO_CAPS_MAX_TSO_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrExLayout.TSO_CAPS_SUPPORTED_QPTS_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrExLayout.RSS_CAPS_SUPPORTED_QPTS_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrExLayout.RSS_CAPS_MAX_RWQ_INDIRECTION_TABLES_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrExLayout.RSS_CAPS_MAX_RWQ_INDIRECTION_TABLE_SIZE_OFFSET),
                NativeMemory.getLong(attr + DeviceAttrExLayout.RSS_CAPS_RX_HASH_FIELDS_MASK_OFFSET),
                NativeMemory.getByte(attr + DeviceAttrExLayout.RSS_CAPS_RX_HASH_FUNCTION_OFFSET) & 0xff,
                NativeMemory.getInt(attr + DeviceAttrExLayout.MAX_WQ_TYPE_RQ_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrExLayout.PACKET_PACING_CAPS_QP_RATE_LIMIT_MIN_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrExLayout.PACKET_PACING_CAPS_QP_RATE_LIMIT_MAX_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrExLayout.PACKET_PACING_CAPS_SUPPORTED_QPTS_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrExLayout.RAW_PACKET_CAPS_OFFSET),
                NativeMemory.getShort(attr + DeviceAttrExLayout.CQ_MOD_CAPS_MAX_CQ_COUNT_OFFSET) & 0xffff,
                NativeMemory.getShort(attr + DeviceAttrExLayout.CQ_MOD_CAPS_MAX_CQ_PERIOD_OFFSET) & 0xffff,
                NativeMemory.getLong(attr + DeviceAttrExLayout.MAX_DM_SIZE_OFFSET),
                ports != 0 ? ports : device.ports());
    }
}
