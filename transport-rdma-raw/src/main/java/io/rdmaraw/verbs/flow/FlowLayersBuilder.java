package io.rdmaraw.verbs.flow;

import io.rdmaraw.wire.EtherType;

/** Collects and validates the matches of one stack of headers. */
final class FlowLayersBuilder {
    private static final int PROTOCOL_TCP = 6;
    private static final int PROTOCOL_UDP = 17;

    long destinationMac;
    long destinationMacMask;
    long sourceMac;
    long sourceMacMask;
    int etherType;
    int etherTypeMask;
    int vlanTag;
    int vlanTagMask;
    boolean ipv4;
    int ipv4Source;
    int ipv4SourceMask;
    int ipv4Destination;
    int ipv4DestinationMask;
    int ipv4Flags;
    int ipv4FlagsMask;
    boolean ipv6;
    Ipv6Match.Bits ipv6Source = Ipv6Match.Bits.ZERO;
    Ipv6Match.Bits ipv6SourceMask = Ipv6Match.Bits.ZERO;
    Ipv6Match.Bits ipv6Destination = Ipv6Match.Bits.ZERO;
    Ipv6Match.Bits ipv6DestinationMask = Ipv6Match.Bits.ZERO;
    int flowLabel;
    int flowLabelMask;
    int protocol;
    int protocolMask;
    int trafficClass;
    int trafficClassMask;
    int hopLimit;
    int hopLimitMask;
    boolean tcp;
    boolean udp;
    int destinationPort;
    int destinationPortMask;
    int sourcePort;
    int sourcePortMask;

    FlowLayersBuilder() {
    }

    FlowLayersBuilder(FlowLayers from) {
        if (from.ethernet() != null) {
            destinationMac = from.ethernet().destination();
            destinationMacMask = from.ethernet().destinationMask();
            sourceMac = from.ethernet().source();
            sourceMacMask = from.ethernet().sourceMask();
            etherType = from.ethernet().etherType();
            etherTypeMask = from.ethernet().etherTypeMask();
            vlanTag = from.ethernet().vlanTag();
            vlanTagMask = from.ethernet().vlanTagMask();
        }
        if (from.ipv4() != null) {
            copy(from.ipv4());
        }
        if (from.ipv6() != null) {
            copy(from.ipv6());
        }
        if (from.ports() != null) {
            tcp = from.ports().tcp();
            udp = !tcp;
            destinationPort = from.ports().destination();
            destinationPortMask = from.ports().destinationMask();
            sourcePort = from.ports().source();
            sourcePortMask = from.ports().sourceMask();
        }
    }

    private void copy(Ipv4Match from) {
        ipv4 = true;
        ipv4Source = from.source();
        ipv4SourceMask = from.sourceMask();
        ipv4Destination = from.destination();
        ipv4DestinationMask = from.destinationMask();
        protocol = from.protocol();
        protocolMask = from.protocolMask();
        trafficClass = from.tos();
        trafficClassMask = from.tosMask();
        hopLimit = from.ttl();
        hopLimitMask = from.ttlMask();
        ipv4Flags = from.flags();
        ipv4FlagsMask = from.flagsMask();
    }

    private void copy(Ipv6Match from) {
        ipv6 = true;
        ipv6Source = from.source();
        ipv6SourceMask = from.sourceMask();
        ipv6Destination = from.destination();
        ipv6DestinationMask = from.destinationMask();
        flowLabel = from.flowLabel();
        flowLabelMask = from.flowLabelMask();
        protocol = from.nextHeader();
        protocolMask = from.nextHeaderMask();
        trafficClass = from.trafficClass();
        trafficClassMask = from.trafficClassMask();
        hopLimit = from.hopLimit();
        hopLimitMask = from.hopLimitMask();
    }

    FlowLayers build() {
        check();
        return new FlowLayers(ethernet(), ipv4Match(), ipv6Match(), ports());
    }

    private EthernetMatch ethernet() {
        boolean used = (destinationMacMask | sourceMacMask) != 0 || (etherTypeMask | vlanTagMask) != 0;
        return !used ? null : new EthernetMatch(destinationMac, destinationMacMask, sourceMac, sourceMacMask, etherType,
                etherTypeMask, vlanTag, vlanTagMask);
    }

    private Ipv4Match ipv4Match() {
        return !ipv4 ? null : new Ipv4Match(ipv4Source, ipv4SourceMask, ipv4Destination, ipv4DestinationMask, protocol,
                protocolMask, trafficClass, trafficClassMask, hopLimit, hopLimitMask, ipv4Flags, ipv4FlagsMask);
    }

    private Ipv6Match ipv6Match() {
        return !ipv6 ? null : new Ipv6Match(ipv6Source, ipv6SourceMask, ipv6Destination, ipv6DestinationMask, flowLabel,
                flowLabelMask, protocol, protocolMask, trafficClass, trafficClassMask, hopLimit, hopLimitMask);
    }

    private PortMatch ports() {
        return !tcp && !udp ? null
                : new PortMatch(tcp, destinationPort, destinationPortMask, sourcePort, sourcePortMask);
    }

    private void check() {
        if (ipv4 && ipv6) {
            throw new IllegalArgumentException("a rule cannot match IPv4 and IPv6 at once: make one rule for each");
        }
        if (tcp && udp) {
            throw new IllegalArgumentException("a rule cannot match TCP and UDP at once: make one rule for each");
        }
        if (!tcp && !udp && (destinationPortMask | sourcePortMask) != 0) {
            throw new IllegalArgumentException("a rule that matches ports must say whether of TCP or of UDP");
        }
        if (!ipv4 && !ipv6 && (protocolMask | trafficClassMask | hopLimitMask) != 0) {
            throw new IllegalArgumentException("a rule that matches the protocol, traffic class or hop limit must say"
                    + " whether of IPv4 or of IPv6");
        }
        checkEtherType();
        int transport = tcp ? PROTOCOL_TCP : PROTOCOL_UDP;
        if ((tcp || udp) && (transport & protocolMask) != protocol) {
            throw new IllegalArgumentException("IP protocol " + protocol + " contradicts " + (tcp ? "TCP" : "UDP"));
        }
    }

    private void checkEtherType() {
        if (ipv4 && (EtherType.IPV4 & etherTypeMask) != etherType) {
            throw new IllegalArgumentException("EtherType 0x" + Integer.toHexString(etherType)
                    + " contradicts the match on IPv4, which has 0x0800");
        }
        if (ipv6 && (EtherType.IPV6 & etherTypeMask) != etherType) {
            throw new IllegalArgumentException("EtherType 0x" + Integer.toHexString(etherType)
                    + " contradicts the match on IPv6, which has 0x86dd");
        }
        if ((tcp || udp) && !ipv4 && !ipv6 && (EtherType.IPV4 & etherTypeMask) != etherType
                && (EtherType.IPV6 & etherTypeMask) != etherType) {
            throw new IllegalArgumentException("EtherType 0x" + Integer.toHexString(etherType)
                    + " is not IP, so there are no ports to match");
        }
    }
}
