package io.rdmaraw.host.userspace;

import io.rdmaraw.host.FlowSpecs;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Creates the flow rules of a userspace host. They do not take frames from the kernel. */
public final class UserspaceHostRules {
    private static final long ALL_NODES_LOW = 1;
    /** 224.0.0.1, the destination of general queries. */
    private static final int ALL_SYSTEMS = 0xe000_0001;

    private UserspaceHostRules() {
    }

    /**
     * Returns the rules for groups. They match only MAC addresses, because routers send queries to the address of the
     * queried group and because fragments have no port.
     */
    public static List<FlowSpec> ofGroups(List<IpAddress> groups) {
        Set<FlowSpec> rules = new LinkedHashSet<>();
        for (IpAddress group : groups) {
            rules.add(dontTrapRule(FlowSpecs.groupMac(group), group.isIpv4() ? EtherType.IPV4 : EtherType.IPV6));
            if (group.isIpv4()) {
                rules.add(dontTrapRule(EthernetHeader.multicastOfIpv4(ALL_SYSTEMS), EtherType.IPV4));
            }
        }
        return List.copyOf(rules);
    }

    public static List<FlowSpec> of(long mac, List<IpAddress> addresses) {
        Set<FlowSpec> rules = new LinkedHashSet<>();
        // All frames to the host's MAC address that no other rule matches.
        rules.add(FlowSpecs.toMac(mac, FlowSpecs.CATCH_ALL_PRIORITY).allowHostTraffic().build());
        for (IpAddress address : addresses) {
            if (address.isIpv4()) {
                rules.add(dontTrapRule(EthernetHeader.BROADCAST, EtherType.ARP));
            } else {
                rules.add(dontTrapRule(EthernetHeader.multicastOfIpv6(address.solicitedNode().low()), EtherType.IPV6));
                rules.add(dontTrapRule(EthernetHeader.multicastOfIpv6(ALL_NODES_LOW), EtherType.IPV6));
            }
        }
        return List.copyOf(rules);
    }

    /** Returns a rule that leaves the frames to the kernel, too. */
    private static FlowSpec dontTrapRule(long mac, int etherType) {
        return FlowSpecs.toMac(mac, FlowSpecs.CATCH_ALL_PRIORITY).etherType(etherType).dontTrap().build();
    }
}
