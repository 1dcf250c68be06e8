package io.rdmaraw.verbs.flow;


import io.rdmaraw.wire.MacAddress;

import java.net.Inet4Address;
import java.net.Inet6Address;
import java.util.Objects;

/**
 * Builds a {@link FlowSpec}. Every condition narrows the rule: a frame must meet all. A value may not have bits outside
 * its mask. After {@link #inner} the conditions are about the headers inside the VXLAN tunnel.
 */
public final class FlowSpecBuilder {
    static final int MAX_VNI = 0xffffff;
    private static final int MAX_TAG = 0xffffff;
    private static final int MAX_BYTE = 0xff;
    private static final int MAX_SHORT = 0xffff;
    static final int MAX_IPV4_FLAGS = 0x6;

    FlowType type = FlowType.NORMAL;
    int priority;
    int port = 1;
    boolean dontTrap;
    int vni = FlowSpec.NO_VNI;
    int tag = FlowSpec.NO_TAG;
    boolean drop;
    boolean hostTrafficAllowed;
    boolean whole;
    private final FlowLayersBuilder outer;
    private final FlowLayersBuilder inner;
    private FlowLayersBuilder current;

    FlowSpecBuilder() {
        outer = new FlowLayersBuilder();
        inner = new FlowLayersBuilder();
        current = outer;
    }

    FlowSpecBuilder(FlowSpec from) {
        type = from.type();
        priority = from.priority();
        port = from.port();
        dontTrap = from.isDontTrap();
        vni = from.vni();
        tag = from.tag();
        drop = from.isDrop();
        hostTrafficAllowed = from.isHostTrafficAllowed();
        whole = from.isWhole();
        outer = new FlowLayersBuilder(from.outer());
        inner = new FlowLayersBuilder(from.inner());
        current = outer;
    }

    /** Sets what kind of rule it is; any but NORMAL takes no conditions. */
    public FlowSpecBuilder type(FlowType value) {
        type = Objects.requireNonNull(value, "a rule needs a type");
        return this;
    }

    /** Sets the priority, 0 (looked at first) to 65535; mlx5 has 0 to 15. */
    public FlowSpecBuilder priority(int value) {
        priority = inRange(value, 0, MAX_SHORT, "the priority");
        return this;
    }

    /** Sets the port of the device, 1 to 255. */
    public FlowSpecBuilder port(int value) {
        port = inRange(value, 1, MAX_BYTE, "the device's port");
        return this;
    }

    /** Makes the queue pair get a copy: the frame also goes where it would have gone without the rule. */
    public FlowSpecBuilder dontTrap() {
        dontTrap = true;
        return this;
    }

    /** Says that this rule may take traffic that the host needs; see {@link FlowSpec#takesHostTraffic()}. */
    public FlowSpecBuilder allowHostTraffic() {
        hostTrafficAllowed = true;
        return this;
    }

    /** Says that TCP frames beyond the MTU may come as they are; see {@link FlowSpec#isWhole()}. */
    public FlowSpecBuilder whole() {
        whole = true;
        return this;
    }

    /** Matches the destination MAC address, for example {@code 02:00:00:00:00:01}. */
    public FlowSpecBuilder destinationMac(String mac) {
        return destinationMac(MacAddress.parse(mac), EthernetMatch.MAC_MASK);
    }

    /** Matches the destination MAC address, 6 bytes. */
    public FlowSpecBuilder destinationMac(byte[] mac) {
        return destinationMac(FlowAddresses.mac(mac), EthernetMatch.MAC_MASK);
    }

    /** Matches bits of the destination MAC address; both numbers have 48 bits, the first byte on top. */
    public FlowSpecBuilder destinationMac(long mac, long mask) {
        checkMac(mac, mask, "destination");
        current.destinationMac = mac;
        current.destinationMacMask = mask;
        return this;
    }

    /** Matches the source MAC address. */
    public FlowSpecBuilder sourceMac(String mac) {
        return sourceMac(MacAddress.parse(mac), EthernetMatch.MAC_MASK);
    }

    /** Matches the source MAC address, 6 bytes. */
    public FlowSpecBuilder sourceMac(byte[] mac) {
        return sourceMac(FlowAddresses.mac(mac), EthernetMatch.MAC_MASK);
    }

    /** Matches bits of the source MAC address; see {@link #destinationMac(long, long)}. */
    public FlowSpecBuilder sourceMac(long mac, long mask) {
        checkMac(mac, mask, "source");
        current.sourceMac = mac;
        current.sourceMacMask = mask;
        return this;
    }

