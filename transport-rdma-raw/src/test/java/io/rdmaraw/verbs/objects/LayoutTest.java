package io.rdmaraw.verbs.objects;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.CProgram;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.abi.VerbsLayouts.AsyncEventLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.ContextLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.CqInitAttrExLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.CqLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.DeviceAttrExLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.DeviceAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.DeviceLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowDropLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowEthLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowIpv4Layout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowIpv6Layout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowTagLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowTcpUdpLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowTunnelLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.MrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.PortAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.QpAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.QpInitAttrExLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.QpLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.QpRateLimitAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.RwqIndTableInitAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.VerbsContextLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.WqAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.WqInitAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.WqLayout;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.flow.FlowType;
import io.rdmaraw.verbs.softverbs.SoftverbsLayouts.SoftverbsCountersLayout;
import io.rdmaraw.verbs.softverbs.SoftverbsLayouts.SoftverbsInterfaceLayout;
import io.rdmaraw.verbs.softverbs.SoftverbsLayouts.SoftverbsProgramLayout;
import io.rdmaraw.verbs.softverbs.SoftverbsQueueCounters;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/**
 * Compares every layout constant and every enumeration value with the C compiler's result for
 * infiniband/verbs.h.
 */
class LayoutTest {
    /** The header of the neighbouring module. Tests run in the directory of their module. */
    private static final Path SOFTVERBS_HEADER =
            Path.of("../transport-rdma-raw-native/softverbs/include/softverbs.h").toAbsolutePath().normalize();
    /** The C structure that corresponds to each class of constants. */
    private static final Map<Class<?>, String> STRUCTS = Map.ofEntries(
            Map.entry(SoftverbsQueueCounters.class, "softverbs_queue_counters"),
            Map.entry(SoftverbsCountersLayout.class, "softverbs_counters"),
            Map.entry(SoftverbsInterfaceLayout.class, "softverbs_interface"),
            Map.entry(SoftverbsProgramLayout.class, "softverbs_program"),
            Map.entry(Sge.class, "ibv_sge"), Map.entry(SendWr.class, "ibv_send_wr"),
            Map.entry(ReceiveWr.class, "ibv_recv_wr"), Map.entry(Wc.class, "ibv_wc"),
            Map.entry(DeviceLayout.class, "ibv_device"), Map.entry(ContextLayout.class, "ibv_context"),
            Map.entry(VerbsContextLayout.class, "verbs_context"), Map.entry(MrLayout.class, "ibv_mr"),
            Map.entry(CqLayout.class, "ibv_cq"),
            Map.entry(CqInitAttrExLayout.class, "ibv_cq_init_attr_ex"),
            Map.entry(QpLayout.class, "ibv_qp"),
            Map.entry(QpInitAttrExLayout.class, "ibv_qp_init_attr_ex"), Map.entry(QpAttrLayout.class, "ibv_qp_attr"),
            Map.entry(WqLayout.class, "ibv_wq"), Map.entry(WqInitAttrLayout.class, "ibv_wq_init_attr"),
            Map.entry(WqAttrLayout.class, "ibv_wq_attr"),
            Map.entry(RwqIndTableInitAttrLayout.class, "ibv_rwq_ind_table_init_attr"),
            Map.entry(AsyncEventLayout.class, "ibv_async_event"),
            Map.entry(QpRateLimitAttrLayout.class, "ibv_qp_rate_limit_attr"),
            Map.entry(PortAttrLayout.class, "ibv_port_attr"), Map.entry(DeviceAttrLayout.class, "ibv_device_attr"),
            Map.entry(DeviceAttrExLayout.class, "ibv_device_attr_ex"), Map.entry(FlowAttrLayout.class, "ibv_flow_attr"),
            Map.entry(FlowEthLayout.class, "ibv_flow_spec_eth"),
            Map.entry(FlowIpv4Layout.class, "ibv_flow_spec_ipv4_ext"),
            Map.entry(FlowIpv6Layout.class, "ibv_flow_spec_ipv6"),
            Map.entry(FlowTcpUdpLayout.class, "ibv_flow_spec_tcp_udp"),
            Map.entry(FlowTunnelLayout.class, "ibv_flow_spec_tunnel"),
            Map.entry(FlowTagLayout.class, "ibv_flow_spec_action_tag"),
            Map.entry(FlowDropLayout.class, "ibv_flow_spec_action_drop"));
    /** Prefixes of constants that denote a nested structure. */
    private static final Map<String, String> NESTED = Map.of("OPS_", "ops.", "CAP_", "cap.", "RX_HASH_CONF_",
            "rx_hash_conf.", "TSO_CAPS_", "tso_caps.", "RSS_CAPS_", "rss_caps.", "PACKET_PACING_CAPS_",
            "packet_pacing_caps.", "CQ_MOD_CAPS_", "cq_mod_caps.");
    /** C expressions of constants that do not follow from the name. */
    private static final Map<String, String> SPECIAL = Map.ofEntries(
            Map.entry("SendWr.TSO_HDR_OFFSET", "offsetof(struct ibv_send_wr, tso.hdr)"),
            Map.entry("SendWr.TSO_HDR_SZ_OFFSET", "offsetof(struct ibv_send_wr, tso.hdr_sz)"),
            Map.entry("SendWr.TSO_MSS_OFFSET", "offsetof(struct ibv_send_wr, tso.mss)"),
            Map.entry("CqLayout.COMP_CHANNEL_FD_OFFSET", "offsetof(struct ibv_comp_channel, fd)"),
            Map.entry("FlowTunnelLayout.VAL_TUNNEL_ID_OFFSET", "offsetof(struct ibv_flow_spec_tunnel, val.tunnel_id)"),
            Map.entry("FlowTunnelLayout.MASK_TUNNEL_ID_OFFSET",
                    "offsetof(struct ibv_flow_spec_tunnel, mask.tunnel_id)"),
            Map.entry("FlowIpv4Layout.PLAIN_SIZE_BYTES", "sizeof(struct ibv_flow_spec_ipv4)"),
            Map.entry("FlowIpv4Layout.PLAIN_MASK_OFFSET", "offsetof(struct ibv_flow_spec_ipv4, mask)"));
    /** The filter structures of flow specs. Their constants begin with FILTER_. */
    private static final Map<Class<?>, String> FILTERS = Map.of(FlowEthLayout.class, "ibv_flow_eth_filter",
            FlowIpv4Layout.class, "ibv_flow_ipv4_ext_filter", FlowIpv6Layout.class, "ibv_flow_ipv6_filter",
            FlowTcpUdpLayout.class, "ibv_flow_tcp_udp_filter");

