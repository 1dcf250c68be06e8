package io.rdmaraw.tools.devinfo;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Names of the bits in masks of infiniband/verbs.h, as printed by {@code ibv_devinfo}. */
final class Flags {
    /** {@code enum ibv_device_cap_flags} and, from bit 32 on, {@code device_cap_flags_ex}. */
    static final Map<Integer, String> DEVICE_CAPABILITIES = new TreeMap<>(Map.ofEntries(
            Map.entry(0, "RESIZE_MAX_WR"), Map.entry(1, "BAD_PKEY_CNTR"), Map.entry(2, "BAD_QKEY_CNTR"),
            Map.entry(3, "RAW_MULTI"), Map.entry(4, "AUTO_PATH_MIG"), Map.entry(5, "CHANGE_PHY_PORT"),
            Map.entry(6, "UD_AV_PORT_ENFORCE"), Map.entry(7, "CURR_QP_STATE_MOD"), Map.entry(8, "SHUTDOWN_PORT"),
            Map.entry(9, "INIT_TYPE"), Map.entry(10, "PORT_ACTIVE_EVENT"), Map.entry(11, "SYS_IMAGE_GUID"),
            Map.entry(12, "RC_RNR_NAK_GEN"), Map.entry(13, "SRQ_RESIZE"), Map.entry(14, "N_NOTIFY_CQ"),
            Map.entry(17, "MEM_WINDOW"), Map.entry(18, "UD_IP_CSUM"), Map.entry(20, "XRC"),
            Map.entry(21, "MEM_MGT_EXTENSIONS"), Map.entry(23, "MEM_WINDOW_TYPE_2A"),
            Map.entry(24, "MEM_WINDOW_TYPE_2B"), Map.entry(25, "RC_IP_CSUM"), Map.entry(26, "RAW_IP_CSUM"),
            Map.entry(29, "MANAGED_FLOW_STEERING"), Map.entry(34, "RAW_SCATTER_FCS"),
            Map.entry(36, "PCI_WRITE_END_PADDING")));

    /** {@code enum ibv_raw_packet_caps}. */
    static final Map<Integer, String> RAW_PACKET_CAPABILITIES = new TreeMap<>(Map.of(
            0, "C-VLAN stripping offload", 1, "Scatter FCS offload", 2, "IP csum offload", 3, "Delay drop"));

    /** {@code enum ibv_qp_type}. */
    static final Map<Integer, String> QUEUE_PAIR_TYPES = new TreeMap<>(Map.of(
            2, "SUPPORT_RC", 3, "SUPPORT_UC", 4, "SUPPORT_UD", 8, "SUPPORT_RAW_PACKET", 9, "SUPPORT_XRC_SEND",
            10, "SUPPORT_XRC_RECV"));

    /** {@code enum ibv_rx_hash_fields}. */
    static final Map<Integer, String> RX_HASH_FIELDS = new TreeMap<>(Map.of(
            0, "SRC_IPV4", 1, "DST_IPV4", 2, "SRC_IPV6", 3, "DST_IPV6", 4, "SRC_PORT_TCP", 5, "DST_PORT_TCP",
            6, "SRC_PORT_UDP", 7, "DST_PORT_UDP", 31, "INNER"));

    private Flags() {
    }

    /** Returns the names of the bits that are set. A bit without a name is shown by its value. */
    static List<String> names(Map<Integer, String> namesByBit, long mask) {
        List<String> names = new ArrayList<>();
        for (int bit = 0; bit < Long.SIZE; bit++) {
            if ((mask >>> bit & 1) != 0) {
                names.add(namesByBit.getOrDefault(bit, "unknown 0x" + Long.toHexString(1L << bit)));
            }
        }
        return names;
    }
}
