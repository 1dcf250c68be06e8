package io.rdmaraw.verbs.flow;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.verbs.abi.FlowAttrLayout;
import io.rdmaraw.verbs.abi.FlowDropLayout;
import io.rdmaraw.verbs.abi.FlowEthLayout;
import io.rdmaraw.verbs.abi.FlowTagLayout;
import io.rdmaraw.verbs.abi.FlowTunnelLayout;
import java.util.Objects;

/**
 * A steering rule: which frames a queue pair receives. An immutable value with a readable text form:
 *
 * <pre>{@code
 * FlowSpec dns = FlowSpec.builder().ipv4Destination("10.0.0.1").udp().destinationPort(53).build();
 * FlowSpec same = FlowSpec.parse("dst 10.0.0.1 udp dst-port 53");
 * }</pre>
 *
 * <p>Rules of lower {@link #priority()} are looked at first. What no rule takes stays with the kernel, and so do
 * fragments that a rule does not mention. A rule that names something of IP and no VLAN is for untagged frames. Those
 * with a tag stay with the kernel, except that a card takes them from it; then they are dropped and counted.
 */
public final class FlowSpec {
    public static final int FLAG_DONT_TRAP = 1 << 1;
    static final int NO_TAG = -1;
    static final int NO_VNI = -1;

    private final FlowType type;
    private final int priority;
    private final int port;
    private final boolean dontTrap;
    /** In place of a MAC address: none. */
    public static final long NO_MAC = -1;

    private final FlowLayers outer;
    private final int vni;
    private final FlowLayers inner;
    private final int tag;
    private final boolean drop;
    private final boolean hostTrafficAllowed;
    private final boolean whole;

    FlowSpec(FlowSpecBuilder builder, FlowLayers outer, FlowLayers inner) {
        type = builder.type;
        priority = builder.priority;
        port = builder.port;
        dontTrap = builder.dontTrap;
        this.outer = outer;
        vni = builder.vni;
        this.inner = inner;
        tag = builder.tag;
        drop = builder.drop;
        hostTrafficAllowed = builder.hostTrafficAllowed;
        whole = builder.whole;
    }

    /** Starts a rule that matches every frame on port 1, with priority 0. */
    public static FlowSpecBuilder builder() {
        return new FlowSpecBuilder();
    }

    /**
     * Reads the textual form, which {@link #toString} writes: words and their values, separated by blanks.
     *
     * <pre>
     * all | all-default | mc-default | sniffer
     * port N   priority N   dont-trap   allow-host-traffic   whole
     * dst-mac MAC[/MASK]   src-mac MAC[/MASK]   ether-type N[/MASK]   vlan ID   vlan-tag N/MASK
     * ip4   ip6   src ADDRESS[/PREFIX|/MASK]   dst ADDRESS[/PREFIX|/MASK]   proto N   tos N[/MASK]   ttl N[/MASK]
     * ip-flags N[/MASK]   flow-label N[/MASK]
     * udp   tcp   src-port N[/MASK]   dst-port N[/MASK]
     * vxlan VNI   inner (what follows is about the inner headers)
     * tag N   drop
     * </pre>
     *
     * @throws IllegalArgumentException when the text is not a rule; the message says where
     */
    public static FlowSpec parse(String text) {
        return new FlowSpecParser(text).parse();
    }

    /** Returns what kind of rule it is. */
    public FlowType type() {
        return type;
    }

    /** Returns the priority; lower is looked at first. */
    public int priority() {
        return priority;
    }

    /** Returns the device's port; the first is 1. */
    public int port() {
        return port;
    }

    /** Returns the one unicast address that frames have to be for, or {@link #NO_MAC}. */
    public long unicastDestination() {
        EthernetMatch ethernet = outer.ethernet();
        return ethernet == null || ethernet.destinationMask() != EthernetMatch.MAC_MASK || ethernet.isMulticast()
                ? NO_MAC : ethernet.destination();
    }

    /** Returns whether the queue pair gets a copy, and the frame goes on to where it would go without the rule. */
    public boolean isDontTrap() {
        return dontTrap;
    }

    /** Returns whether the frames are dropped. */
    public boolean isDrop() {
        return drop;
    }

    /** Returns the tag that completions carry, or -1. */
    public int tag() {
        return tag;
    }

    /** Tells whether the rule matches IPv4 packets alone. */
    public boolean isIpv4() {
        return outer.ipv4() != null;
    }

    /** Tells whether the rule matches IPv6 packets alone. */
    public boolean isIpv6() {
        return outer.ipv6() != null;
    }

    /** Tells whether the rule matches TCP segments alone. */
    public boolean isTcp() {
        return outer.ports() != null && outer.ports().tcp();
    }

    /** Tells whether the rule matches UDP datagrams alone. */
    public boolean isUdp() {
        return outer.ports() != null && !outer.ports().tcp();
    }

    /**
     * Tells whether several queue pairs, also those of other processes, may have the rule, and each gets every frame:
     * it names a multicast or the broadcast address, or gets copies alone.
     */
    public boolean isShareable() {
        return dontTrap || outer.ethernet() != null && outer.ethernet().isMulticast();
    }

    /**
     * Tells whether the rule is about IP and names no VLAN. It takes untagged frames only. A card takes tagged ones,
     * too ({@code parse_flow_attr} of the kernel's mlx5_ib), so who receives them has to look.
     */
    public boolean isUntaggedIp() {
        return (outer.ipv4() != null || outer.ipv6() != null || outer.ports() != null)
                && (outer.ethernet() == null || outer.ethernet().vlanTagMask() == 0);
    }

