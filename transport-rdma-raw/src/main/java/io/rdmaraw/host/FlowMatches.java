package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.flow.FlowSpecBuilder;
import io.rdmaraw.wire.EthernetHeader;

import java.net.Inet6Address;

/** Steering rules of channels with IP addresses. */
public final class FlowMatches {
    /**
     * The better a rule fits the earlier it is looked at; few shapes of match per priority keep the search short. In
     * steps of two: a rule that loops share uses the odd priority too, see {@link io.rdmaraw.queue.RssFlows}.
     */
    static final int CONNECTED_PRIORITY = 0;
    static final int ADDRESS_PRIORITY = 2;
    static final int WILDCARD_PRIORITY = 4;
    /** What has no ports: fragments. */
    public static final int REST_PRIORITY = 6;

    private FlowMatches() {
    }

    public static FlowSpecBuilder toMac(long mac, int priority) {
        return FlowSpec.builder().priority(priority).destinationMac(mac, EthernetHeader.BROADCAST);
    }

    /** Returns the rule for UDP that comes to a port: by three fields, or by five when connected. */
    public static FlowSpec udp(long mac, IpAddress local, int port, IpAddress remoteOrNull, int remotePort,
            int ipVersion) {
        return ports(addresses(mac, local, remoteOrNull, ipVersion).udp(), port, remoteOrNull, remotePort);
    }

    /** Returns the rule for TCP that comes to a port: by three fields, or by five for one connection. */
    static FlowSpec tcp(long mac, IpAddress local, int port, IpAddress remoteOrNull, int remotePort, int ipVersion) {
        return ports(addresses(mac, local, remoteOrNull, ipVersion).tcp().whole(), port, remoteOrNull, remotePort);
    }

    /** Returns the rule for TCP that comes to a port of one of the addresses that a wildcard stands for. */
    static FlowSpec wildcardTcp(long mac, IpAddress local, int port) {
        return addresses(mac, local, null, local.version()).tcp().whole().priority(WILDCARD_PRIORITY)
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

    /** Returns a rule for a group's packets, to be completed with a port. */
    public static FlowSpecBuilder group(IpAddress group) {
        FlowSpecBuilder flow = toMac(groupMac(group), ADDRESS_PRIORITY);
        setDestination(flow, group);
        return flow;
    }

    /** Returns the rule for a group's fragments. */
    public static FlowSpec groupFragments(IpAddress group) {
        FlowSpecBuilder flow = toMac(groupMac(group), REST_PRIORITY).allowHostTraffic();
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
