package io.rdmaraw.host.userspace;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.Route;

import java.util.ArrayList;
import java.util.List;

/** Creates the snapshots of a {@link UserspaceHostEngine}, with addresses and routes in the form of the kernel's. */
final class UserspaceSnapshots {
    /** IFF_UP and IFF_LOWER_UP. */
    static final int LINK_FLAGS = 1 | 1 << 16;
    private static final int SCOPE_GLOBAL = 0;
    private static final int SCOPE_LINK = 253;
    /** A /31 subnet has no broadcast address (RFC 3021). */
    private static final int LONGEST_PREFIX_WITH_BROADCAST = 30;
    /** Configured gateways have a lower metric than learned ones. */
    private static final long STATIC_METRIC = 0;
    private static final long LEARNED_METRIC = 1024;
    /** Added to the metric of unreachable routers, which are used last (RFC 4861 section 6.3.6). */
    private static final long DEAD_METRIC = 1 << 20;

    private UserspaceSnapshots() {
    }

    static NetworkSnapshot snapshot(long generation, Link link, List<UserspaceAddress> own, List<IpAddress> gateways,
                                    LearnedRouters learned, NeighborCache neighbors) {
        List<LocalAddress> addresses = new ArrayList<>();
        List<Route> routes = new ArrayList<>();
        for (UserspaceAddress address : own) {
            addresses.add(new LocalAddress(link.index(), address.address(), address.prefixLength(),
                    address.isLinkLocal() ? SCOPE_LINK : SCOPE_GLOBAL, 0));
            addRoutes(routes, link, address);
        }
        for (LearnedRouters.Prefix prefix : learned.prefixes()) {
            routes.add(onLink(link, prefix.network(), prefix.bits(), null));
        }
        for (IpAddress gateway : gateways) {
            routes.add(defaultRoute(link, gateway, STATIC_METRIC, neighbors));
        }
        for (IpAddress router : learned.routers()) {
            routes.add(defaultRoute(link, router, LEARNED_METRIC, neighbors));
        }
        return new NetworkSnapshot(generation, List.of(link), addresses, routes, neighbors.neighbors(link.index()),
                false);
    }

    private static void addRoutes(List<Route> routes, Link link, UserspaceAddress address) {
        IpAddress local = address.address();
        int bits = local.isIpv4() ? Integer.SIZE : 2 * Long.SIZE;
        routes.add(new Route(local, bits, Route.LOCAL_TABLE, Route.LOCAL, 0, local, 0, hops(link, null)));
        IpAddress network = NetworkSnapshot.network(local, address.prefixLength());
        // The route of an IPv4 subnet determines the source address. For IPv6 selection rules do.
        routes.add(onLink(link, network, address.prefixLength(), local.isIpv4() ? local : null));
        if (local.isIpv4() && address.prefixLength() <= LONGEST_PREFIX_WITH_BROADCAST) {
            IpAddress broadcast = IpAddress.ipv4(network.ipv4() | -1 >>> address.prefixLength());
            routes.add(new Route(broadcast, Integer.SIZE, Route.LOCAL_TABLE, Route.BROADCAST, 0, local, 0,
                    hops(link, null)));
        }
    }

    private static Route onLink(Link link, IpAddress network, int bits, IpAddress sourceOrNull) {
        return new Route(network, bits, Route.MAIN_TABLE, Route.UNICAST, 0, sourceOrNull, 0, hops(link, null));
    }

    private static Route defaultRoute(Link link, IpAddress gateway, long usualMetric, NeighborCache neighbors) {
        long metric = neighbors.isDead(gateway) ? DEAD_METRIC + usualMetric : usualMetric;
        return new Route(gateway.isIpv4() ? IpAddress.ANY_IPV4 : IpAddress.ANY_IPV6, 0, Route.MAIN_TABLE,
                Route.UNICAST, metric, null, 0, hops(link, gateway));
    }

    private static List<Route.NextHop> hops(Link link, IpAddress gatewayOrNull) {
        return List.of(new Route.NextHop(link.index(), gatewayOrNull));
    }
}
