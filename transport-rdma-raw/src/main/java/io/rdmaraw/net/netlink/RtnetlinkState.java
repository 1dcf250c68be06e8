package io.rdmaraw.net.netlink;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.Route;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What is known of the kernel's network, as the messages build it up. Not thread-safe. */
final class RtnetlinkState {
    private record NeighborKey(int linkIndex, IpAddress address) {
    }

    private record AddressKey(int linkIndex, IpAddress address, int prefixLength) {
    }

    private final Map<Integer, Link> links = new LinkedHashMap<>();
    private final Map<AddressKey, LocalAddress> addresses = new LinkedHashMap<>();
    private final List<Route> routes = new ArrayList<>();
    private final Map<NeighborKey, Neighbor> neighbors = new HashMap<>();
    /** Those beyond the standard ones. */
    private final Set<PolicyRule> rules = new HashSet<>();
    private boolean changed;

    void clear() {
        links.clear();
        addresses.clear();
        routes.clear();
        neighbors.clear();
        rules.clear();
        changed = true;
    }

    /** Returns whether paths may have changed since this was asked last. */
    boolean takeChanged() {
        boolean was = changed;
        changed = false;
        return was;
    }

    void add(Link link) {
        changed |= !link.equals(links.put(link.index(), link));
    }

    void remove(Link link) {
        changed |= links.remove(link.index()) != null;
    }

    void add(LocalAddress address) {
        changed |= !address.equals(addresses.put(key(address), address));
    }

    void remove(LocalAddress address) {
        changed |= addresses.remove(key(address)) != null;
    }

    private static AddressKey key(LocalAddress address) {
        return new AddressKey(address.linkIndex(), address.address(), address.prefixLength());
    }

    void add(Route route) {
        if (isOfInterest(route)) {
            routes.removeIf(route::isSamePlace);
            routes.add(route);
            changed = true;
        }
        changed |= !rules.isEmpty();
    }

    void remove(Route route) {
        changed |= routes.removeIf(other -> route.isSamePlace(other)
                && (route.nextHops().isEmpty() || route.nextHops().equals(other.nextHops())));
        changed |= !rules.isEmpty();
    }

    void add(PolicyRule rule) {
        changed |= !rule.isStandard() && rules.add(rule);
    }

    void remove(PolicyRule rule) {
        changed |= rules.remove(rule);
    }

    /** Other tables take part only by policy rules; where there are some the kernel is asked for each route. */
    private static boolean isOfInterest(Route route) {
        return route.table() == Route.MAIN_TABLE || route.table() == Route.LOCAL_TABLE;
    }

    void add(Neighbor neighbor) {
        Neighbor before = neighbors.put(new NeighborKey(neighbor.linkIndex(), neighbor.address()), neighbor);
        // That a neighbour went from reachable to stale changes no path.
        changed |= before == null || before.mac() != neighbor.mac() || before.isResolved() != neighbor.isResolved()
                || (before.state() & Neighbor.FAILED) != (neighbor.state() & Neighbor.FAILED);
    }

    void remove(Neighbor neighbor) {
        changed |= neighbors.remove(new NeighborKey(neighbor.linkIndex(), neighbor.address())) != null;
    }

    NetworkSnapshot snapshot(long generation) {
        return new NetworkSnapshot(generation, List.copyOf(links.values()), List.copyOf(addresses.values()),
                List.copyOf(routes), List.copyOf(neighbors.values()), !rules.isEmpty());
    }
}
