package io.rdmaraw.net;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The kernel's links, addresses, routes and neighbours at one point in time. Immutable, so that all loops can
 * read it without locks.
 */
public final class NetworkSnapshot {
    /** Represents the absence of a link in place of its index. */
    public static final int NO_LINK = 0;
    /** {@code RT_SCOPE_UNIVERSE} and {@code RT_SCOPE_LINK}. */
    private static final int SCOPE_GLOBAL = 0;
    private static final int SCOPE_LINK = 253;

    private record Hop(int linkIndex, IpAddress address) {
    }

    private final long generation;
    private final long routeGeneration;
    private final List<Link> links;
    private final List<LocalAddress> addresses;
    private final RouteTables routes;
    private final boolean hasPolicyRules;
    private final ReversePathFilters filters;
    private final SourceAddressSelector sourceSelector;
    private final Map<Integer, Link> linksByIndex = new HashMap<>();
    private final Map<Hop, Neighbor> neighbors = new HashMap<>();
    private final RouteTrie.Choice alive = this::firstAlive;
    private final RouteTrie.Choice reachable = this::bestReachable;

    /**
     * @param routeGeneration a number that changes with everything except neighbours
     * @param routes          a copy owned by this snapshot
     */
    public NetworkSnapshot(long generation, long routeGeneration, List<Link> links, List<LocalAddress> addresses,
                    RouteTables routes, List<Neighbor> neighbors, boolean hasPolicyRules, ReversePathFilters filters) {
        this.generation = generation;
        this.routeGeneration = routeGeneration;
        this.links = links;
        this.addresses = addresses;
        sourceSelector = new SourceAddressSelector(links, addresses);
        this.routes = routes;
        this.hasPolicyRules = hasPolicyRules;
        this.filters = filters;
        links.forEach(link -> linksByIndex.put(link.index(), link));
        neighbors.forEach(neighbor -> this.neighbors.put(new Hop(neighbor.linkIndex(), neighbor.address()), neighbor));
    }

    public NetworkSnapshot(long generation, List<Link> links, List<LocalAddress> addresses, List<Route> routes,
                    List<Neighbor> neighbors, boolean hasPolicyRules) {
        this(generation, generation, links, addresses, tables(routes), neighbors, hasPolicyRules,
                ReversePathFilters.OFF);
    }

    private static RouteTables tables(List<Route> routes) {
        RouteTables tables = new RouteTables();
        routes.forEach(route -> tables.add(route, Route.Placement.APPEND));
        return tables;
    }

    /** Returns the network of an address: its host bits are cleared. */
    public static IpAddress network(IpAddress address, int prefixLength) {
        return Prefixes.masked(address, Prefixes.mappedBits(address, prefixLength));
    }

    /** Returns whether two addresses of one IP version have a common prefix of the given length. */
    public static boolean samePrefix(IpAddress first, IpAddress second, int prefixLength) {
        return network(first, prefixLength).equals(network(second, prefixLength));
    }

    /** Returns a number that differs between snapshots. */
    public long generation() {
        return generation;
    }

    /** Returns a number that differs between snapshots with different links, addresses, routes or rules. */
    public long routeGeneration() {
        return routeGeneration;
    }

    /** Returns all links. */
    public List<Link> links() {
        return links;
    }

    /** Returns all addresses. */
    public List<LocalAddress> addresses() {
        return addresses;
    }

    /** Returns a new list of the routes in the standard tables. */
    public List<Route> routes() {
        return routes.all();
    }

    /** Returns the kernel's reverse path filter settings. */
    public ReversePathFilters reversePathFilters() {
        return filters;
    }

    /**
     * Returns whether the host has its own policy rules ({@code ip rule}). If so, {@link #path} may find
     * another route than the kernel, and {@code RouteQuery} must be used.
     */
    public boolean hasPolicyRules() {
        return hasPolicyRules;
    }

    /** Returns a link, or null if it does not exist. */
    public Link link(int index) {
        return linksByIndex.get(index);
    }

    /** Returns a link, or null if it does not exist. */
    public Link link(String name) {
        return links.stream().filter(link -> link.name().equals(name)).findFirst().orElse(null);
    }

    /** Returns the neighbour entry of a host on a link, or null if there is none. */
    public Neighbor neighbor(int linkIndex, IpAddress address) {
        return neighbors.get(new Hop(linkIndex, address));
    }

    /** Returns whether an IPv4 address is the broadcast address of a subnet. */
    public boolean isBroadcast(int ipv4) {
        IpAddress address = IpAddress.ipv4(ipv4);
        return routes.isBroadcast(address.high(), address.low());
    }

