package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.VerbsLayouts.DeviceAttrExLayout;

/**
 * The extended attributes of a device ({@code struct ibv_device_attr_ex}). An attribute that the driver does
 * not report is 0.
 *
 * @param device                        the attributes that every device reports
 * @param completionTimestampMask       mask of the valid bits of a completion time stamp
 * @param coreClockKilohertz            frequency of the time stamp clock
 * @param capabilityFlagsEx             {@code device_cap_flags_ex}
 * @param maxTsoBytes                   maximum payload of a TSO send
 * @param tsoQueuePairTypes             queue pair types that support TSO: bit mask by {@code enum ibv_qp_type}
 * @param rssQueuePairTypes             queue pair types that support RSS: bit mask by {@code enum ibv_qp_type}
 * @param maxIndirectionTables          maximum number of RSS indirection tables
 * @param maxIndirectionTableEntries    maximum number of entries of an indirection table
 * @param rssHashFields                 the fields that can be hashed: an OR of {@link RssOptions#SOURCE_IPV4}
 *                                      and so on
 * @param rssHashFunctions              bit mask of hash functions, for example
 *                                      {@link RssOptions#FUNCTION_TOEPLITZ}
 * @param maxReceiveWorkQueues          maximum number of receive work queues
 * @param rateLimitMinKilobitsPerSecond lowest rate limit
 * @param rateLimitMaxKilobitsPerSecond highest rate limit
 * @param rateLimitQueuePairTypes       queue pair types that support rate limits: bit mask by
 *                                      {@code enum ibv_qp_type}
 * @param rawPacketCapabilities         an OR of {@link #RAW_PACKET_CVLAN_STRIPPING} and so on
 * @param maxModerationCount            maximum number of completions by which an event can be delayed
 * @param maxModerationPeriodMicros     maximum delay of an event in microseconds
 * @param maxDeviceMemoryBytes          size of the memory on the device
 * @param portCount                     number of physical ports
 */
public record ExtendedDeviceAttributes(DeviceAttributes device, long completionTimestampMask, long coreClockKilohertz,
        long capabilityFlagsEx, int maxTsoBytes, int tsoQueuePairTypes, int rssQueuePairTypes, int maxIndirectionTables,
        int maxIndirectionTableEntries, long rssHashFields, int rssHashFunctions, int maxReceiveWorkQueues,
        int rateLimitMinKilobitsPerSecond, int rateLimitMaxKilobitsPerSecond, int rateLimitQueuePairTypes,
        int rawPacketCapabilities, int maxModerationCount, int maxModerationPeriodMicros, long maxDeviceMemoryBytes,
        int portCount) {
    /** The device can remove the VLAN tag of received frames. */
    public static final int RAW_PACKET_CVLAN_STRIPPING = 1;
    /** The device can deliver the frame check sequence of received frames. */
    public static final int RAW_PACKET_SCATTER_FCS = 1 << 1;
    /** The device can verify and compute IP, TCP and UDP checksums. */
    public static final int RAW_PACKET_IP_CSUM = 1 << 2;
    /** The device can delay the drop of a frame that finds no receive buffer. */
    public static final int RAW_PACKET_DELAY_DROP = 1 << 3;
    /** The bit of {@code IBV_QPT_RAW_PACKET} in the masks by queue pair type. */
    public static final int TYPE_RAW_PACKET_BIT = 1 << 8;

    static ExtendedDeviceAttributes read(long attr) {
        DeviceAttributes device = DeviceAttributes.read(attr);
        int portCount = NativeMemory.getInt(attr + DeviceAttrExLayout.PHYS_PORT_CNT_EX_OFFSET);
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
                portCount != 0 ? portCount : device.portCount());
    }
}
