package io.rdmaraw.net;

import java.util.ArrayList;
import java.util.List;

/**
 * The routes of the standard tables. Only one thread may write; {@link #copy} creates copies for other threads.
 *
 * <p>The kernel stores the local and main tables of IPv4 in one trie, so the longest prefix of both decides,
 * until a policy rule is added. After that, and always in IPv6, the tables are searched one after the other.
 */
public final class RouteTables {
    private static final int[] SEARCH_ORDER = {Route.LOCAL_TABLE, Route.MAIN_TABLE, Route.DEFAULT_TABLE};
    private static final int VERSIONS = 2;

    /** Indexed by IP version, then by search order. */
    private final RouteTrie[] tries;
    private boolean localTableFirst;

    public RouteTables() {
        tries = new RouteTrie[VERSIONS * SEARCH_ORDER.length];
        clear();
    }

    private RouteTables(RouteTables from) {
        tries = from.tries.clone();
        for (int i = 0; i < tries.length; i++) {
            tries[i] = from.tries[i].copy();
        }
        localTableFirst = from.localTableFirst;
    }

    /** Returns a copy of the routes that any thread may read. Later changes do not affect it. */
    public RouteTables copy() {
        return new RouteTables(this);
    }

    /** Removes all routes. */
    public void clear() {
        for (int i = 0; i < tries.length; i++) {
            tries[i] = new RouteTrie();
        }
    }

    /** Searches the local table of IPv4 before the others from now on, because the host has had a policy rule. */
    public void searchLocalTableFirst() {
        localTableFirst = true;
    }

    /** Returns whether the table of a route is searched if there are no policy rules. */
    public static boolean isSearched(Route route) {
        return route.table() == Route.MAIN_TABLE || route.table() == Route.LOCAL_TABLE
                || route.table() == Route.DEFAULT_TABLE && route.destination().isIpv4();
    }

    /** Adds a route to its table, which must be one that is searched. */
    public void add(Route route, Route.Placement placement) {
        set(route, list(route).with(route, placement));
    }

    /** Removes a route. Returns whether it existed. */
    public boolean remove(Route route) {
        RouteList before = list(route);
        RouteList after = before.without(route);
        if (after != before) {
            set(route, after);
        }
        return after != before;
    }

    /** Returns whether a route with the same key exists. */
    public boolean has(Route route) {
        RouteList routes = list(route);
        for (int i = 0; i < routes.size(); i++) {
            if (routes.get(i).hasKeyOf(route)) {
                return true;
            }
        }
        return false;
    }

    private RouteList list(Route route) {
        return trie(route).get(route.destination().high(), route.destination().low(), bits(route));
    }

    private void set(Route route, RouteList routes) {
        trie(route).put(route.destination().high(), route.destination().low(), bits(route), routes);
    }

    private RouteTrie trie(Route route) {
        return trie(route.destination().isIpv4(), Route.LOCAL_TABLE - route.table());
    }

    private RouteTrie trie(boolean ipv4, int order) {
        return tries[ipv4 ? order : SEARCH_ORDER.length + order];
    }

    private static int bits(Route route) {
        return Prefixes.mappedBits(route.destination(), route.prefixLength());
    }

    /** Returns whether a table has a broadcast route for exactly this address. */
    boolean isBroadcast(long high, long low) {
        RouteList routes = trie(true, 0).get(high, low, Prefixes.BITS);
        for (int i = 0; i < routes.size(); i++) {
            if (routes.get(i).type() == Route.BROADCAST) {
                return true;
            }
        }
        return false;
    }

    /** Returns the route to an address in the local table, or null if there is none. */
    Route findLocal(long high, long low, RouteTrie.Choice choice) {
        return trie(IpAddress.isIpv4(high, low), 0).find(high, low, choice);
    }

    /**
     * Returns the route to an address, or null if there is none.
     *
     * @param first applied to a whole table before {@code second}
     */
    Route find(IpAddress address, RouteTrie.Choice first, RouteTrie.Choice second) {
        boolean ipv4 = address.isIpv4();
        if (ipv4 && !localTableFirst) {
            Route local = find(trie(true, 0), address, first, second);
            Route main = find(trie(true, 1), address, first, second);
            Route longest = main == null || local != null && local.prefixLength() >= main.prefixLength() ? local : main;
            return isFinal(longest) ? longest : find(true, 2, address, first, second);
        }
        return find(ipv4, 0, address, first, second);
    }

    private static Route find(RouteTrie trie, IpAddress address, RouteTrie.Choice first, RouteTrie.Choice second) {
        Route route = trie.find(address.high(), address.low(), first);
        return route != null || first == second ? route : trie.find(address.high(), address.low(), second);
    }

    private Route find(boolean ipv4, int from, IpAddress address, RouteTrie.Choice first, RouteTrie.Choice second) {
        for (int order = from; order < (ipv4 ? SEARCH_ORDER.length : SEARCH_ORDER.length - 1); order++) {
            Route route = find(trie(ipv4, order), address, first, second);
            if (isFinal(route)) {
                return route;
            }
        }
        return null;
    }

    private static boolean isFinal(Route routeOrNull) {
        return routeOrNull != null && routeOrNull.type() != Route.THROW;
    }

    /** Returns all routes. */
    List<Route> all() {
        List<Route> all = new ArrayList<>();
        for (RouteTrie trie : tries) {
            trie.addAllTo(all);
        }
        return all;
    }
}
