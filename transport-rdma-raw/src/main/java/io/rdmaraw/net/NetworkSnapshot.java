package io.rdmaraw.net;


import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The kernel's links, addresses, routes and neighbours at one time. Immutable, so that all loops read it without locks;
 * lookups cost a hash probe per prefix length in use.
 */
public final class NetworkSnapshot {
    private record Prefix(IpAddress network, int bits) {
    }

    private record Hop(int linkIndex, IpAddress address) {
    }

    private static final int MAPPED_BITS = 96;

    private final long generation;
    private final List<Link> links;
    private final List<LocalAddress> addresses;
    private final List<Route> routes;
    private final boolean policyRules;
    private final Map<Integer, Link> linksByIndex = new HashMap<>();
    private final Map<Hop, Neighbor> neighbors = new HashMap<>();
    /** Those that mean all hosts of a subnet, ascending. */
    private final int[] broadcasts;
    /** By descending number of bits, IPv4 counted in the mapped form; within a prefix the lowest metric only. */
    private final TreeMap<Integer, Map<Prefix, Route>> byPrefixLength =
            new TreeMap<>((first, second) -> Integer.compare(second, first));

    public NetworkSnapshot(long generation, List<Link> links, List<LocalAddress> addresses, List<Route> routes,
                    List<Neighbor> neighbors, boolean policyRules) {
        this.generation = generation;
        this.links = links;
        this.addresses = addresses;
        this.routes = routes;
        this.policyRules = policyRules;
        links.forEach(link -> linksByIndex.put(link.index(), link));
        neighbors.forEach(neighbor -> this.neighbors.put(new Hop(neighbor.linkIndex(), neighbor.address()), neighbor));
        routes.forEach(this::index);
        broadcasts = routes.stream().filter(route -> route.type() == Route.BROADCAST && route.destination().isIpv4()
                && route.prefixLength() == Integer.SIZE).mapToInt(route -> route.destination().ipv4()).sorted()
                .distinct().toArray();
    }

    private void index(Route route) {
        int bits = mappedBits(route.destination(), route.prefixLength());
        byPrefixLength.computeIfAbsent(bits, length -> new HashMap<>())
                .merge(new Prefix(masked(route.destination(), bits), bits), route, NetworkSnapshot::better);
    }

    /** The local table is looked at before the main one; then the metric decides. */
    private static Route better(Route first, Route second) {
        if (first.table() != second.table()) {
            return first.table() == Route.LOCAL_TABLE ? first : second;
        }
        return first.metric() <= second.metric() ? first : second;
    }

    private static int mappedBits(IpAddress address, int bits) {
        return address.isIpv4() ? MAPPED_BITS + bits : bits;
    }

    private static IpAddress masked(IpAddress address, int bits) {
        long highMask = bits >= Long.SIZE ? -1 : bits == 0 ? 0 : -1L << Long.SIZE - bits;
        long lowMask = bits <= Long.SIZE ? 0 : bits == 2 * Long.SIZE ? -1 : -1L << 2 * Long.SIZE - bits;
        return new IpAddress(address.high() & highMask, address.low() & lowMask);
    }

    /** Returns the network that an address is in: the host bits zero. */
    public static IpAddress network(IpAddress address, int prefixLength) {
        return masked(address, mappedBits(address, prefixLength));
    }

    /** Returns whether two addresses of one version are in the same subnet. */
    public static boolean samePrefix(IpAddress first, IpAddress second, int prefixLength) {
        return network(first, prefixLength).equals(network(second, prefixLength));
    }

    /** Returns a number that differs between snapshots. */
    public long generation() {
        return generation;
    }

    /** Returns all interfaces. */
    public List<Link> links() {
        return links;
    }

    /** Returns all addresses. */
    public List<LocalAddress> addresses() {
        return addresses;
    }

    /** Returns the routes of the main and the local table. */
    public List<Route> routes() {
        return routes;
    }

    /**
     * Returns whether the host chooses routing tables by rules of its own ({@code ip rule}), so that {@link #path} may
     * find another way than the kernel: then ask for the route by {@code RouteQuery}.
     */
    public boolean hasPolicyRules() {
        return policyRules;
    }

    /** Returns an interface, or null. */
    public Link link(int index) {
        return linksByIndex.get(index);
    }

    /** Returns an interface, or null. */
    public Link link(String name) {
        return links.stream().filter(link -> link.name().equals(name)).findFirst().orElse(null);
    }

    /** Returns what is known of a host on a link, or null. */
    public Neighbor neighbor(int linkIndex, IpAddress address) {
        return neighbors.get(new Hop(linkIndex, address));
    }

