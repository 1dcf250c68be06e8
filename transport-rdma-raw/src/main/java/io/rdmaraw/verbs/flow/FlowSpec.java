package io.rdmaraw.verbs.flow;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowDropLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowEthLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowTagLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowTunnelLayout;
import java.util.Objects;

/**
 * A flow rule: selects the frames that a queue pair receives. Immutable, with a text form:
 * <pre>{@code
 * FlowSpec dns = FlowSpec.builder().ipv4Destination("10.0.0.1").udp().destinationPort(53).build();
 * FlowSpec same = FlowSpec.parse("dst 10.0.0.1 udp dst-port 53");
 * }</pre>
 *
 * <p>The device evaluates rules in ascending order of {@link #priority()}. Frames that match no rule go to the
 * kernel. So do IP fragments, unless a rule matches fragments explicitly.
 *
 * <p>A rule with IP conditions and without a VLAN matches only untagged frames. The kernel receives the tagged
 * ones, with one exception: a card delivers them to the rule, where they are dropped and counted.
 */
public final class FlowSpec {
    /** {@code IBV_FLOW_ATTR_FLAGS_DONT_TRAP}. */
    public static final int FLAG_DONT_TRAP = 1 << 1;
    static final int NO_TAG = -1;
    static final int NO_VNI = -1;

    private final FlowType type;
    private final int priority;
    private final int devicePort;
    private final boolean dontTrap;
    /** Represents the absence of a MAC address. */
    public static final long NO_MAC = -1;

    private final FlowLayers outer;
    private final int vni;
    private final FlowLayers inner;
    private final int tag;
    private final boolean drop;
    private final boolean hostTrafficAllowed;
    private final boolean acceptsGso;

    FlowSpec(FlowSpecBuilder builder, FlowLayers outer, FlowLayers inner) {
        type = builder.type;
        priority = builder.priority;
        devicePort = builder.devicePort;
        dontTrap = builder.dontTrap;
        this.outer = outer;
        vni = builder.vni;
        this.inner = inner;
        tag = builder.tag;
        drop = builder.drop;
        hostTrafficAllowed = builder.hostTrafficAllowed;
        acceptsGso = builder.acceptsGso;
    }

    /** Returns a builder. Without further conditions, the rule matches every frame, with priority 0. */
    public static FlowSpecBuilder builder() {
        return new FlowSpecBuilder();
    }

    /**
     * Parses the text form of a rule: words and their values, separated by blanks. Case is ignored, and the
     * order of the words is free, except for those after {@code inner}.
     * <pre>
     * all | all-default | mc-default | sniffer
     * port N   priority N   dont-trap   allow-host-traffic   accept-gso
     * dst-mac MAC[/MASK]   src-mac MAC[/MASK]   ether-type N[/MASK]   vlan ID   vlan-tag N/MASK
     * ip4   ip6   src ADDRESS[/PREFIX|/MASK]   dst ADDRESS[/PREFIX|/MASK]   proto N   tos N[/MASK]   ttl N[/MASK]
     * ip-flags N[/MASK]   flow-label N[/MASK]
     * udp   tcp   src-port N[/MASK]   dst-port N[/MASK]
     * vxlan VNI   inner (the words after it match the inner headers)
     * tag N   drop
     * </pre>
     *
     * @throws IllegalArgumentException if the text is not a valid rule; the message names the invalid word or
     *         value
     */
    public static FlowSpec parse(String text) {
        return new FlowSpecParser(text).parse();
    }

    /** Returns the type of the rule. */
    public FlowType type() {
        return type;
    }

    /** Returns the priority. Lower values are evaluated first. */
    public int priority() {
        return priority;
    }

    /** Returns the device port, from 1, or 0 for the port of the queue. */
    public int devicePort() {
        return devicePort;
    }

    /**
     * Returns this rule as it applies to a queue on a port. If the rule names that port, the result names none, so that
     * it is equal to the result for the same rule without a port. For the transport, not for programs.
     */
    public FlowSpec forQueueOn(int queuePort) {
        return devicePort == queuePort ? toBuilder().queuePort().build() : this;
    }

    /** Returns the destination MAC address that the rule matches exactly, or {@link #NO_MAC} if there is none. */
    public long destinationMac() {
        EthernetMatch ethernet = outer.ethernet();
        return ethernet == null || ethernet.destinationMask() != EthernetMatch.MAC_MASK
                ? NO_MAC : ethernet.destination();
    }

    /**
     * Returns whether the queue pair receives a copy, while the frame also takes the path it would take without
     * the rule.
     */
    public boolean isDontTrap() {
        return dontTrap;
    }

    /** Returns whether matching frames are dropped. */
    public boolean isDrop() {
        return drop;
    }

    /** Returns the flow tag reported with each matching frame, or -1 if the rule has none. */
    public int tag() {
        return tag;
    }

    /** Returns whether the rule matches only IPv4 packets. */
    public boolean isIpv4() {
        return outer.ipv4() != null;
    }