    private final Map<String, Long> ours = new LinkedHashMap<>();
    private final List<String> expressions = new ArrayList<>();

    @Test
    void layoutsMatchTheCompiler() throws Exception {
        for (Map.Entry<Class<?>, String> entry : STRUCTS.entrySet()) {
            for (Field field : layoutConstants(entry.getKey())) {
                add(entry.getKey().getSimpleName() + "." + field.getName(), number(field),
                        expression(entry.getKey(), entry.getValue(), field.getName()));
            }
        }
        // Properties that comments mention and the code relies on.
        add("ibv_flow_spec_ipv4.val", FlowIpv4Layout.VAL_OFFSET, "offsetof(struct ibv_flow_spec_ipv4, val)");
        add("ibv_qp_init_attr.qp_type", QpInitAttrExLayout.QP_TYPE_OFFSET,
                "offsetof(struct ibv_qp_init_attr, qp_type)");
        add("ibv_qp_init_attr.sq_sig_all", QpInitAttrExLayout.SQ_SIG_ALL_OFFSET,
                "offsetof(struct ibv_qp_init_attr, sq_sig_all)");
        add("ibv_qp_init_attr.cap", QpInitAttrExLayout.CAP_MAX_SEND_WR_OFFSET,
                "offsetof(struct ibv_qp_init_attr, cap)");
        add("sizeof ibv_counters_init_attr", 4, "sizeof(struct ibv_counters_init_attr)");
        add("sizeof ibv_poll_cq_attr", 4, "sizeof(struct ibv_poll_cq_attr)");
        add("sizeof ibv_gid", 16, "sizeof(union ibv_gid)");
        add("IBV_SYSFS_NAME_MAX", 64, "IBV_SYSFS_NAME_MAX");
        for (Class<?> spec : List.of(FlowIpv4Layout.class, FlowIpv6Layout.class, FlowTcpUdpLayout.class,
                FlowTunnelLayout.class, FlowTagLayout.class, FlowDropLayout.class)) {
            add(spec.getSimpleName() + " type", FlowEthLayout.TYPE_OFFSET, "offsetof(struct " + STRUCTS.get(spec)
                    + ", type)");
            add(spec.getSimpleName() + " size", FlowEthLayout.SIZE_OFFSET, "offsetof(struct " + STRUCTS.get(spec)
                    + ", size)");
        }
        addMembers("ibv_device_attr", OtherAttributes.OF_DEVICE);
        addMembers("ibv_port_attr", OtherAttributes.OF_PORT);
        assertTrue(ours.size() > 200, "only " + ours.size() + " constants were found");
        compare();
    }

