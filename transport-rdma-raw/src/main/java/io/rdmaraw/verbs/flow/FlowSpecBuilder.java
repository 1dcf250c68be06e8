package io.rdmaraw.verbs.flow;


import io.rdmaraw.wire.MacAddress;

import java.net.Inet4Address;
import java.net.Inet6Address;
import java.util.Objects;

/**
 * Builds a {@link FlowSpec}. A frame matches if it meets all conditions. In a condition with a mask, the value
 * must not have bits outside the mask. After {@link #inner}, conditions apply to the headers inside the VXLAN
 * tunnel.
 *
 * <p>Every method throws an {@link IllegalArgumentException} if a value is out of range.
 */
public final class FlowSpecBuilder {
    static final int MAX_VNI = 0xffffff;
    private static final int MAX_TAG = 0xffffff;
    private static final int MAX_BYTE = 0xff;
    private static final int MAX_SHORT = 0xffff;
    static final int MAX_IPV4_FLAGS = 0x6;

    FlowType type = FlowType.NORMAL;
    int priority;
    int devicePort;
    boolean dontTrap;
    int vni = FlowSpec.NO_VNI;
    int tag = FlowSpec.NO_TAG;
    boolean drop;
    boolean hostTrafficAllowed;
    boolean acceptsGso;
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
        devicePort = from.devicePort();
        dontTrap = from.isDontTrap();
        vni = from.vni();
        tag = from.tag();
        drop = from.isDrop();
        hostTrafficAllowed = from.isHostTrafficAllowed();
        acceptsGso = from.acceptsGso();
        outer = new FlowLayersBuilder(from.outer());
        inner = new FlowLayersBuilder(from.inner());
        current = outer;
    }

    /** Sets the type of the rule. Only {@link FlowType#NORMAL}, the default, permits conditions. */
    public FlowSpecBuilder type(FlowType value) {
        type = Objects.requireNonNull(value, "a rule needs a type");
        return this;
    }

    /** Sets the priority, 0 to 65535. Lower values are evaluated first. mlx5 supports 0 to 15. */
    public FlowSpecBuilder priority(int value) {
        priority = requireInRange(value, 0, MAX_SHORT, "the priority");
        return this;
    }

    /** Sets the device port, 1 to 255. The default is the port of the queue. */
    public FlowSpecBuilder devicePort(int value) {
        devicePort = requireInRange(value, 1, MAX_BYTE, "the device's port");
        return this;
    }

    /** Selects the port of the queue, which is the default. */
    FlowSpecBuilder queuePort() {
        devicePort = 0;
        return this;
    }

    /** Delivers a copy to the queue pair. The frame also takes the path it would take without the rule. */
    public FlowSpecBuilder dontTrap() {
        dontTrap = true;
        return this;
    }

    /** Allows the rule to take traffic that the host needs; see {@link FlowSpec#takesHostTraffic()}. */
    public FlowSpecBuilder allowHostTraffic() {
        hostTrafficAllowed = true;
        return this;
    }

    /** Accepts GSO frames of TCP unsegmented, up to 64 KB; see {@link FlowSpec#acceptsGso()}. */
    public FlowSpecBuilder acceptGso() {
        acceptsGso = true;
        return this;
    }

    /** Matches the destination MAC address, for example {@code 02:00:00:00:00:01}. */
    public FlowSpecBuilder destinationMac(String mac) {
        return destinationMac(MacAddress.parse(mac), EthernetMatch.MAC_MASK);
    }

    /** Matches the destination MAC address, given as 6 bytes. */
    public FlowSpecBuilder destinationMac(byte[] mac) {
        return destinationMac(FlowAddresses.mac(mac), EthernetMatch.MAC_MASK);
    }

    /**
     * Matches the masked destination MAC address. Both numbers have 48 bits; the first byte of the address is
     * the most significant one.
     */
    public FlowSpecBuilder destinationMac(long mac, long mask) {
        checkMac(mac, mask, "destination");
        current.destinationMac = mac;
        current.destinationMacMask = mask;
        return this;
    }

    /** Matches the source MAC address, for example {@code 02:00:00:00:00:01}. */
    public FlowSpecBuilder sourceMac(String mac) {
        return sourceMac(MacAddress.parse(mac), EthernetMatch.MAC_MASK);
    }

    /** Matches the source MAC address, given as 6 bytes. */
    public FlowSpecBuilder sourceMac(byte[] mac) {
        return sourceMac(FlowAddresses.mac(mac), EthernetMatch.MAC_MASK);
    }

    /** Matches the masked source MAC address; see {@link #destinationMac(long, long)}. */
    public FlowSpecBuilder sourceMac(long mac, long mask) {
        checkMac(mac, mask, "source");
        current.sourceMac = mac;
        current.sourceMacMask = mask;
        return this;
    }

    /**
     * Matches the EtherType, 0 to 0xffff. If the rule also matches the VLAN, this is the EtherType after the
     * tag.
     */
    public FlowSpecBuilder etherType(int value) {
        return etherType(value, MAX_SHORT);
    }

    /** Matches the masked EtherType; see {@link #etherType(int)}. */
    public FlowSpecBuilder etherType(int value, int mask) {
        current.etherType = requireWithinMask(value, mask, MAX_SHORT, "the EtherType");
        current.etherTypeMask = mask;
        return this;
    }

    /** Matches the VLAN ID, 0 to 4095. 0 matches priority-tagged frames. */
    public FlowSpecBuilder vlan(int id) {
        return vlanTag(requireInRange(id, 0, EthernetMatch.VLAN_ID_MASK, "the VLAN id"), EthernetMatch.VLAN_ID_MASK);
    }

    /** Matches the masked VLAN tag (TCI): 3 bits priority, 1 bit DEI, 12 bits VLAN ID. */
    public FlowSpecBuilder vlanTag(int value, int mask) {
        current.vlanTag = requireWithinMask(value, mask, MAX_SHORT, "the VLAN tag");
        current.vlanTagMask = mask;
        return this;
    }

    /** Matches IPv4 packets. Conditions on IPv4 addresses imply this. */
    public FlowSpecBuilder ipv4() {
        current.ipv4 = true;
        return this;
    }

    /** Matches the IPv4 source address: {@code 10.0.0.1}, {@code 10.0.0.0/8} or {@code 10.0.0.1/255.0.0.255}. */
    public FlowSpecBuilder ipv4Source(String addressAndMask) {
        String[] parts = addressAndMask.split("/", 2);
        return ipv4Source(FlowAddresses.ipv4(parts[0]), ipv4Mask(parts));
    }

    /** Matches the IPv4 source address. */
    public FlowSpecBuilder ipv4Source(Inet4Address address) {
        return ipv4Source(FlowAddresses.ipv4(address.getAddress()), -1);
    }

    /** Matches the network of the IPv4 source address, 0 to 32 bits long. */
    public FlowSpecBuilder ipv4Source(Inet4Address address, int prefixLength) {
        return ipv4Source(FlowAddresses.ipv4(address.getAddress()), FlowAddresses.ipv4Mask(prefixLength));
    }

    /** Matches the masked IPv4 source address. The first byte of the address is the most significant one. */
    public FlowSpecBuilder ipv4Source(int address, int mask) {
        checkIpv4(address, mask);
        current.ipv4 = true;
        current.ipv4Source = address;
        current.ipv4SourceMask = mask;
        return this;
    }

    /** Matches the IPv4 destination address; see {@link #ipv4Source(String)}. */
    public FlowSpecBuilder ipv4Destination(String addressAndMask) {
        String[] parts = addressAndMask.split("/", 2);
        return ipv4Destination(FlowAddresses.ipv4(parts[0]), ipv4Mask(parts));
    }

    /** Matches the IPv4 destination address. */
    public FlowSpecBuilder ipv4Destination(Inet4Address address) {
        return ipv4Destination(FlowAddresses.ipv4(address.getAddress()), -1);
    }

    /** Matches the network of the IPv4 destination address, 0 to 32 bits long. */
    public FlowSpecBuilder ipv4Destination(Inet4Address address, int prefixLength) {
        return ipv4Destination(FlowAddresses.ipv4(address.getAddress()), FlowAddresses.ipv4Mask(prefixLength));
    }

    /** Matches the masked IPv4 destination address. The first byte of the address is the most significant one. */
    public FlowSpecBuilder ipv4Destination(int address, int mask) {
        checkIpv4(address, mask);
        current.ipv4 = true;
        current.ipv4Destination = address;
        current.ipv4DestinationMask = mask;
        return this;
    }

    /**
     * Matches the masked IPv4 flags, numbered as in {@code enum ib_ipv4_flags} of the kernel: 2 is "don't
     * fragment", 4 is "more fragments".
     */
    public FlowSpecBuilder ipv4Flags(int value, int mask) {
        current.ipv4 = true;
        current.ipv4Flags = requireWithinMask(value, mask, MAX_IPV4_FLAGS, "the IPv4 flags");
        current.ipv4FlagsMask = mask;
        return this;
    }

    /** Matches IPv6 packets. Conditions on IPv6 addresses imply this. */
    public FlowSpecBuilder ipv6() {
        current.ipv6 = true;
        return this;
    }

    /**
     * Matches the IPv6 source address: {@code 2001:db8::1}, {@code 2001:db8::/32}, or an address and a mask in
     * address notation.
     */
    public FlowSpecBuilder ipv6Source(String addressAndMask) {
        String[] parts = addressAndMask.split("/", 2);
        return ipv6Source(FlowAddresses.ipv6(parts[0]), ipv6Mask(parts));
    }

    /** Matches the IPv6 source address. */
    public FlowSpecBuilder ipv6Source(Inet6Address address) {
        return ipv6Source(FlowAddresses.ipv6(address.getAddress()), Ipv6Match.Bits.ONES);
    }

    /** Matches the network of the IPv6 source address, 0 to 128 bits long. */
    public FlowSpecBuilder ipv6Source(Inet6Address address, int prefixLength) {
        return ipv6Source(FlowAddresses.ipv6(address.getAddress()), FlowAddresses.ipv6Mask(prefixLength));
    }

    /** Matches the IPv6 destination address; see {@link #ipv6Source(String)}. */
    public FlowSpecBuilder ipv6Destination(String addressAndMask) {
        String[] parts = addressAndMask.split("/", 2);
        return ipv6Destination(FlowAddresses.ipv6(parts[0]), ipv6Mask(parts));
    }

    /** Matches the IPv6 destination address. */
    public FlowSpecBuilder ipv6Destination(Inet6Address address) {
        return ipv6Destination(FlowAddresses.ipv6(address.getAddress()), Ipv6Match.Bits.ONES);
    }

    /** Matches the network of the IPv6 destination address, 0 to 128 bits long. */
    public FlowSpecBuilder ipv6Destination(Inet6Address address, int prefixLength) {
        return ipv6Destination(FlowAddresses.ipv6(address.getAddress()), FlowAddresses.ipv6Mask(prefixLength));
    }

    /** Matches the masked IPv6 flow label of 20 bits. */
    public FlowSpecBuilder flowLabel(int value, int mask) {
        current.ipv6 = true;
        current.flowLabel = requireWithinMask(value, mask, Ipv6Match.FLOW_LABEL_MASK, "the flow label");
        current.flowLabelMask = mask;
        return this;
    }

    /** Matches the IPv4 protocol or the IPv6 next header, 0 to 255. Requires {@link #ipv4} or {@link #ipv6}. */
    public FlowSpecBuilder protocol(int value) {
        return protocol(value, MAX_BYTE);
    }

    /** Matches the masked IPv4 protocol or IPv6 next header; see {@link #protocol(int)}. */
    public FlowSpecBuilder protocol(int value, int mask) {
        current.protocol = requireWithinMask(value, mask, MAX_BYTE, "the IP protocol");
        current.protocolMask = mask;
        return this;
    }

    /** Matches the masked IPv4 TOS byte or IPv6 traffic class. Requires {@link #ipv4} or {@link #ipv6}. */
    public FlowSpecBuilder trafficClass(int value, int mask) {
        current.trafficClass = requireWithinMask(value, mask, MAX_BYTE, "the traffic class");
        current.trafficClassMask = mask;
        return this;
    }

    /** Matches the masked IPv4 TTL or IPv6 hop limit. Requires {@link #ipv4} or {@link #ipv6}. */
    public FlowSpecBuilder hopLimit(int value, int mask) {
        current.hopLimit = requireWithinMask(value, mask, MAX_BYTE, "the hop limit");
        current.hopLimitMask = mask;
        return this;
    }

    /** Matches UDP datagrams. */
    public FlowSpecBuilder udp() {
        current.udp = true;
        return this;
    }

    /** Matches TCP segments. */
    public FlowSpecBuilder tcp() {
        current.tcp = true;
        return this;
    }

    /** Matches the destination port, 0 to 65535. Requires {@link #udp} or {@link #tcp}. */
    public FlowSpecBuilder destinationPort(int value) {
        return destinationPort(value, MAX_SHORT);
    }

    /** Matches the masked destination port; see {@link #destinationPort(int)}. */
    public FlowSpecBuilder destinationPort(int value, int mask) {
        current.destinationPort = requireWithinMask(value, mask, MAX_SHORT, "the destination port");
        current.destinationPortMask = mask;
        return this;
    }

    /** Matches the source port, 0 to 65535. Requires {@link #udp} or {@link #tcp}. */
    public FlowSpecBuilder sourcePort(int value) {
        return sourcePort(value, MAX_SHORT);
    }

    /** Matches the masked source port; see {@link #sourcePort(int)}. */
    public FlowSpecBuilder sourcePort(int value, int mask) {
        current.sourcePort = requireWithinMask(value, mask, MAX_SHORT, "the source port");
        current.sourcePortMask = mask;
        return this;
    }

    /** Matches VXLAN packets with a network identifier, 0 to 2^24 - 1. */
    public FlowSpecBuilder vxlan(int networkIdentifier) {
        vni = requireInRange(networkIdentifier, 0, MAX_VNI, "the VXLAN network identifier");
        return this;
    }

    /** Applies the conditions that follow to the headers inside the tunnel. Requires {@link #vxlan}. */
    public FlowSpecBuilder inner() {
        current = inner;
        return this;
    }

    /**
     * Sets the flow tag, 0 to 2^24 - 1. Completions carry the tag, so that a queue pair with several rules can
     * identify the rule of a frame.
     */
    public FlowSpecBuilder tag(int value) {
        tag = requireInRange(value, 0, MAX_TAG, "the tag");
        return this;
    }

    /** Drops matching frames. */
    public FlowSpecBuilder drop() {
        drop = true;
        return this;
    }

    /**
     * Validates and returns the rule.
     *
     * @throws IllegalArgumentException if conditions contradict each other; the message names them
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

    private static int requireWithinMask(int value, int mask, int max, String what) {
        requireInRange(value, 0, max, what);
        requireInRange(mask, 0, max, "the mask of " + what.substring("the ".length()));
        if ((value & ~mask) != 0) {
            throw outsideMask(what, FlowNumbers.hex(value), FlowNumbers.hex(mask));
        }
        return value;
    }

    private static IllegalArgumentException outsideMask(String what, String value, String mask) {
        return new IllegalArgumentException(what + " " + value + " has bits outside its mask " + mask);
    }

    private static int requireInRange(int value, int min, int max, String what) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(what + " is " + min + " to " + max + ", not " + value);
        }
        return value;
    }
}
