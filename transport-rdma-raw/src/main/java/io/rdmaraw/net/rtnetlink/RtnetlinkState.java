package io.rdmaraw.net.rtnetlink;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.ReversePathFilters;
import io.rdmaraw.net.Route;
import io.rdmaraw.net.RouteTables;

import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;

/** The state of the kernel's network, built from rtnetlink messages. Not thread-safe. */
final class RtnetlinkState {
    private record NeighborKey(int linkIndex, IpAddress address) {
    }

    private record AddressKey(int linkIndex, IpAddress address, int prefixLength) {
    }

    private final Map<Integer, Link> links = new LinkedHashMap<>();
    private final SequencedMap<AddressKey, LocalAddress> addresses = new LinkedHashMap<>();
    private final RouteTables routes = new RouteTables();
    /** IPv6 routes that apply only to packets from one source prefix. */
    private final Set<Route> sourceRoutes = new HashSet<>();
    private final Map<Integer, Integer> filters = new HashMap<>();
    private final Map<NeighborKey, Neighbor> neighbors = new HashMap<>();
    /** Policy rules other than the default ones. */
    private final Set<PolicyRule> rules = new HashSet<>();
    /** Set when anything except neighbours has changed. */
    private boolean changed;
    private boolean neighborsChanged;
    /** Set when the kernel may have removed routes without a notification. */
    private boolean routesOutdated;
    private long routeGeneration;

    void clear() {
        links.clear();
        addresses.clear();
        clearRoutes();
        neighbors.clear();
        rules.clear();
        filters.clear();
        changed = true;
    }

    /** Removes all routes before they are read again. */
    void clearRoutes() {
        routes.clear();
        sourceRoutes.clear();
        routesOutdated = false;
        changed = true;
    }

    /** Returns whether the routes must be read again. */
    boolean areRoutesOutdated() {
        return routesOutdated;
    }

    /** Marks the routes as outdated after a change that the kernel does not report for each affected route. */
    void setRoutesOutdated() {
        routesOutdated = true;
    }

    /** Returns whether paths may have changed since the last call. */
    boolean testAndClearChanged() {
        boolean was = changed || neighborsChanged;
        routeGeneration += changed ? 1 : 0;
        changed = false;
        neighborsChanged = false;
        return was;
    }

    /**
     * Adds or updates a link. A link that goes down loses its routes, which the kernel reports only for IPv6
     * ({@code fib_sync_down_dev}).
     */
    void add(Link link) {
        Link before = links.put(link.index(), link);
        changed |= !link.equals(before);
        routesOutdated |= before != null && before.isEnabled() && !link.isEnabled();
    }

    void remove(Link link) {
        boolean known = links.remove(link.index()) != null;
        changed |= known;
        routesOutdated |= known;
        filters.remove(link.index());
    }

    /**
     * Adds an address at its position in the kernel's list, which decides between equally good source
     * addresses. A new IPv6 address precedes existing ones; a new IPv4 address follows them.
     *
     * @param listed whether the message is part of a dump, and not a notification of a new address
     */
    void add(LocalAddress address, boolean listed) {
        AddressKey key = key(address);
        if (!listed && !address.address().isIpv4() && !addresses.containsKey(key)) {
            addresses.putFirst(key, address);
            changed = true;
        } else {
            changed |= !address.equals(addresses.put(key, address));
        }
    }

    /**
     * Removes an address. The kernel does not report that it also removes the routes with this preferred source
     * ({@code fib_sync_down_addr}).
     */
    void remove(LocalAddress address) {
        boolean known = addresses.remove(key(address)) != null;
        changed |= known;
        routesOutdated |= known && address.address().isIpv4();
    }

    private static AddressKey key(LocalAddress address) {
        return new AddressKey(address.linkIndex(), address.address(), address.prefixLength());
    }

    void add(Route route, Route.Placement placement) {
        if (route.origin().sourcePrefixLength() > 0) {
            sourceRoutes.add(route);
            changed = true;
        } else if (RouteTables.isSearched(route)) {
            routes.add(route, placement);
            changed = true;
        }
        changed |= queriesKernel();
    }

    /** If the table only has routes in a different form under the same key, the routes must be read again. */
    void remove(Route route) {
        if (route.origin().sourcePrefixLength() > 0) {
            changed |= sourceRoutes.removeIf(other -> other.hasKeyOf(route)
                    && other.nextHops().equals(route.nextHops()));
        } else if (RouteTables.isSearched(route)) {
            boolean known = routes.remove(route);
            changed |= known;
            routesOutdated |= !known && routes.has(route);
        }
        changed |= queriesKernel();
    }

    private boolean queriesKernel() {
        return !rules.isEmpty() || !sourceRoutes.isEmpty();
    }

    /** Sets {@code rp_filter} of a link or of all links. */
    void filter(int linkIndex, int mode) {
        Integer before = filters.put(linkIndex, mode);
        changed |= before == null || before != mode;
    }

    void add(PolicyRule rule) {
        if (!rule.isStandard() && rules.add(rule)) {
            routes.searchLocalTableFirst();
            changed = true;
        }
    }

    void remove(PolicyRule rule) {
        changed |= rules.remove(rule);
    }

    void add(Neighbor neighbor) {
        Neighbor before = neighbors.put(new NeighborKey(neighbor.linkIndex(), neighbor.address()), neighbor);
        // For example, the transition from reachable to stale changes no path.
        neighborsChanged |= before == null || before.mac() != neighbor.mac()
                || before.isResolved() != neighbor.isResolved()
                || (before.state() & Neighbor.FAILED) != (neighbor.state() & Neighbor.FAILED);
    }

    void remove(Neighbor neighbor) {
        neighborsChanged |= neighbors.remove(new NeighborKey(neighbor.linkIndex(), neighbor.address())) != null;
    }

    NetworkSnapshot snapshot(long generation) {
        return new NetworkSnapshot(generation, routeGeneration, List.copyOf(links.values()),
                List.copyOf(addresses.values()), routes.copy(), List.copyOf(neighbors.values()), queriesKernel(),
                new ReversePathFilters(Map.copyOf(filters)));
    }
}