    @Test
    void enumerationsMatchTheHeader() throws Exception {
        addEnum("IBV_QPS_", QueuePairState.values());
        addEnum("IBV_WQS_", WorkQueueState.values());
        addEnum("IBV_FLOW_ATTR_", FlowType.values());
        for (AsyncEventType type : AsyncEventType.values()) {
            if (type != AsyncEventType.UNKNOWN) {
                add(type.name(), type.ordinal(), "IBV_EVENT_" + type.name());
            }
        }
        for (int i = 0; i < WcStatus.NAMES.length; i++) {
            add("NAMES " + WcStatus.NAMES[i], i, "IBV_WC_" + WcStatus.NAMES[i]);
        }
        addAll(WcStatus.class, "IBV_WC_", ".*");
        addAll(Class.forName("io.rdmaraw.verbs.flow.FlowSpecType"), "IBV_FLOW_SPEC_", ".*");
        addAll(SendWr.class, "IBV_WR_", "OPCODE_(?!OFFSET).*");
        addAll(SendWr.class, "IBV_SEND_", "FLAG_.*");
        addAll(Wc.class, "IBV_WC_", "(OPCODE|FLAG)_(?!OFFSET).*");
        addAll(VerbsContext.class, "IBV_", "ACCESS_.*");
        addAll(PortAttributes.class, "IBV_PORT_", "STATE_.*");
        addAll(PortAttributes.class, "IBV_", "LINK_LAYER_.*");
        addAll(DeviceAttributes.class, "IBV_DEVICE_", "RAW_IP_CSUM|MANAGED_FLOW_STEERING");
        addAll(ExtendedDeviceAttributes.class, "IBV_RAW_PACKET_CAP_", "RAW_PACKET_.*");
        add("TYPE_RAW_PACKET_BIT", ExtendedDeviceAttributes.TYPE_RAW_PACKET_BIT, "1 << IBV_QPT_RAW_PACKET");
        addAll(QueuePair.class, "IBV_QP_", "ATTR_.*");
        addAll(QueuePairAttributes.class, "IBV_QP_INIT_ATTR_", "MASK_.*");
        add("TYPE_RAW_PACKET", constant(QueuePairAttributes.class, "TYPE_RAW_PACKET"), "IBV_QPT_RAW_PACKET");
        add("BLOCK_SELF", QueuePairOptions.BLOCK_SELF_MULTICAST_LOOPBACK, "IBV_QP_CREATE_BLOCK_SELF_MCAST_LB");
        addAll(QueuePairOptions.class, "IBV_QP_CREATE_", "SCATTER_FCS|CVLAN_STRIPPING");
        addAll(ExtendedCompletionQueueOptions.class, "IBV_WC_EX_", "WITH_(?!COMPLETION_WALLCLOCK).*");
        add("WALLCLOCK", ExtendedCompletionQueueOptions.WITH_COMPLETION_WALLCLOCK,
                "IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK");
        addAll(ExtendedCompletionQueueOptions.class, "IBV_CREATE_CQ_ATTR_", "SINGLE_THREADED|IGNORE_OVERRUN");
        addAll(ExtendedCompletionQueueOptions.class, "IBV_CQ_INIT_ATTR_MASK_", "MASK_FLAGS");
        addRss();
        add("WQ FLAGS", constant(WorkQueue.class, "MASK_FLAGS"), "IBV_WQ_INIT_ATTR_FLAGS");
        add("WQ STATE", constant(WorkQueue.class, "ATTR_STATE"), "IBV_WQ_ATTR_STATE");
        add("WQT", constant(WorkQueue.class, "TYPE_RQ"), "IBV_WQT_RQ");
        add("DONT_TRAP", FlowSpec.FLAG_DONT_TRAP, "IBV_FLOW_ATTR_FLAGS_DONT_TRAP");
        add("OPTIONAL", constant(ProtectionDomain.class, "OPTIONAL_ACCESS_FLAGS"), "IBV_ACCESS_OPTIONAL_RANGE");
        add("EXTENDED", constant(VerbsContext.class, "ABI_IS_EXTENDED"), "(long long) __VERBS_ABI_IS_EXTENDED");
        compare();
    }

