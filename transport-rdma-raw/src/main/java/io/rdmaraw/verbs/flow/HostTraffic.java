package io.rdmaraw.verbs.flow;

import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.IpProtocol;

/**
 * Recognises rules that would disconnect the host from its network.
 *
 * <p>The device evaluates rules before the kernel receives a frame, so the kernel never sees the frames that a
 * rule takes. A rule is harmless if it names a TCP or UDP port. It is also harmless if it names an IP protocol
 * or EtherType that basic operation of the host does not use. An address alone is not enough: such a rule also
 * takes unicast ARP replies, ICMP and every TCP connection of that address.
 */
final class HostTraffic {
    private static final int ETHER_TYPE_EAPOL = 0x888e;
    private static final int EXACT_ETHER_TYPE = 0xffff;
    private static final int EXACT_BYTE = 0xff;
    private static final int ROCE_UDP_PORT = 4791;

    private HostTraffic() {
    }

    /** Returns a description of the traffic that the rule takes and the host needs, or an empty string. */
    static String reason(FlowSpec spec) {
        if (spec.type() != FlowType.NORMAL || spec.isDontTrap()) {
            // Default rules receive frames that the kernel does not want. Sniffer and don't-trap rules receive
            // copies.
            return "";
        }
        FlowLayers layers = spec.outer();
        if (layers.isEmpty() && spec.vni() == FlowSpec.NO_VNI) {
            return "it matches every frame";
        }
        if (layers.ports() != null) {
            return portsReason(layers.ports(), spec.vni());
        }
        if (spec.vni() != FlowSpec.NO_VNI) {
            return "";
        }
        if (layers.ipv4() != null || layers.ipv6() != null) {
            return ipReason(layers);
        }
        return etherTypeReason(layers.ethernet());
    }

    private static String portsReason(PortMatch ports, int vni) {
        if ((ports.destinationMask() | ports.sourceMask()) == 0) {
            return vni != FlowSpec.NO_VNI ? "" : "it matches every " + (ports.tcp() ? "TCP" : "UDP") + " port";
        }
        if (!ports.tcp() && (ROCE_UDP_PORT & ports.destinationMask()) == ports.destination() && vni == FlowSpec.NO_VNI
                && (ports.destinationMask() != 0)) {
            return "it takes UDP port 4791, which is RoCE";
        }
        return "";
    }

    private static String ipReason(FlowLayers layers) {
        boolean v4 = layers.ipv4() != null;
        int protocol = v4 ? layers.ipv4().protocol() : layers.ipv6().nextHeader();
        int mask = v4 ? layers.ipv4().protocolMask() : layers.ipv6().nextHeaderMask();
        if (mask == EXACT_BYTE) {
            return switch (protocol) {
                case IpProtocol.ICMP -> "it takes ICMP";
                case IpProtocol.ICMPV6 -> "it takes ICMPv6, with it neighbour discovery";
                case IpProtocol.TCP -> "it matches every TCP port";
                case IpProtocol.UDP -> "it matches every UDP port";
                default -> "";
            };
        }
        return "it matches IP addresses without a TCP or UDP port";
    }

    private static String etherTypeReason(EthernetMatch ethernet) {
        if (ethernet.etherTypeMask() != EXACT_ETHER_TYPE) {
            return "it matches Ethernet addresses or VLANs without a TCP or UDP port, ARP and ICMP included";
        }
        return switch (ethernet.etherType()) {
            case EtherType.IPV4, EtherType.IPV6 -> "it matches all of IP without a TCP or UDP port";
            case EtherType.ARP -> "it takes ARP (EtherType 0x0806)";
            case EtherType.SLOW_PROTOCOLS -> "it takes LACP (EtherType 0x8809)";
            case ETHER_TYPE_EAPOL -> "it takes IEEE 802.1X (EtherType 0x888e)";
            default -> "";
        };
    }
}
