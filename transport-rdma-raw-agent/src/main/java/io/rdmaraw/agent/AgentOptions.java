package io.rdmaraw.agent;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The options of the agent, such as {@code device=soft:xdp:eth0,listen=8080+9000-9010,connect=10.0.0.0/8}.
 *
 * @param device    name of the device
 * @param listen    TCP ports that the device serves
 * @param connect   peers to which TCP connections are opened by the device
 * @param udp       whether the device serves datagram channels
 * @param relocated packages to which Netty was relocated, such as {@code com.shaded.io.netty}
 */
record AgentOptions(String device, PortRanges listen, Networks connect, boolean udp, List<String> relocated) {
    private static final Set<String> NAMES = Set.of("device", "listen", "connect", "udp", "relocated");
    private static final String USAGE = "; the options are device=NAME[,listen=PORTS][,connect=NETWORKS][,udp=all|none]"
            + "[,relocated=PACKAGES], several of a kind joined by +, such as"
            + " device=soft:xdp:eth0,listen=8080+9000-9010,connect=10.0.0.0/8+[2001:db8::]/32";

    /**
     * Parses the options. If none of {@code listen}, {@code connect} and {@code udp} is given, the device serves all
     * traffic. Otherwise the kernel serves the traffic that the options do not mention.
     *
     * @throws IllegalArgumentException if the options are wrong; the message is a sentence for the user
     */
    static AgentOptions parse(String textOrNull) {
        Map<String, String> values = new LinkedHashMap<>();
        for (String option : (textOrNull == null ? "" : textOrNull).split(",")) {
            int equals = option.indexOf('=');
            if (equals < 1 || equals == option.length() - 1) {
                throw new IllegalArgumentException("its option '" + option + "' is not NAME=VALUE" + USAGE);
            }
            if (values.put(option.substring(0, equals), option.substring(equals + 1)) != null) {
                throw new IllegalArgumentException("its option " + option.substring(0, equals) + " is there twice");
            }
        }
        for (String name : values.keySet()) {
            if (!NAMES.contains(name)) {
                throw new IllegalArgumentException("it has no option '" + name + "'" + USAGE);
            }
        }
        String device = values.remove("device");
        if (device == null) {
            throw new IllegalArgumentException("its option device is missing" + USAGE);
        }
        List<String> relocated = list(values.remove("relocated"));
        String rest = values.isEmpty() ? "all" : "none";
        PortRanges listen = PortRanges.parse(valueOf(values, "listen", rest));
        Networks connect = Networks.parse(valueOf(values, "connect", rest));
        String udp = valueOf(values, "udp", rest);
        if (!udp.equals("all") && !udp.equals("none")) {
            throw new IllegalArgumentException("its option udp is '" + udp + "'; it is all or none");
        }
        return new AgentOptions(device, listen, connect, udp.equals("all"), relocated);
    }

    private static String valueOf(Map<String, String> values, String name, String otherwise) {
        String value = values.remove(name);
        return value == null ? otherwise : value;
    }

    private static List<String> list(String valueOrNull) {
        return valueOrNull == null ? List.of() : Arrays.asList(valueOrNull.split("\\+"));
    }

    /** Returns the packages that may contain Netty. */
    List<String> nettyPackages() {
        List<String> packages = new ArrayList<>(relocated);
        // Not a single constant, because tools that relocate Netty would rewrite it.
        packages.add(String.join(".", "io", "netty"));
        return packages;
    }

    /** Describes the traffic that the device serves, for the log. */
    String description() {
        return "device " + device + ": TCP servers " + listen + ", TCP connections to " + connect + ", UDP "
                + (udp ? "all" : "none") + "; the kernel carries the rest";
    }

    /** Returns the predicate by which the transport selects servers for the device. */
    Predicate<InetSocketAddress> listensByDevice() {
        return local -> listen.contains(local.getPort());
    }

    /** Returns the predicate by which the transport selects outgoing connections for the device. */
    Predicate<InetSocketAddress> connectsByDevice() {
        return remote -> connect.contains(remote.getAddress());
    }
}