    /** Matches the EtherType, 0 to 0xffff; in a rule that also matches the VLAN tag, the one after the tag. */
    public FlowSpecBuilder etherType(int value) {
        return etherType(value, MAX_SHORT);
    }

    /** Matches bits of the EtherType. */
    public FlowSpecBuilder etherType(int value, int mask) {
        current.etherType = masked(value, mask, MAX_SHORT, "the EtherType");
        current.etherTypeMask = mask;
        return this;
    }

    /** Matches frames of a VLAN, 0 to 4095; 0 matches frames with a priority tag. */
    public FlowSpecBuilder vlan(int id) {
        return vlanTag(inRange(id, 0, EthernetMatch.VLAN_ID_MASK, "the VLAN id"), EthernetMatch.VLAN_ID_MASK);
    }

    /** Matches bits of the VLAN tag (TCI): priority 3, DEI 1, VLAN id 12. */
    public FlowSpecBuilder vlanTag(int value, int mask) {
        current.vlanTag = masked(value, mask, MAX_SHORT, "the VLAN tag");
        current.vlanTagMask = mask;
        return this;
    }

    /** Matches every IPv4 packet; the conditions on addresses imply it. */
    public FlowSpecBuilder ipv4() {
        current.ipv4 = true;
        return this;
    }

    /** Matches the IPv4 source: {@code 10.0.0.1}, {@code 10.0.0.0/8} or {@code 10.0.0.1/255.0.0.255}. */
    public FlowSpecBuilder ipv4Source(String addressAndMask) {
        String[] parts = addressAndMask.split("/", 2);
        return ipv4Source(FlowAddresses.ipv4(parts[0]), ipv4Mask(parts));
    }

    /** Matches the IPv4 source address. */
    public FlowSpecBuilder ipv4Source(Inet4Address address) {
        return ipv4Source(FlowAddresses.ipv4(address.getAddress()), -1);
    }

    /** Matches the network of the IPv4 source address. */
    public FlowSpecBuilder ipv4Source(Inet4Address address, int prefixLength) {
        return ipv4Source(FlowAddresses.ipv4(address.getAddress()), FlowAddresses.ipv4Mask(prefixLength));
    }

    /** Matches bits of the IPv4 source address; the first byte is on top. */
    public FlowSpecBuilder ipv4Source(int address, int mask) {
        checkIpv4(address, mask);
        current.ipv4 = true;
        current.ipv4Source = address;
        current.ipv4SourceMask = mask;
        return this;
    }

    /** Matches the IPv4 destination; see {@link #ipv4Source(String)}. */
    public FlowSpecBuilder ipv4Destination(String addressAndMask) {
        String[] parts = addressAndMask.split("/", 2);
        return ipv4Destination(FlowAddresses.ipv4(parts[0]), ipv4Mask(parts));
    }

    /** Matches the IPv4 destination address. */
    public FlowSpecBuilder ipv4Destination(Inet4Address address) {
        return ipv4Destination(FlowAddresses.ipv4(address.getAddress()), -1);
    }

    /** Matches the network of the IPv4 destination address. */
    public FlowSpecBuilder ipv4Destination(Inet4Address address, int prefixLength) {
        return ipv4Destination(FlowAddresses.ipv4(address.getAddress()), FlowAddresses.ipv4Mask(prefixLength));
    }

    /** Matches bits of the IPv4 destination address; the first byte is on top. */
    public FlowSpecBuilder ipv4Destination(int address, int mask) {
        checkIpv4(address, mask);
        current.ipv4 = true;
        current.ipv4Destination = address;
        current.ipv4DestinationMask = mask;
        return this;
    }

    /**
     * Matches the flags before the IPv4 fragment offset, as {@code enum ib_ipv4_flags} of the kernel numbers them:
     * don't fragment 2, more fragments 4.
     */
    public FlowSpecBuilder ipv4Flags(int value, int mask) {
        current.ipv4 = true;
        current.ipv4Flags = masked(value, mask, MAX_IPV4_FLAGS, "the IPv4 flags");
        current.ipv4FlagsMask = mask;
        return this;
    }

    /** Matches every IPv6 packet; the conditions on addresses imply it. */
    public FlowSpecBuilder ipv6() {
        current.ipv6 = true;
        return this;
    }

    /**
     * Matches the IPv6 source: {@code 2001:db8::1}, {@code 2001:db8::/32} or an address and a mask written as an
     * address.
     */
    public FlowSpecBuilder ipv6Source(String addressAndMask) {
        String[] parts = addressAndMask.split("/", 2);
        return ipv6Source(FlowAddresses.ipv6(parts[0]), ipv6Mask(parts));
    }

