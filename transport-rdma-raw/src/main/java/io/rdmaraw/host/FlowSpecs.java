package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.flow.FlowSpecBuilder;
import io.rdmaraw.wire.EthernetHeader;

import java.net.Inet6Address;

/** Creates the flow rules of channels with IP addresses. */
public final class FlowSpecs {
    /**
     * More specific rules have a higher priority (a lower number). Each priority has few combinations of matched
     * fields, which keeps the lookup in the device short. The step is two because a rule that loops share uses the odd
     * priority, too; see {@link io.rdmaraw.queue.RssFlows}.
     */
    static final int CONNECTED_PRIORITY = 0;
    static final int ADDRESS_PRIORITY = 2;
    static final int WILDCARD_PRIORITY = 4;
    /** Priority of rules for packets without ports, that is, fragments. */
    public static final int CATCH_ALL_PRIORITY = 6;

    private FlowSpecs() {
    }

    public static FlowSpecBuilder toMac(long mac, int priority) {
        return FlowSpec.builder().priority(priority).destinationMac(mac, EthernetHeader.BROADCAST);
    }

    /** Returns the rule for UDP to a port: three fields, or five if the port is connected. */
    public static FlowSpec udp(long mac, IpAddress local, int port, IpAddress remoteOrNull, int remotePort,
            int ipVersion) {
        return ports(addresses(mac, local, remoteOrNull, ipVersion).udp(), port, remoteOrNull, remotePort);
    }

    /** Returns the rule for TCP to a port: three fields, or five for a single connection. */
    static FlowSpec tcp(long mac, IpAddress local, int port, IpAddress remoteOrNull, int remotePort, int ipVersion) {
        return ports(addresses(mac, local, remoteOrNull, ipVersion).tcp().acceptGso(), port, remoteOrNull, remotePort);
    }

    /** Returns the rule for TCP to a port at one of the addresses that a wildcard stands for. */
    static FlowSpec wildcardTcp(long mac, IpAddress local, int port) {
        return addresses(mac, local, null, local.version()).tcp().acceptGso().priority(WILDCARD_PRIORITY)
                .destinationPort(port).build();
    }

    private static FlowSpecBuilder addresses(long mac, IpAddress local, IpAddress remoteOrNull, int ipVersion) {
        boolean connected = remoteOrNull != null;
        boolean any = local.isAny();
        FlowSpecBuilder flow = toMac(mac, connected ? CONNECTED_PRIORITY : any ? WILDCARD_PRIORITY : ADDRESS_PRIORITY);
        if (ipVersion == 4) {
            flow.ipv4();
        } else {
            flow.ipv6();
        }
        if (!any) {
            setDestination(flow, local);
        }
        if (connected) {
            setSource(flow, remoteOrNull);
        }
        return flow;
    }

    private static FlowSpec ports(FlowSpecBuilder flow, int port, IpAddress remoteOrNull, int remotePort) {
        flow.destinationPort(port);
        return (remoteOrNull != null ? flow.sourcePort(remotePort) : flow).build();
    }

    /** Returns the builder of a rule for a group's packets. The caller adds the port. */
    public static FlowSpecBuilder group(IpAddress group) {
        FlowSpecBuilder flow = toMac(groupMac(group), ADDRESS_PRIORITY);
        setDestination(flow, group);
        return flow;
    }

    /** Returns the rule for a group's fragments. */
    public static FlowSpec groupFragments(IpAddress group) {
        FlowSpecBuilder flow = toMac(groupMac(group), CATCH_ALL_PRIORITY).allowHostTraffic();
        setDestination(flow, group);
        return flow.build();
    }

    public static long groupMac(IpAddress group) {
        return group.isIpv4() ? EthernetHeader.multicastOfIpv4(group.ipv4())
                : EthernetHeader.multicastOfIpv6(group.low());
    }

    private static void setDestination(FlowSpecBuilder flow, IpAddress address) {
        if (address.isIpv4()) {
            flow.ipv4Destination(address.ipv4(), -1);
        } else {
            flow.ipv6Destination((Inet6Address) address.toInetAddress());
        }
    }

    private static void setSource(FlowSpecBuilder flow, IpAddress address) {
        if (address.isIpv4()) {
            flow.ipv4Source(address.ipv4(), -1);
        } else {
            flow.ipv6Source((Inet6Address) address.toInetAddress());
        }
    }
}
