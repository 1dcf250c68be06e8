package io.rdmaraw.agent;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * What the user asks of the agent: {@code device=soft:xdp:eth0,listen=8080+9000-9010,connect=10.0.0.0/8}.
 *
 * @param device the device, named as the transport names devices
 * @param listen which TCP ports listen by the device
 * @param connect which peers TCP connections are opened to by the device
 * @param udp whether datagram channels are the device's
 * @param relocated packages that Netty is in beside its own, such as {@code com.shaded.io.netty}
 */
record AgentOptions(String device, PortRanges listen, Networks connect, boolean udp, List<String> relocated) {
    private static final String USAGE = "; the options are device=NAME[,listen=PORTS][,connect=NETWORKS][,udp=all|none]"
            + "[,relocated=PACKAGES], several of a kind joined by +, such as"
            + " device=soft:xdp:eth0,listen=8080+9000-9010,connect=10.0.0.0/8+[2001:db8::]/32";

    /**
     * Reads the options. If none says what is the device's, all is; else what none names is the kernel's.
     *
     * @throws IllegalArgumentException with a sentence for the user
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
        if (!values.isEmpty()) {
            throw new IllegalArgumentException("it has no option '" + values.keySet().iterator().next() + "'" + USAGE);
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

    /** Returns the packages that Netty may be in. */
    List<String> nettyPackages() {
        List<String> packages = new ArrayList<>(relocated);
        // Not a constant of the whole name: tools that relocate Netty rewrite those.
        packages.add(String.join(".", "io", "netty"));
        return packages;
    }

    /** Says what goes by the device, in words for the log. */
    String described() {
        return "device " + device + ": TCP servers " + listen + ", TCP connections to " + connect + ", UDP "
                + (udp ? "all" : "none") + "; the kernel carries the rest";
    }

    /** Returns the question that the transport asks of servers. */
    Predicate<InetSocketAddress> listensByDevice() {
        return local -> listen.contains(local.getPort());
    }

    /** Returns the question that the transport asks of connections. */
    Predicate<InetSocketAddress> connectsByDevice() {
        return remote -> connect.contains(remote.getAddress());
    }
}
