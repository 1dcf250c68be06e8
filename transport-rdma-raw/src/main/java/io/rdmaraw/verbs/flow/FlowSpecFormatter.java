package io.rdmaraw.verbs.flow;

import io.rdmaraw.wire.MacAddress;

import java.util.StringJoiner;

/** Formats a rule as text, in the order of the headers. {@link FlowSpecParser} parses this form. */
final class FlowSpecFormatter {
    private static final int EXACT_BYTE = 0xff;
    private static final int EXACT_SHORT = 0xffff;

    private final StringJoiner words = new StringJoiner(" ");

    private FlowSpecFormatter() {
    }

    static String format(FlowSpec spec) {
        return new FlowSpecFormatter().write(spec);
    }

    private String write(FlowSpec spec) {
        if (spec.type() != FlowType.NORMAL) {
            words.add(spec.type().word());
        } else if (spec.outer().isEmpty() && spec.vni() == FlowSpec.NO_VNI) {
            words.add(FlowSpecParser.ALL);
        }
        layers(spec.outer());
        if (spec.vni() != FlowSpec.NO_VNI) {
            words.add("vxlan " + spec.vni());
        }
        if (!spec.inner().isEmpty()) {
            words.add("inner");
            layers(spec.inner());
        }
        attributes(spec);
        return words.toString();
    }

    private void attributes(FlowSpec spec) {
        if (spec.devicePort() != 0) {
            words.add("port " + spec.devicePort());
        }
        if (spec.priority() != 0) {
            words.add("priority " + spec.priority());
        }
        if (spec.tag() != FlowSpec.NO_TAG) {
            words.add("tag " + spec.tag());
        }
        flag("dont-trap", spec.isDontTrap());
        flag("drop", spec.isDrop());
        flag("allow-host-traffic", spec.isHostTrafficAllowed());
        flag("accept-gso", spec.acceptsGso());
    }

    private void layers(FlowLayers layers) {
        if (layers.ethernet() != null) {
            ethernet(layers.ethernet());
        }
        if (layers.ipv4() != null) {
            ipv4(layers.ipv4());
        }
        if (layers.ipv6() != null) {
            ipv6(layers.ipv6());
        }
        if (layers.ports() != null) {
            words.add(layers.ports().tcp() ? "tcp" : "udp");
            number("src-port", layers.ports().source(), layers.ports().sourceMask(), EXACT_SHORT);
            number("dst-port", layers.ports().destination(), layers.ports().destinationMask(), EXACT_SHORT);
        }
    }

    private void ethernet(EthernetMatch match) {
        mac("dst-mac", match.destination(), match.destinationMask());
        mac("src-mac", match.source(), match.sourceMask());
        if (match.vlanTagMask() == EthernetMatch.VLAN_ID_MASK) {
            words.add("vlan " + match.vlanTag());
        } else {
            number("vlan-tag", match.vlanTag(), match.vlanTagMask(), EXACT_SHORT);
        }
        if (match.etherTypeMask() == EXACT_SHORT) {
            words.add(String.format("ether-type 0x%04x", match.etherType()));
        } else {
            number("ether-type", match.etherType(), match.etherTypeMask(), EXACT_SHORT);
        }
    }

    private void ipv4(Ipv4Match match) {
        flag("ip4", (match.sourceMask() | match.destinationMask()) == 0);
        ipv4Address("src", match.source(), match.sourceMask());
        ipv4Address("dst", match.destination(), match.destinationMask());
        number("proto", match.protocol(), match.protocolMask(), EXACT_BYTE);
        number("tos", match.tos(), match.tosMask(), EXACT_BYTE);
        number("ttl", match.ttl(), match.ttlMask(), EXACT_BYTE);
        number("ip-flags", match.flags(), match.flagsMask(), FlowSpecBuilder.MAX_IPV4_FLAGS);
    }

    private void ipv6(Ipv6Match match) {
        flag("ip6", match.sourceMask().equals(Ipv6Match.Bits.ZERO)
                && match.destinationMask().equals(Ipv6Match.Bits.ZERO));
        ipv6Address("src", match.source(), match.sourceMask());
        ipv6Address("dst", match.destination(), match.destinationMask());
        number("flow-label", match.flowLabel(), match.flowLabelMask(), Ipv6Match.FLOW_LABEL_MASK);
        number("proto", match.nextHeader(), match.nextHeaderMask(), EXACT_BYTE);
        number("tos", match.trafficClass(), match.trafficClassMask(), EXACT_BYTE);
        number("ttl", match.hopLimit(), match.hopLimitMask(), EXACT_BYTE);
    }

    private void mac(String word, long mac, long mask) {
        if (mask == EthernetMatch.MAC_MASK) {
            words.add(word + " " + MacAddress.format(mac));
        } else if (mask != 0) {
            words.add(word + " " + MacAddress.format(mac) + "/" + MacAddress.format(mask));
        }
    }

    private void ipv4Address(String word, int address, int mask) {
        if (mask != 0) {
            int prefix = FlowAddresses.prefixLength(mask);
            String suffix = prefix == Integer.SIZE ? "" : "/" + (prefix >= 0 ? prefix : FlowAddresses.formatIpv4(mask));
            words.add(word + " " + FlowAddresses.formatIpv4(address) + suffix);
        }
    }

    private void ipv6Address(String word, Ipv6Match.Bits address, Ipv6Match.Bits mask) {
        if (!mask.equals(Ipv6Match.Bits.ZERO)) {
            int prefix = FlowAddresses.prefixLength(mask);
            String suffix = prefix == 2 * Long.SIZE ? ""
                    : "/" + (prefix >= 0 ? prefix : FlowAddresses.formatIpv6(mask));
            words.add(word + " " + FlowAddresses.formatIpv6(address) + suffix);
        }
    }

    private void number(String word, int value, int mask, int exact) {
        if (mask == exact) {
            words.add(word + " " + value);
        } else if (mask != 0) {
            words.add(word + " " + FlowNumbers.hex(value) + "/" + FlowNumbers.hex(mask));
        }
    }

    private void flag(String word, boolean set) {
        if (set) {
            words.add(word);
        }
    }
}