    /** Returns whether packets to an address are delivered locally. */
    public boolean isLocal(IpAddress address) {
        Route route = route(address);
        return route != null && route.type() == Route.LOCAL;
    }

    /**
     * Returns whether an address is invalid as the source of a packet from another host: it is a local address
     * or the broadcast address of a subnet ({@code fib_validate_source}).
     */
    public boolean isMartianSource(long high, long low) {
        Route route = routes.findLocal(high, low, alive);
        return route != null && (route.type() == Route.LOCAL || route.type() == Route.BROADCAST);
    }

    /**
     * Returns whether packets from other hosts to a local address may arrive on a link. This holds if the address
     * belongs to the link or to the loopback interface. Routers may forward packets for addresses of the loopback
     * interface to any link.
     */
    public boolean isServedBy(Link link, IpAddress local) {
        return !local.isLoopback() && addresses().stream().filter(each -> each.address().equals(local))
                .map(each -> link(each.linkIndex()))
                .anyMatch(holder -> holder != null && (holder.index() == link.index() || holder.isLoopback()));
    }

    /** Returns whether the kernel can solicit IPv6 neighbours on a link without a packet to send. */
    public boolean hasLinkLocalAddress(int linkIndex) {
        return addresses.stream().anyMatch(each -> each.linkIndex() == linkIndex && each.address().isLinkLocal()
                && each.isUsable());
    }

    /** Returns the route to a destination, or null if there is none. */
    public Route route(IpAddress destination) {
        return routes.find(destination, destination.isIpv4() ? alive : reachable, alive);
    }

    /** Like the kernel, skips routes for a single type of service, and routes that have only dead next hops. */
    private Route firstAlive(RouteList candidates) {
        for (int i = 0; i < candidates.size(); i++) {
            Route route = candidates.get(i);
            if (route.origin().tos() == 0 && (route.type() != Route.UNICAST || hasLiveHop(route))) {
                return route;
            }
        }
        return null;
    }

    private boolean hasLiveHop(Route route) {
        for (Route.NextHop hop : route.nextHops()) {
            if (isEnabled(hop)) {
                return true;
            }
        }
        return false;
    }

    private boolean isEnabled(Route.NextHop hop) {
        Link link = linksByIndex.get(hop.linkIndex());
        return link != null && link.isEnabled();
    }

    /**
     * Selects an IPv6 route. Among routes with the lowest metric, the preference of the router decides; routers
     * that do not answer are skipped ({@code rt6_score_route}).
     */
    private Route bestReachable(RouteList candidates) {
        Route best = null;
        for (int i = 0; i < candidates.size() && (best == null || candidates.get(i).metric() == best.metric()); i++) {
            Route route = candidates.get(i);
            if ((route.type() != Route.UNICAST || hasReachableHop(route))
                    && (best == null || route.origin().rank() > best.origin().rank())) {
                best = route;
            }
        }
        return best;
    }

    private boolean hasReachableHop(Route route) {
        for (Route.NextHop hop : route.nextHops()) {
            // The kernel also uses the route of a link without a carrier.
            if (isEnabled(hop) && !isSilent(hop)) {
                return true;
            }
        }
        return false;
    }

    private boolean isUsable(Route.NextHop hop) {
        Link link = linksByIndex.get(hop.linkIndex());
        return link != null && link.isUp();
    }

    /** Returns whether the router of a next hop does not answer. */
    private boolean isSilent(Route.NextHop hop) {
        Neighbor router = hop.gatewayOrNull() == null ? null : neighbor(hop.linkIndex(), hop.gatewayOrNull());
        return router != null && (router.state() & Neighbor.FAILED) != 0;
    }

    /** Returns whether the MAC address of an IPv6 router is unknown, and its link has no address to solicit it from. */
    private boolean isOutOfReach(Route.NextHop hop) {
        Neighbor router = neighbor(hop.linkIndex(), hop.gatewayOrNull());
        return (router == null || !router.isResolved()) && addresses.stream().noneMatch(
                each -> each.linkIndex() == hop.linkIndex() && !each.address().isIpv4() && each.isUsable());
    }

    /**
     * Returns the path to a destination, or null if there is none.
     *
     * @param flowHash selects among several next hops; equal hashes select the same hop
     */
    public Path path(IpAddress destination, int flowHash) {
        return path(destination, flowHash, NO_LINK);
    }

    /**
     * Returns the path to a destination, or null if there is none.
     *
     * @param flowHash      selects among several next hops; equal hashes select the same hop
     * @param preferredLink next hops on this link take precedence; {@link #NO_LINK} for none
     */
    public Path path(IpAddress destination, int flowHash, int preferredLink) {
        return path(route(destination), destination, flowHash, preferredLink);
    }

