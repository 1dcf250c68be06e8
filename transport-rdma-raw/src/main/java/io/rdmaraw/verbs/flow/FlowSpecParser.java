package io.rdmaraw.verbs.flow;

import io.rdmaraw.wire.MacAddress;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Parses the text form of a rule; see {@link FlowSpec#parse}. */
final class FlowSpecParser {
    /** The word for a rule that matches every frame. */
    static final String ALL = "all";

    private static final int EXACT_BYTE = 0xff;
    private static final int EXACT_SHORT = 0xffff;
    private static final List<String> HEADER_WORDS = List.of("dst-mac", "src-mac", "ether-type", "vlan", "vlan-tag",
            "ip4", "ip6", "src", "dst", "proto", "tos", "ttl", "ip-flags", "flow-label", "udp", "tcp",
            "src-port", "dst-port");
    private static final String WORDS = "all, all-default, mc-default, sniffer, port, priority, dont-trap,"
            + " allow-host-traffic, accept-gso, " + String.join(", ", HEADER_WORDS) + ", vxlan, inner, tag, drop";

    private final String text;
    private final Iterator<String> tokens;
    private final FlowSpecBuilder builder = new FlowSpecBuilder();
    private final Set<String> seen = new HashSet<>();
    private boolean all;

    FlowSpecParser(String text) {
        this.text = text;
        List<String> words = text.isBlank() ? List.of()
                : Arrays.asList(text.strip().toLowerCase(Locale.ROOT).split("\\s+"));
        tokens = words.iterator();
    }

    FlowSpec parse() {
        try {
            if (!tokens.hasNext()) {
                throw new IllegalArgumentException("a rule cannot be empty; the word \"all\" matches every frame");
            }
            while (tokens.hasNext()) {
                word(tokens.next());
            }
            FlowSpec spec = builder.build();
            if (all && !(spec.outer().isEmpty() && spec.vni() == FlowSpec.NO_VNI && spec.type() == FlowType.NORMAL)) {
                throw new IllegalArgumentException("\"all\" contradicts the other conditions");
            }
            return spec;
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("\"" + text + "\" is not a flow rule: " + e.getMessage(), e);
        }
    }

    private void word(String word) {
        if (!seen.add(word)) {
            throw new IllegalArgumentException("\"" + word + "\" is there twice");
        }
        if (!attribute(word) && !ethernet(word) && !ip(word) && !transport(word)) {
            throw new IllegalArgumentException(word.equals("count") ? "counters cannot be named in text"
                    : "\"" + word + "\" is not one of " + WORDS);
        }
    }

    private boolean attribute(String word) {
        switch (word) {
            case ALL -> all = true;
            case "all-default" -> type(FlowType.ALL_DEFAULT);
            case "mc-default" -> type(FlowType.MC_DEFAULT);
            case "sniffer" -> type(FlowType.SNIFFER);
            case "port" -> builder.devicePort(number(word));
            case "priority" -> builder.priority(number(word));
            case "tag" -> builder.tag(number(word));
            case "dont-trap" -> builder.dontTrap();
            case "drop" -> builder.drop();
            case "allow-host-traffic" -> builder.allowHostTraffic();
            case "accept-gso" -> builder.acceptGso();
            default -> {
                return false;
            }
        }
        return true;
    }

    private void type(FlowType type) {
        if (builder.type != FlowType.NORMAL) {
            throw new IllegalArgumentException("it has two types, " + builder.type.word() + " and " + type.word());
        }
        builder.type(type);
    }

    private boolean ethernet(String word) {
        switch (word) {
            case "dst-mac" -> {
                String[] parts = value(word).split("/", 2);
                builder.destinationMac(MacAddress.parse(parts[0]), macMask(parts));
            }
            case "src-mac" -> {
                String[] parts = value(word).split("/", 2);
                builder.sourceMac(MacAddress.parse(parts[0]), macMask(parts));
            }
            case "ether-type" -> {
                int[] pair = pair(word, EXACT_SHORT);
                builder.etherType(pair[0], pair[1]);
            }
            case "vlan" -> builder.vlan(number(word));
            case "vlan-tag" -> {
                int[] pair = pair(word, EXACT_SHORT);
                builder.vlanTag(pair[0], pair[1]);
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private boolean ip(String word) {
        switch (word) {
            case "ip4" -> builder.ipv4();
            case "ip6" -> builder.ipv6();
            case "src" -> source(value(word));
            case "dst" -> destination(value(word));
            case "proto" -> {
                int[] pair = pair(word, EXACT_BYTE);
                builder.protocol(pair[0], pair[1]);
            }
            case "tos" -> {
                int[] pair = pair(word, EXACT_BYTE);
                builder.trafficClass(pair[0], pair[1]);
            }
            case "ttl" -> {
                int[] pair = pair(word, EXACT_BYTE);
                builder.hopLimit(pair[0], pair[1]);
            }
            case "ip-flags" -> {
                int[] pair = pair(word, FlowSpecBuilder.MAX_IPV4_FLAGS);
                builder.ipv4Flags(pair[0], pair[1]);
            }
            case "flow-label" -> {
                int[] pair = pair(word, Ipv6Match.FLOW_LABEL_MASK);
                builder.flowLabel(pair[0], pair[1]);
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private void source(String address) {
        if (address.contains(":")) {
            builder.ipv6Source(address);
        } else {
            builder.ipv4Source(address);
        }
    }

    private void destination(String address) {
        if (address.contains(":")) {
            builder.ipv6Destination(address);
        } else {
            builder.ipv4Destination(address);
        }
    }

    private boolean transport(String word) {
        switch (word) {
            case "udp" -> builder.udp();
            case "tcp" -> builder.tcp();
            case "src-port" -> {
                int[] pair = pair(word, EXACT_SHORT);
                builder.sourcePort(pair[0], pair[1]);
            }
            case "dst-port" -> {
                int[] pair = pair(word, EXACT_SHORT);
                builder.destinationPort(pair[0], pair[1]);
            }
            case "vxlan" -> builder.vxlan(number(word));
            case "inner" -> {
                builder.inner();
                // Header words may occur once more, for the inner headers.
                seen.removeAll(HEADER_WORDS);
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private String value(String word) {
        if (!tokens.hasNext()) {
            throw new IllegalArgumentException("\"" + word + "\" needs a value after it");
        }
        return tokens.next();
    }

    private int number(String word) {
        return FlowNumbers.parse(value(word), "the value of \"" + word + "\"");
    }

    /** Parses {@code N} or {@code N/MASK}. */
    private int[] pair(String word, int exactMask) {
        String[] parts = value(word).split("/", 2);
        int value = FlowNumbers.parse(parts[0], "the value of \"" + word + "\"");
        int mask = parts.length == 1 ? exactMask : FlowNumbers.parse(parts[1], "the mask of \"" + word + "\"");
        return new int[] {value, mask};
    }

    private static long macMask(String[] parts) {
        return parts.length == 1 ? EthernetMatch.MAC_MASK : MacAddress.parse(parts[1]);
    }
}
