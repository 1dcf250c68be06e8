package io.rdmaraw.tools.perf;

import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import java.util.HexFormat;
import picocli.CommandLine.Option;

/** The options that describe the frames, named as in perftest's raw_ethernet programs. */
final class FrameOptions {
    private static final String LOCAL_MAC = "02:00:00:00:00:01";
    private static final String REMOTE_MAC = "02:00:00:00:00:02";
    private static final int ETHER_TYPE_EXPERIMENTAL = 0x88b5;
    private static final int NO_PORT = -1;
    private static final int DEFAULT_PORT = 49_152;

    @Option(names = {"-B", "--source_mac", "--source-mac"}, paramLabel = "MAC",
            description = "this side's MAC address; the device's own by default where one side runs here")
    private String sourceMac;

    @Option(names = {"-E", "--dest_mac", "--dest-mac"}, paramLabel = "MAC", description = "the other side's")
    private String destinationMac;

    @Option(names = {"-j", "--source_ip", "--source-ip"}, paramLabel = "IP", description = "this side's IP address")
    private String sourceIp;

    @Option(names = {"-J", "--dest_ip", "--dest-ip"}, paramLabel = "IP", description = "the other side's")
    private String destinationIp;

    @Option(names = {"-k", "--source_port", "--source-port"}, paramLabel = "PORT", defaultValue = "-1",
            showDefaultValue = picocli.CommandLine.Help.Visibility.NEVER, description = "this side's port")
    private int sourcePort;

    @Option(names = {"-K", "--dest_port", "--dest-port"}, paramLabel = "PORT", defaultValue = "-1",
            showDefaultValue = picocli.CommandLine.Help.Visibility.NEVER, description = "the other side's port")
    private int destinationPort;

    @Option(names = "--udp", description = "UDP headers; as soon as a port is given, too")
    private boolean udp;

    @Option(names = "--tcp", description = "TCP headers in place of UDP headers")
    private boolean tcp;

    @Option(names = {"--raw_ipv6", "--ipv6"}, description = "IPv6; otherwise the addresses decide")
    private boolean ipv6;

    @Option(names = {"-Y", "--ethertype"}, paramLabel = "0xTYPE", description = "of frames without IP")
    private Integer etherType;

    @Option(names = {"--vlan_en", "--vlan-en"}, description = "a VLAN tag, by default with id 1")
    private boolean vlanEnabled;

    @Option(names = {"--vlan", "--vlan-id"}, paramLabel = "ID", defaultValue = "0", description = "a VLAN tag; 0: none")
    private int vlanId;

    @Option(names = {"--vlan_pcp", "--vlan-pcp"}, paramLabel = "P", defaultValue = "0",
            description = "its priority, 0 to 7; 8: each in turn")
    private int vlanPriority;

    @Option(names = {"-R", "--tos", "--tclass"}, paramLabel = "N", defaultValue = "0", description = "0 to 255")
    private int trafficClass;

    @Option(names = {"--hop_limit", "--hop-limit"}, paramLabel = "N", defaultValue = "64", description = "0 to 255")
    private int hopLimit;

    @Option(names = {"--flow_label", "--flow-label"}, paramLabel = "N", defaultValue = "0", description = "of IPv6")
    private int flowLabel;

    @Option(names = "--flows", paramLabel = "N", defaultValue = "1",
            description = "flows; their ports count up from the given ones")
    private int flows;

    @Option(names = {"--flows_burst", "--flows-burst"}, paramLabel = "N", defaultValue = "1",
            description = "frames of a flow that follow one another")
    private int flowsBurst;

    /**
     * Returns the frames sent by this process: those of the client, or those of the server if only the server runs
     * here.
     */
    PerfFrames frames(SideOptions sides, int queuePairs) {
        check(vlanId >= 0 && vlanId < 4095, "--vlan must be 0 to 4094");
        check(vlanPriority >= 0 && vlanPriority <= PerfFrames.EVERY_PRIORITY, "--vlan-pcp must be 0 to 8");
        boolean ports = udp || tcp || sourcePort != NO_PORT || destinationPort != NO_PORT || flows > 1;
        check(flows >= 1 && flows <= 16_384 && flowsBurst >= 1 && flowsBurst <= 1024,
                "--flows must be 1 to 16384 and --flows-burst 1 to 1024");
        int ipVersion = ipVersion(ports);
        check(ipVersion == 0 || etherType == null, "--ethertype goes with frames without IP");
        // With fewer flows than queue pairs, some queue pairs of the other side would have no flow rule.
        int enoughFlows = ports ? Math.max(flows, queuePairs) : 1;
        return new PerfFrames(local(sides, ipVersion, ports), remote(sides, ipVersion, ports),
                etherType == null ? ETHER_TYPE_EXPERIMENTAL : etherType, ipVersion, tcp,
                vlanEnabled && vlanId == 0 ? 1 : vlanId, vlanPriority, trafficClass, hopLimit, flowLabel, enoughFlows,
                flowsBurst);
    }

    private int ipVersion(boolean ports) {
        String address = sourceIp != null ? sourceIp : destinationIp;
        if (address == null) {
            return ipv6 ? 6 : ports ? 4 : 0;
        }
        return address.indexOf(':') >= 0 ? 6 : 4;
    }

    private PerfAddress local(SideOptions sides, int ipVersion, boolean ports) {
        String mac = sourceMac != null ? sourceMac : sides.both() ? LOCAL_MAC : ownMac(sides.client());
        return new PerfAddress(mac, ip(sourceIp, ipVersion, sides, 1, "-j"), port(sourcePort, ports));
    }

    private PerfAddress remote(SideOptions sides, int ipVersion, boolean ports) {
        check(destinationMac != null || sides.both(), "-E, the other side's MAC address, is missing");
        return new PerfAddress(destinationMac == null ? REMOTE_MAC : destinationMac,
                ip(destinationIp, ipVersion, sides, 2, "-J"), port(destinationPort, ports));
    }

    /** Returns the address to use. The defaults are reserved for measurements by RFC 2544 and RFC 5180. */
    private static String ip(String given, int ipVersion, SideOptions sides, int host, String option) {
        if (given != null || ipVersion == 0) {
            return given;
        }
        check(sides.both(), option + " is missing: frames with ports have IP addresses");
        return ipVersion == 6 ? "2001:2::" + host : "198.18.0." + host;
    }

    private static int port(int given, boolean ports) {
        return given == NO_PORT && ports ? DEFAULT_PORT : given;
    }

    private static String ownMac(PerfSide side) {
        try (VerbsContext context = VerbsDevices.open(side.device())) {
            return HexFormat.ofDelimiter(":").formatHex(context.macAddress(side.portOf(context)));
        }
    }

    private static void check(boolean right, String fault) {
        if (!right) {
            throw new IllegalArgumentException(fault);
        }
    }
}