    /** Matches the IPv6 source address. */
    public FlowSpecBuilder ipv6Source(Inet6Address address) {
        return ipv6Source(FlowAddresses.ipv6(address.getAddress()), Ipv6Match.Bits.ONES);
    }

    /** Matches the network of the IPv6 source address. */
    public FlowSpecBuilder ipv6Source(Inet6Address address, int prefixLength) {
        return ipv6Source(FlowAddresses.ipv6(address.getAddress()), FlowAddresses.ipv6Mask(prefixLength));
    }

    /** Matches the IPv6 destination; see {@link #ipv6Source(String)}. */
    public FlowSpecBuilder ipv6Destination(String addressAndMask) {
        String[] parts = addressAndMask.split("/", 2);
        return ipv6Destination(FlowAddresses.ipv6(parts[0]), ipv6Mask(parts));
    }

    /** Matches the IPv6 destination address. */
    public FlowSpecBuilder ipv6Destination(Inet6Address address) {
        return ipv6Destination(FlowAddresses.ipv6(address.getAddress()), Ipv6Match.Bits.ONES);
    }

    /** Matches the network of the IPv6 destination address. */
    public FlowSpecBuilder ipv6Destination(Inet6Address address, int prefixLength) {
        return ipv6Destination(FlowAddresses.ipv6(address.getAddress()), FlowAddresses.ipv6Mask(prefixLength));
    }

    /** Matches bits of the IPv6 flow label, 20 bits. */
    public FlowSpecBuilder flowLabel(int value, int mask) {
        current.ipv6 = true;
        current.flowLabel = masked(value, mask, Ipv6Match.FLOW_LABEL_MASK, "the flow label");
        current.flowLabelMask = mask;
        return this;
    }

    /** Matches the IPv4 protocol or the IPv6 next header, 0 to 255; needs {@link #ipv4} or {@link #ipv6}. */
    public FlowSpecBuilder protocol(int value) {
        return protocol(value, MAX_BYTE);
    }

    /** Matches bits of the IPv4 protocol or the IPv6 next header. */
    public FlowSpecBuilder protocol(int value, int mask) {
        current.protocol = masked(value, mask, MAX_BYTE, "the IP protocol");
        current.protocolMask = mask;
        return this;
    }

    /** Matches bits of the IPv4 TOS byte or the IPv6 traffic class; needs {@link #ipv4} or {@link #ipv6}. */
    public FlowSpecBuilder trafficClass(int value, int mask) {
        current.trafficClass = masked(value, mask, MAX_BYTE, "the traffic class");
        current.trafficClassMask = mask;
        return this;
    }

    /** Matches bits of the IPv4 TTL or the IPv6 hop limit; needs {@link #ipv4} or {@link #ipv6}. */
    public FlowSpecBuilder hopLimit(int value, int mask) {
        current.hopLimit = masked(value, mask, MAX_BYTE, "the hop limit");
        current.hopLimitMask = mask;
        return this;
    }

    /** Matches UDP. */
    public FlowSpecBuilder udp() {
        current.udp = true;
        return this;
    }

    /** Matches TCP. */
    public FlowSpecBuilder tcp() {
        current.tcp = true;
        return this;
    }

    /** Matches the destination port, 0 to 65535; needs {@link #udp} or {@link #tcp}. */
    public FlowSpecBuilder destinationPort(int value) {
        return destinationPort(value, MAX_SHORT);
    }

    /** Matches bits of the destination port. */
    public FlowSpecBuilder destinationPort(int value, int mask) {
        current.destinationPort = masked(value, mask, MAX_SHORT, "the destination port");
        current.destinationPortMask = mask;
        return this;
    }

    /** Matches the source port, 0 to 65535; needs {@link #udp} or {@link #tcp}. */
    public FlowSpecBuilder sourcePort(int value) {
        return sourcePort(value, MAX_SHORT);
    }

    /** Matches bits of the source port. */
    public FlowSpecBuilder sourcePort(int value, int mask) {
        current.sourcePort = masked(value, mask, MAX_SHORT, "the source port");
        current.sourcePortMask = mask;
        return this;
    }

    /** Matches VXLAN with this network identifier, 0 to 2^24 - 1. */
    public FlowSpecBuilder vxlan(int networkIdentifier) {
        vni = inRange(networkIdentifier, 0, MAX_VNI, "the VXLAN network identifier");
        return this;
    }

    /** Turns to the headers inside the tunnel; needs {@link #vxlan}. */
    public FlowSpecBuilder inner() {
        current = inner;
        return this;
    }