    /** Returns whether an IPv4 address means all hosts of a subnet. */
    public boolean isBroadcast(int ipv4) {
        return Arrays.binarySearch(broadcasts, ipv4) >= 0;
    }

    /** Returns whether packets to the address stay on this host. */
    public boolean isLocal(IpAddress address) {
        Route route = route(address);
        return route != null && route.type() == Route.LOCAL;
    }

    /**
     * Returns whether packets from other hosts to a local address can come by a link: it is the link's own, or the
     * loopback interface has it, as those addresses that routers lead here by any link.
     */
    public boolean isServedBy(Link link, IpAddress local) {
        return !local.isLoopback() && addresses().stream().filter(each -> each.address().equals(local))
                .map(each -> link(each.linkIndex()))
                .anyMatch(holder -> holder != null && (holder.index() == link.index() || holder.isLoopback()));
    }

    /** Returns the route to a destination, or null when there is none. */
    public Route route(IpAddress destination) {
        boolean ipv4 = destination.isIpv4();
        for (Map.Entry<Integer, Map<Prefix, Route>> length : byPrefixLength.entrySet()) {
            int bits = length.getKey();
            if (ipv4 && bits < MAPPED_BITS) {
                return null;
            }
            Route route = length.getValue().get(new Prefix(masked(destination, bits), bits));
            if (route != null && route.destination().isIpv4() == ipv4) {
                return route;
            }
        }
        return null;
    }

    /**
     * Returns the way to a destination, or null when there is none.
     *
     * @param flowHash chooses among several next hops, the same one for the same hash
     */
    public Path path(IpAddress destination, int flowHash) {
        return path(route(destination), destination, flowHash);
    }

    /**
     * Returns the way to a destination by a given route, or null when there is none.
     *
     * @param flowHash chooses among several next hops, the same one for the same hash
     */
    public Path path(Route routeOrNull, IpAddress destination, int flowHash) {
        if (routeOrNull == null || routeOrNull.type() != Route.UNICAST || routeOrNull.nextHops().isEmpty()) {
            return null;
        }
        List<Route.NextHop> hops = routeOrNull.nextHops();
        Route.NextHop hop = hops.get(Integer.remainderUnsigned(flowHash, hops.size()));
        Link link = link(hop.linkIndex());
        if (link == null || !link.isUp()) {
            return null;
        }
        IpAddress nextHop = hop.gatewayOrNull() == null ? destination : hop.gatewayOrNull();
        IpAddress source = routeOrNull.preferredSourceOrNull() != null ? routeOrNull.preferredSourceOrNull()
                : source(link, destination, nextHop);
        int mtuBytes = routeOrNull.mtuBytes() > 0 ? Math.min(routeOrNull.mtuBytes(), link.mtuBytes()) : link.mtuBytes();
        return source == null ? null : new Path(link, nextHop, source, mtuBytes);
    }

    /** Returns the way to a host on a link, whatever the routes say, or null when the link has no address for it. */
    public Path onLink(Link link, IpAddress destination) {
        IpAddress source = source(link, destination, destination);
        return source == null ? null : new Path(link, destination, source, link.mtuBytes());
    }

    /**
     * Chooses the address to send from, by the rules of RFC 6724 section 5 that make a difference on one link: the
     * destination itself, the right scope, not deprecated, the longest common prefix.
     */
    private IpAddress source(Link link, IpAddress destination, IpAddress nextHop) {
        boolean toLink = destination.isLinkLocal();
        LocalAddress best = null;
        int bestScore = -1;
        for (LocalAddress candidate : addresses) {
            if (candidate.linkIndex() != link.index() || candidate.address().version() != destination.version()
                    || !candidate.isUsable()) {
                continue;
            }
            int score = (candidate.isLinkLocal() == toLink ? 1 << 10 : 0) + (candidate.isDeprecated() ? 0 : 1 << 9)
                    + commonBits(candidate.address(), destination.isIpv4() ? nextHop : destination);
            if (score > bestScore) {
                best = candidate;
                bestScore = score;
            }
        }
        return best == null ? null : best.address();
    }

    private static int commonBits(IpAddress first, IpAddress second) {
        int high = Long.numberOfLeadingZeros(first.high() ^ second.high());
        return high < Long.SIZE ? high : high + Long.numberOfLeadingZeros(first.low() ^ second.low());
    }

    @Override
    public String toString() {
        return "links " + links + ", addresses " + addresses + ", routes " + routes + ", neighbors "
                + neighbors.values();
    }

    /**
     * How to reach a destination.
     *
     * @param link the interface
     * @param nextHop whose MAC address frames go to
     * @param source the address to send from
     * @param mtuBytes largest IP packet
     */
    public record Path(Link link, IpAddress nextHop, IpAddress source, int mtuBytes) {
    }
}
