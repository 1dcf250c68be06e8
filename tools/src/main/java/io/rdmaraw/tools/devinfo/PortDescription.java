package io.rdmaraw.tools.devinfo;

import io.rdmaraw.verbs.objects.PortAttributes;
import io.rdmaraw.verbs.objects.VerbsContext;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Describes a port as a map from names to values. The codes are those of infiniband/verbs.h. */
final class PortDescription {
    private static final Map<Integer, String> STATES = Map.of(0, "PORT_NOP", 1, "PORT_DOWN", 2, "PORT_INIT",
            3, "PORT_ARMED", 4, "PORT_ACTIVE", 5, "PORT_ACTIVE_DEFER");
    private static final Map<Integer, String> PHYSICAL_STATES = Map.of(1, "SLEEP", 2, "POLLING", 3, "DISABLED",
            4, "PORT_CONFIGURATION TRAINNING", 5, "LINK_UP", 6, "LINK_ERROR_RECOVERY", 7, "PHY TEST");
    private static final Map<Integer, String> MTU_BYTES = Map.of(1, "256", 2, "512", 3, "1024", 4, "2048", 5, "4096");
    private static final Map<Integer, String> WIDTHS = Map.of(1, "1X", 2, "4X", 4, "8X", 8, "12X", 16, "2X");
    private static final Map<Integer, String> SPEEDS = Map.of(1, "2.5 Gbps", 2, "5.0 Gbps", 4, "10.0 Gbps",
            8, "10.0 Gbps", 16, "14.0 Gbps", 32, "25.0 Gbps", 64, "50.0 Gbps", 128, "100.0 Gbps");
    private static final Map<Integer, String> LINK_LAYERS = Map.of(0, "Unspecified", 1, "InfiniBand", 2, "Ethernet");
    private static final byte[] NO_GID = new byte[16];

    private PortDescription() {
    }

    static Map<String, Object> of(VerbsContext context, int port) {
        PortAttributes attributes = context.queryPort(port);
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("port", port);
        values.put("state", code(STATES, attributes.state()));
        String interfaceName = context.interfaceName(port);
        values.put("netdev", interfaceName == null ? "none in this network namespace" : interfaceName);
        values.put("netdev_mtu", context.mtuBytes(port));
        values.put("max_mtu", code(MTU_BYTES, attributes.maxMtu()));
        values.put("active_mtu", code(MTU_BYTES, attributes.activeMtu()));
        values.put("sm_lid", attributes.smLid());
        values.put("port_lid", attributes.lid());
        values.put("link_layer", LINK_LAYERS.getOrDefault(attributes.linkLayer(), "Unknown"));
        values.put("max_msg_sz", String.format("0x%x", attributes.maxMessageBytes()));
        values.put("port_cap_flags", String.format("0x%08x", attributes.capabilityFlags()));
        values.put("port_cap_flags2", String.format("0x%04x", attributes.capabilityFlags2()));
        attributes.others().forEach((name, value) -> values.put(name.equals("lmc") ? "port_lmc" : name, value));
        values.put("pkey_tbl_len", attributes.pkeyTableEntries());
        values.put("gid_tbl_len", attributes.gidTableEntries());
        values.put("active_width", code(WIDTHS, attributes.activeWidth()));
        values.put("active_speed", code(SPEEDS, attributes.activeSpeed()));
        values.put("phys_state", code(PHYSICAL_STATES, attributes.physicalState()));
        values.put("gids", gids(context, port, attributes.gidTableEntries()));
        return values;
    }

    private static String code(Map<Integer, String> names, int code) {
        return names.getOrDefault(code, "invalid") + " (" + code + ')';
    }

    private static List<String> gids(VerbsContext context, int port, int entries) {
        List<String> gids = new ArrayList<>();
        for (int i = 0; i < entries; i++) {
            byte[] gid = context.queryGid(port, i);
            // Tables have hundreds of entries, almost all of them empty.
            if (!Arrays.equals(gid, NO_GID)) {
                gids.add(String.format("GID[%3d]: %s", i, ipv6(gid)));
            }
        }
        return gids;
    }

    private static String ipv6(byte[] gid) {
        try {
            return InetAddress.getByAddress(gid).getHostAddress();
        } catch (UnknownHostException e) {
            throw new AssertionError("16 bytes are an address", e);
        }
    }
}