    /** Makes completions carry this tag, 0 to 2^24 - 1, so that one queue can tell its rules apart. */
    public FlowSpecBuilder tag(int value) {
        tag = inRange(value, 0, MAX_TAG, "the tag");
        return this;
    }

    /** Drops the frames. */
    public FlowSpecBuilder drop() {
        drop = true;
        return this;
    }

    /**
     * Makes the rule.
     *
     * @throws IllegalArgumentException when conditions contradict each other; the message names them
     */
    public FlowSpec build() {
        FlowLayers outerLayers = outer.build();
        FlowLayers innerLayers = inner.build();
        if (!innerLayers.isEmpty() && vni == FlowSpec.NO_VNI) {
            throw new IllegalArgumentException("a rule on inner headers must say of which tunnel: vxlan");
        }
        if (type != FlowType.NORMAL) {
            checkSpecialType(outerLayers, innerLayers);
        }
        if (drop && (dontTrap || tag != FlowSpec.NO_TAG)) {
            throw new IllegalArgumentException("a rule that drops frames cannot also copy or tag them");
        }
        return new FlowSpec(this, outerLayers, innerLayers);
    }

    private void checkSpecialType(FlowLayers outerLayers, FlowLayers innerLayers) {
        if (!outerLayers.isEmpty() || !innerLayers.isEmpty() || vni != FlowSpec.NO_VNI) {
            throw new IllegalArgumentException("a rule of type " + type.word() + " takes no conditions");
        }
        if (dontTrap || drop) {
            throw new IllegalArgumentException("a rule of type " + type.word() + " cannot be dont-trap or drop");
        }
    }

    private FlowSpecBuilder ipv6Source(Ipv6Match.Bits address, Ipv6Match.Bits mask) {
        checkIpv6(address, mask);
        current.ipv6 = true;
        current.ipv6Source = address;
        current.ipv6SourceMask = mask;
        return this;
    }

    private FlowSpecBuilder ipv6Destination(Ipv6Match.Bits address, Ipv6Match.Bits mask) {
        checkIpv6(address, mask);
        current.ipv6 = true;
        current.ipv6Destination = address;
        current.ipv6DestinationMask = mask;
        return this;
    }

    private static int ipv4Mask(String[] parts) {
        if (parts.length == 1) {
            return -1;
        }
        return FlowAddresses.isIpv4(parts[1]) ? FlowAddresses.ipv4(parts[1])
                : FlowAddresses.ipv4Mask(FlowNumbers.parse(parts[1], "the prefix length"));
    }

    private static Ipv6Match.Bits ipv6Mask(String[] parts) {
        if (parts.length == 1) {
            return Ipv6Match.Bits.ONES;
        }
        return parts[1].contains(":") ? FlowAddresses.ipv6(parts[1])
                : FlowAddresses.ipv6Mask(FlowNumbers.parse(parts[1], "the prefix length"));
    }

    private static void checkMac(long mac, long mask, String which) {
        if (((mac | mask) & ~EthernetMatch.MAC_MASK) != 0) {
            throw new IllegalArgumentException("the " + which + " MAC address and its mask have 48 bits");
        }
        if ((mac & ~mask) != 0) {
            throw outsideMask("the " + which + " MAC address", MacAddress.format(mac),
                    MacAddress.format(mask));
        }
    }

    private static void checkIpv4(int address, int mask) {
        if ((address & ~mask) != 0) {
            throw outsideMask("the IPv4 address", FlowAddresses.formatIpv4(address), FlowAddresses.formatIpv4(mask));
        }
    }

    private static void checkIpv6(Ipv6Match.Bits address, Ipv6Match.Bits mask) {
        if ((address.high() & ~mask.high()) != 0 || (address.low() & ~mask.low()) != 0) {
            throw outsideMask("the IPv6 address", FlowAddresses.formatIpv6(address), FlowAddresses.formatIpv6(mask));
        }
    }

    private static int masked(int value, int mask, int max, String what) {
        inRange(value, 0, max, what);
        inRange(mask, 0, max, "the mask of " + what.substring("the ".length()));
        if ((value & ~mask) != 0) {
            throw outsideMask(what, FlowNumbers.hex(value), FlowNumbers.hex(mask));
        }
        return value;
    }

    private static IllegalArgumentException outsideMask(String what, String value, String mask) {
        return new IllegalArgumentException(what + " " + value + " has bits outside its mask " + mask);
    }

    private static int inRange(int value, int min, int max, String what) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(what + " is " + min + " to " + max + ", not " + value);
        }
        return value;
    }
}