    @Test
    void everyLayoutClassIsCompared() throws Exception {
        Path classes = Path.of(Sge.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        Set<String> unknown = new TreeSet<>();
        int found = 0;
        try (Stream<Path> files = Files.walk(classes.resolve("io/rdmaraw/verbs"))) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                String name = classes.relativize(file).toString().replace(".class", "").replace('/', '.');
                // Mlx5LayoutTest covers mlx5. The structures in verbs.port are those of netlink, from Linux
                // headers.
                if (!name.endsWith("-info") && !name.contains(".mlx5.") && !name.contains(".port.")) {
                    Class<?> type = Class.forName(name, false, Sge.class.getClassLoader());
                    if (!layoutConstants(type).isEmpty()) {
                        found++;
                        if (!STRUCTS.containsKey(type)) {
                            unknown.add(name);
                        }
                    }
                }
            }
        }
        assertEquals(Set.of(), unknown);
        assertEquals(STRUCTS.size(), found);
    }

    private void addMembers(String struct, List<OtherAttributes.Member> members) {
        for (OtherAttributes.Member member : members) {
            add(struct + "." + member.name(), member.offsetBytes(), "offsetof(struct " + struct + ", " + member.name()
                    + ")");
            add("sizeof " + struct + "." + member.name(), member.lengthBytes(), "sizeof(((struct " + struct + " *) 0)->"
                    + member.name() + ")");
        }
    }

    private void addRss() {
        Map<String, Long> fields = Map.of("SRC_IPV4", RssOptions.SOURCE_IPV4, "DST_IPV4", RssOptions.DESTINATION_IPV4,
                "SRC_IPV6", RssOptions.SOURCE_IPV6, "DST_IPV6", RssOptions.DESTINATION_IPV6, "SRC_PORT_TCP",
                RssOptions.SOURCE_PORT_TCP, "DST_PORT_TCP", RssOptions.DESTINATION_PORT_TCP, "SRC_PORT_UDP",
                RssOptions.SOURCE_PORT_UDP, "DST_PORT_UDP", RssOptions.DESTINATION_PORT_UDP, "INNER", RssOptions.INNER);
        fields.forEach((name, value) -> add(name, value, "IBV_RX_HASH_" + name));
        add("TOEPLITZ", RssOptions.FUNCTION_TOEPLITZ, "IBV_RX_HASH_FUNC_TOEPLITZ");
    }

    private <E extends Enum<E>> void addEnum(String prefix, E[] values) {
        for (E value : values) {
            add(value.name(), value.ordinal(), prefix + value.name());
        }
    }

    /**
     * Adds the constants with names that match the pattern. A leading OPCODE_, FLAG_, MASK_, ATTR_, STATE_ or
     * RAW_PACKET_ is not part of the C name.
     */
    private void addAll(Class<?> type, String prefix, String pattern) throws IllegalAccessException {
        int before = ours.size();
        for (Field field : type.getDeclaredFields()) {
            if (field.getName().matches(pattern) && field.getType().isPrimitive()
                    && Modifier.isStatic(field.getModifiers())) {
                String name = field.getName();
                String c = name.startsWith("RAW_IP") ? name
                        : name.replaceFirst("^(OPCODE|FLAG|MASK|ATTR|STATE|RAW_PACKET)_", "");
                add(type.getSimpleName() + "." + name, number(field), prefix + c);
            }
        }
        assertTrue(ours.size() > before, () -> "no constants " + pattern + " in " + type);
    }

    private static List<Field> layoutConstants(Class<?> type) {
        return Stream.of(type.getDeclaredFields())
                .filter(f -> f.getType() == int.class)
                .filter(f -> f.getName().endsWith("_OFFSET") || f.getName().equals("SIZE_BYTES")
                        || f.getName().equals("PLAIN_SIZE_BYTES"))
                .toList();
    }

    private static String expression(Class<?> type, String struct, String constant) {
        String special = SPECIAL.get(type.getSimpleName() + "." + constant);
        if (special != null) {
            return special;
        }
        if (constant.equals("SIZE_BYTES")) {
            return "sizeof(struct " + struct + ")";
        }
        String member = constant.substring(0, constant.length() - "_OFFSET".length());
        if (member.startsWith("FILTER_")) {
            return "offsetof(struct " + FILTERS.get(type) + ", " + member.substring(7).toLowerCase(Locale.ROOT) + ")";
        }
        for (Map.Entry<String, String> nested : NESTED.entrySet()) {
            if (member.startsWith(nested.getKey())) {
                return "offsetof(struct " + struct + ", " + nested.getValue()
                        + member.substring(nested.getKey().length()).toLowerCase(Locale.ROOT) + ")";
            }
        }
        return "offsetof(struct " + struct + ", " + member.toLowerCase(Locale.ROOT) + ")";
    }

    private static long number(Field field) throws IllegalAccessException {
        field.setAccessible(true);
        return ((Number) field.get(null)).longValue();
    }

    private static long constant(Class<?> type, String name) throws ReflectiveOperationException {
        return number(type.getDeclaredField(name));
    }

    private void add(String name, long value, String expression) {
        ours.put(name + " = " + expression, value);
        expressions.add(expression);
    }

    private void compare() throws Exception {
        assertEquals(expressions.size(), ours.size(), "two constants have the same name");
        StringBuilder source = new StringBuilder("#include <infiniband/verbs.h>\n#include \"" + SOFTVERBS_HEADER
                + "\"\n#include <stddef.h>\n#include"
                + " <stdio.h>\n"
                + "int main(void) {\n");
        for (String expression : expressions) {
            source.append("printf(\"%lld\\n\", (long long) (").append(expression).append("));\n");
        }
        List<String> theirs = CProgram.run(source.append("return 0;\n}\n").toString());
        assertEquals(ours.size(), theirs.size());
        List<Executable> checks = new ArrayList<>();
        int i = 0;
        for (Map.Entry<String, Long> entry : ours.entrySet()) {
            String line = theirs.get(i++);
            checks.add(() -> assertEquals(line, entry.getValue().toString(), entry.getKey()));
        }
        assertAll(checks);
    }
}