    /** Returns whether the rule matches only IPv6 packets. */
    public boolean isIpv6() {
        return outer.ipv6() != null;
    }

    /** Returns whether the rule matches only TCP segments. */
    public boolean isTcp() {
        return outer.ports() != null && outer.ports().tcp();
    }

    /** Returns whether the rule matches only UDP datagrams. */
    public boolean isUdp() {
        return outer.ports() != null && !outer.ports().tcp();
    }

    /**
     * Returns whether several queue pairs, also in other processes, may install the same rule and each receive
     * every frame. This holds for rules that match multicast or broadcast addresses, and for
     * {@linkplain #isDontTrap() copying} rules.
     */
    public boolean isShareable() {
        return dontTrap || outer.ethernet() != null && outer.ethernet().isMulticast();
    }

    /**
     * Returns whether the rule has IP conditions but none on the VLAN tag. Such a rule is meant for untagged
     * frames, but a card also delivers tagged ones ({@code parse_flow_attr} of the kernel's mlx5_ib). The
     * receiver must therefore check for a tag.
     */
    public boolean isUntaggedIp() {
        return (outer.ipv4() != null || outer.ipv6() != null || outer.ports() != null)
                && (outer.ethernet() == null || outer.ethernet().vlanTagMask() == 0);
    }

    /** Returns whether the user allows this rule to take traffic that the host needs. */
    public boolean isHostTrafficAllowed() {
        return hostTrafficAllowed;
    }

    /**
     * Returns whether the receiver accepts unsegmented GSO frames: several TCP segments in a frame of up to 64 KB,
     * which senders on the same host produce. If it does not, or if the device cannot deliver them, they are segmented.
     */
    public boolean acceptsGso() {
        return acceptsGso;
    }

    /**
     * Returns whether the rule takes traffic that the host needs, and so would disconnect it. This is true for rules
     * that match every frame, ARP, LACP or RoCE (UDP 4791), or an address without a TCP or UDP port. The check
     * considers only this rule, not the configuration of the host.
     */
    public boolean takesHostTraffic() {
        return !HostTraffic.reason(this).isEmpty();
    }

    /**
     * Throws if the rule {@linkplain #takesHostTraffic() takes traffic that the host needs} and the user has
     * not allowed it.
     *
     * @throws IllegalArgumentException the message names the traffic and explains how to allow the rule
     */
    public void checkHostTraffic() {
        String reason = hostTrafficAllowed ? "" : HostTraffic.reason(this);
        if (!reason.isEmpty()) {
            throw new IllegalArgumentException("the rule \"" + this + "\" would take traffic that the host needs: "
                    + reason + "; match a TCP or UDP port, or permit it with allowHostTraffic() or the word"
                    + " allow-host-traffic");
        }
    }

    /** Returns a builder that is initialised with this rule. */
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

    /** Returns the number of bytes that {@link #writeTo} writes; for the transport, not for programs. */
    public int encodedBytes() {
        return FlowAttrLayout.SIZE_BYTES + outer.encodedBytes() + inner.encodedBytes()
                + (vni == NO_VNI ? 0 : FlowTunnelLayout.SIZE_BYTES) + (tag == NO_TAG ? 0 : FlowTagLayout.SIZE_BYTES)
                + (drop ? FlowDropLayout.SIZE_BYTES : 0);
    }

    /**
     * Writes {@code struct ibv_flow_attr} and its specs; for the transport, not for programs. A wrong address corrupts
     * memory.
     *
     * @param address zeroed native memory of {@link #encodedBytes()} bytes
     */
    public void writeTo(long address) {
        NativeMemory.putInt(address + FlowAttrLayout.TYPE_OFFSET, type.ordinal());
        NativeMemory.putShort(address + FlowAttrLayout.SIZE_OFFSET, (short) encodedBytes());
        NativeMemory.putShort(address + FlowAttrLayout.PRIORITY_OFFSET, (short) priority);
        NativeMemory.putByte(address + FlowAttrLayout.NUM_OF_SPECS_OFFSET, (byte) specCount());
        NativeMemory.putByte(address + FlowAttrLayout.PORT_OFFSET, (byte) Math.max(devicePort, 1));
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
        return other instanceof FlowSpec that && type == that.type && priority == that.priority
                && devicePort == that.devicePort && dontTrap == that.dontTrap && vni == that.vni && tag == that.tag
                && drop == that.drop && hostTrafficAllowed == that.hostTrafficAllowed && acceptsGso == that.acceptsGso
                && outer.equals(that.outer) && inner.equals(that.inner);
    }

    @Override
    public int hashCode() {
        return Objects.hash(type, priority, devicePort, dontTrap, outer, vni, inner, tag, drop, hostTrafficAllowed,
                acceptsGso);
    }

    /** Returns the text form. {@link #parse} creates an equal rule from it. */
    @Override
    public String toString() {
        return FlowSpecFormatter.format(this);
    }
}