    /** Returns whether the user has said that this rule may take the host's traffic. */
    public boolean isHostTrafficAllowed() {
        return hostTrafficAllowed;
    }

    /**
     * Returns whether TCP frames beyond the MTU, as senders on the same host make them, may come as they are. Where a
     * device does not hand them over, they are cut to the MTU as for any other rule.
     */
    public boolean isWhole() {
        return whole;
    }

    /**
     * Returns whether the rule would cut the host off, as far as the rule alone tells: it takes every frame, or ARP, or
     * LACP, or RoCE (UDP 4791), or an address without saying which TCP or UDP port.
     */
    public boolean takesHostTraffic() {
        return !HostTraffic.reason(this).isEmpty();
    }

    /**
     * Throws when the rule takes the host's traffic and the user has not said that it may.
     *
     * @throws IllegalArgumentException the message says what it takes and how to allow it
     */
    public void checkHostTraffic() {
        String reason = hostTrafficAllowed ? "" : HostTraffic.reason(this);
        if (!reason.isEmpty()) {
            throw new IllegalArgumentException("the rule \"" + this + "\" would take traffic that the host needs: "
                    + reason + "; match a TCP or UDP port, or say that it may (allowHostTraffic(), or the word"
                    + " allow-host-traffic)");
        }
    }

    /** Returns a builder with the contents of this rule, to make one that differs a little. */
    public FlowSpecBuilder toBuilder() {
        return new FlowSpecBuilder(this);
    }

    FlowLayers outer() {
        return outer;
    }

    FlowLayers inner() {
        return inner;
    }

    int vni() {
        return vni;
    }

    /** Returns the length in bytes of what {@link #writeTo} writes. */
    public int encodedLength() {
        return FlowAttrLayout.SIZE_BYTES + outer.encodedLength() + inner.encodedLength()
                + (vni == NO_VNI ? 0 : FlowTunnelLayout.SIZE_BYTES) + (tag == NO_TAG ? 0 : FlowTagLayout.SIZE_BYTES)
                + (drop ? FlowDropLayout.SIZE_BYTES : 0);
    }

    /** Writes {@code struct ibv_flow_attr} and the specs after it to zeroed native memory. */
    public void writeTo(long address) {
        NativeMemory.putInt(address + FlowAttrLayout.TYPE_OFFSET, type.ordinal());
        NativeMemory.putShort(address + FlowAttrLayout.SIZE_OFFSET, (short) encodedLength());
        NativeMemory.putShort(address + FlowAttrLayout.PRIORITY_OFFSET, (short) priority);
        NativeMemory.putByte(address + FlowAttrLayout.NUM_OF_SPECS_OFFSET, (byte) specCount());
        NativeMemory.putByte(address + FlowAttrLayout.PORT_OFFSET, (byte) port);
        NativeMemory.putInt(address + FlowAttrLayout.FLAGS_OFFSET, dontTrap ? FLAG_DONT_TRAP : 0);
        long next = outer.writeTo(address + FlowAttrLayout.SIZE_BYTES, 0);
        if (vni != NO_VNI) {
            head(next, FlowSpecType.VXLAN_TUNNEL, FlowTunnelLayout.SIZE_BYTES);
            NetworkOrder.putInt(next + FlowTunnelLayout.VAL_TUNNEL_ID_OFFSET, vni);
            NetworkOrder.putInt(next + FlowTunnelLayout.MASK_TUNNEL_ID_OFFSET, FlowSpecBuilder.MAX_VNI);
            next += FlowTunnelLayout.SIZE_BYTES;
        }
        writeActions(inner.writeTo(next, FlowSpecType.INNER));
    }

    private void writeActions(long address) {
        long next = address;
        if (tag != NO_TAG) {
            head(next, FlowSpecType.ACTION_TAG, FlowTagLayout.SIZE_BYTES);
            NativeMemory.putInt(next + FlowTagLayout.TAG_ID_OFFSET, tag);
            next += FlowTagLayout.SIZE_BYTES;
        }
        if (drop) {
            head(next, FlowSpecType.ACTION_DROP, FlowDropLayout.SIZE_BYTES);
        }
    }

    private static void head(long spec, int specType, int size) {
        NativeMemory.putInt(spec + FlowEthLayout.TYPE_OFFSET, specType);
        NativeMemory.putShort(spec + FlowEthLayout.SIZE_OFFSET, (short) size);
    }

    private int specCount() {
        return outer.specCount() + inner.specCount() + (vni == NO_VNI ? 0 : 1) + (tag == NO_TAG ? 0 : 1)
                + (drop ? 1 : 0);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof FlowSpec that && type == that.type && priority == that.priority && port == that.port
                && dontTrap == that.dontTrap && vni == that.vni && tag == that.tag && drop == that.drop
                && hostTrafficAllowed == that.hostTrafficAllowed && whole == that.whole
                && outer.equals(that.outer) && inner.equals(that.inner);
    }

    @Override
    public int hashCode() {
        return Objects.hash(type, priority, port, dontTrap, outer, vni, inner, tag, drop, hostTrafficAllowed,
                whole);
    }

    /** Returns the textual form, from which {@link #parse} makes an equal rule. */
    @Override
    public String toString() {
        return FlowSpecFormatter.format(this);
    }
}