    /**
     * Returns the path to a destination along a route, or null if there is none.
     *
     * @param flowHash      selects among several next hops; equal hashes select the same hop
     * @param preferredLink next hops on this link take precedence; {@link #NO_LINK} for none
     */
    public Path path(Route routeOrNull, IpAddress destination, int flowHash, int preferredLink) {
        if (routeOrNull == null || routeOrNull.type() != Route.UNICAST) {
            return null;
        }
        Route.NextHop hop = hop(routeOrNull, flowHash, preferredLink);
        if (hop == null) {
            return null;
        }
        Link link = link(hop.linkIndex());
        IpAddress nextHop = hop.gatewayOrNull() == null ? destination : hop.gatewayOrNull();
        IpAddress source = source(routeOrNull, hop, link, destination);
        int mtuBytes = routeOrNull.mtuBytes() > 0 ? Math.min(routeOrNull.mtuBytes(), link.mtuBytes()) : link.mtuBytes();
        return new Path(link, nextHop, source, mtuBytes, routeOrNull.advertisedMssBytes());
    }

    /** Returns one of the best next hops, or null if all are down. */
    private Route.NextHop hop(Route route, int flowHash, int preferredLink) {
        int best = 0;
        int ties = 0;
        for (Route.NextHop hop : route.nextHops()) {
            int score = score(hop, preferredLink);
            ties = score > best ? 1 : score == best ? ties + 1 : ties;
            best = Math.max(best, score);
        }
        int chosen = ties == 0 ? -1 : Integer.remainderUnsigned(flowHash, ties);
        for (Route.NextHop hop : route.nextHops()) {
            if (score(hop, preferredLink) == best && chosen-- == 0) {
                return hop;
            }
        }
        return null;
    }

    /**
     * Returns the score of a next hop. Like the kernel, skips IPv6 routers that do not answer; for IPv4, the
     * kernel does so only if configured. Also skips IPv6 routers that cannot be solicited.
     */
    private int score(Route.NextHop hop, int preferredLink) {
        if (!isUsable(hop)) {
            return -1;
        }
        boolean silent = hop.gatewayOrNull() != null && !hop.gatewayOrNull().isIpv4()
                && (isSilent(hop) || isOutOfReach(hop));
        return (silent ? 0 : 1) + (hop.linkIndex() == preferredLink ? 2 : 0);
    }

    /**
     * Returns the path to a link-local address on a link, or null if the link is down or has no link-local address:
     * without it, there is no route to {@code fe80::/64}.
     */
    public Path pathOnLink(int linkIndex, IpAddress destination) {
        Link link = link(linkIndex);
        return link != null && link.isUp() && hasLinkLocalAddress(linkIndex)
                ? new Path(link, destination, sourceSelector.ipv6(link, destination), link.mtuBytes(), 0) : null;
    }

    /**
     * Returns the source address of datagrams to a multicast or broadcast address on a link, or null if there
     * is none.
     */
    public IpAddress groupSource(Link link, IpAddress target) {
        if (!target.isIpv4()) {
            return sourceSelector.ipv6(link, target);
        }
        Route route = route(target);
        if (route != null && (route.type() == Route.UNICAST || route.type() == Route.BROADCAST)) {
            for (Route.NextHop hop : route.nextHops()) {
                if (hop.linkIndex() == link.index()) {
                    return source(route, hop, link, target);
                }
            }
        }
        IpAddress global = sourceSelector.ipv4(link, null, SCOPE_GLOBAL);
        return global != null ? global : sourceSelector.ipv4(link, null, SCOPE_LINK);
    }

    private IpAddress source(Route route, Route.NextHop hop, Link link, IpAddress destination) {
        if (route.preferredSourceOrNull() != null) {
            return route.preferredSourceOrNull();
        }
        return destination.isIpv4() ? sourceSelector.ipv4(link, hop.gatewayOrNull(), route.origin().scope())
                : sourceSelector.ipv6(link, destination);
    }

    @Override
    public String toString() {
        return "links " + links + ", addresses " + addresses + ", routes " + routes() + ", neighbors "
                + neighbors.values();
    }

    /**
     * The path to a destination.
     *
     * @param link               the outgoing link
     * @param nextHop            the neighbour that the frames are sent to
     * @param source             the source address, or null if the host has none of this IP version
     * @param mtuBytes           maximum length of an IP packet
     * @param advertisedMssBytes upper limit of the MSS to announce to peers, or 0 for none
     */
    public record Path(Link link, IpAddress nextHop, IpAddress source, int mtuBytes, int advertisedMssBytes) {
    }
}
