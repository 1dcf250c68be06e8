package io.rdmaraw.tools.devinfo;

import io.rdmaraw.verbs.objects.DeviceAttributes;
import io.rdmaraw.verbs.objects.ExtendedDeviceAttributes;
import io.rdmaraw.verbs.objects.PortAttributes;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.softverbs.Softverbs;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Describes a device as a map from names to values, in the order and with the names of {@code ibv_devinfo -v}. A value
 * is a number, a text, a list of texts, a map, or a list of maps (the ports).
 */
final class DeviceDescription {
    static final String PORTS = "ports";

    private DeviceDescription() {
    }

    static Map<String, Object> of(VerbsContext context) {
        ExtendedDeviceAttributes extended = context.queryDeviceExtended();
        Map<String, Object> description = general(context.deviceName(), extended.device());
        String mode = Softverbs.modeOf(context);
        if (!mode.isEmpty()) {
            description.put("mode", mode);
        }
        addRawPacket(description, extended);
        description.put("num_comp_vectors", context.completionVectorCount());
        List<Map<String, Object>> ports = new ArrayList<>();
        for (int port = 1; port <= extended.portCount(); port++) {
            ports.add(PortDescription.of(context, port));
        }
        description.put(PORTS, ports);
        return description;
    }

    private static Map<String, Object> general(String name, DeviceAttributes device) {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("hca_id", name);
        values.put("fw_ver", device.firmwareVersion());
        values.put("node_guid", guid(device.nodeGuid()));
        values.put("sys_image_guid", guid(device.systemImageGuid()));
        values.put("vendor_id", String.format("0x%04x", device.vendorId()));
        values.put("vendor_part_id", device.vendorPartId());
        values.put("hw_ver", hex(device.hardwareVersion()));
        values.put("phys_port_cnt", device.portCount());
        values.put("max_mr_size", hex(device.maxMrSizeBytes()));
        values.put("page_size_cap", hex(device.pageSizes()));
        values.put("max_qp", device.maxQp());
        values.put("max_qp_wr", device.maxQpWr());
        values.put("device_cap_flags", flags(Flags.DEVICE_CAPABILITIES,
                Integer.toUnsignedLong(device.capabilityFlags())));
        values.put("max_sge", device.maxSge());
        values.put("max_cq", device.maxCq());
        values.put("max_cqe", device.maxCqe());
        values.put("max_mr", device.maxMr());
        values.put("max_pd", device.maxPd());
        values.putAll(device.others());
        values.put("max_raw_ethy_qp", device.maxRawEthernetQp());
        return values;
    }

    private static void addRawPacket(Map<String, Object> values, ExtendedDeviceAttributes extended) {
        values.put("completion_timestamp_mask", hex(extended.completionTimestampMask()));
        values.put("hca_core_clock", extended.coreClockKilohertz() + " kHz");
        values.put("raw_packet_caps", flags(Flags.RAW_PACKET_CAPABILITIES, extended.rawPacketCapabilities()));
        values.put("device_cap_flags_ex", flags(Flags.DEVICE_CAPABILITIES, extended.capabilityFlagsEx()));
        Map<String, Object> tso = new LinkedHashMap<>();
        tso.put("max_tso", extended.maxTsoBytes());
        tso.put("supported_qp", flags(Flags.QUEUE_PAIR_TYPES, extended.tsoQueuePairTypes()));
        values.put("tso_caps", tso);
        Map<String, Object> rss = new LinkedHashMap<>();
        rss.put("max_rwq_indirection_tables", extended.maxIndirectionTables());
        rss.put("max_rwq_indirection_table_size", extended.maxIndirectionTableEntries());
        rss.put("rx_hash_function", hex(extended.rssHashFunctions()));
        rss.put("rx_hash_fields_mask", flags(Flags.RX_HASH_FIELDS, extended.rssHashFields()));
        rss.put("supported_qp", flags(Flags.QUEUE_PAIR_TYPES, extended.rssQueuePairTypes()));
        values.put("rss_caps", rss);
        values.put("max_wq_type_rq", extended.maxReceiveWorkQueues());
        Map<String, Object> pacing = new LinkedHashMap<>();
        pacing.put("qp_rate_limit_min", extended.rateLimitMinKilobitsPerSecond() + " kbps");
        pacing.put("qp_rate_limit_max", extended.rateLimitMaxKilobitsPerSecond() + " kbps");
        pacing.put("supported_qp", flags(Flags.QUEUE_PAIR_TYPES, extended.rateLimitQueuePairTypes()));
        values.put("packet_pacing_caps", pacing);
        Map<String, Object> moderation = new LinkedHashMap<>();
        moderation.put("max_cq_count", extended.maxModerationCount());
        moderation.put("max_cq_period", extended.maxModerationPeriodMicros() + " us");
        values.put("cq_moderation_caps", moderation);
        values.put("max_dm_size", extended.maxDeviceMemoryBytes());
    }

    private static Map<String, Object> flags(Map<Integer, String> names, long mask) {
        Map<String, Object> flags = new LinkedHashMap<>();
        flags.put("mask", hex(mask));
        flags.put("names", Flags.names(names, mask));
        return flags;
    }

    private static String hex(long value) {
        return "0x" + Long.toHexString(value);
    }

    /** Formats a GUID as four groups of four digits, such as 0c42:a103:00a7:db88. */
    private static String guid(long guid) {
        return String.format("%016x", guid).replaceAll("(....)(?=.)", "$1:");
    }
}
