package io.rdmaraw.net;

import java.util.ArrayList;
import java.util.List;

/**
 * The routes to one prefix in one table, in the order of the kernel (the fib alias list of IPv4, the leaf of an
 * IPv6 node). The first suitable route is used. Immutable.
 */
final class RouteList {
    static final RouteList EMPTY = new RouteList(new Route[0]);

    private final Route[] routes;

    private RouteList(Route[] routes) {
        this.routes = routes;
    }

    int size() {
        return routes.length;
    }

    Route get(int index) {
        return routes[index];
    }

    /** Returns a list with a new route at the position that the kernel would choose ({@code fib_table_insert}). */
    RouteList with(Route added, Route.Placement placement) {
        if (routes.length == 0) {
            return new RouteList(new Route[] {added});
        }
        List<Route> changed = new ArrayList<>(List.of(routes));
        if (added.destination().isIpv4()) {
            addIpv4(changed, added, placement);
        } else {
            addIpv6(changed, added, placement);
        }
        return new RouteList(changed.toArray(Route[]::new));
    }

    /** Adds an IPv4 route. By default, it precedes routes with the same key. A route already in the list is moved. */
    private static void addIpv4(List<Route> list, Route added, Route.Placement placement) {
        int first = firstNotBefore(list, added);
        boolean replaces = placement == Route.Placement.REPLACE && first < list.size()
                && list.get(first).hasKeyOf(added);
        if (replaces) {
            list.set(first, added);
        }
        for (int i = list.size() - 1; i >= 0; i--) {
            if (list.get(i).isSame(added) && !(replaces && i == first)) {
                list.remove(i);
            }
        }
        if (replaces) {
            return;
        }
        int at = firstNotBefore(list, added);
        while (placement == Route.Placement.APPEND && at < list.size() && list.get(at).hasKeyOf(added)) {
            at++;
        }
        list.add(at, added);
    }

    /** Returns the position of a route: a higher TOS comes first, then the lower metric. */
    private static int firstNotBefore(List<Route> list, Route added) {
        int at = 0;
        while (at < list.size() && isBefore(list.get(at), added)) {
            at++;
        }
        return at;
    }

    private static boolean isBefore(Route route, Route added) {
        int tos = route.origin().tos();
        return tos > added.origin().tos() || tos == added.origin().tos() && route.metric() < added.metric();
    }

    /**
     * A new route follows those with the same metric ({@code fib6_add_rt2node}). Routes through gateways form
     * one route with several next hops, all of which are in the message.
     */
    private static void addIpv6(List<Route> list, Route added, Route.Placement placement) {
        int replaced = placement == Route.Placement.REPLACE ? replacedIpv6(list, added) : -1;
        if (replaced >= 0) {
            list.set(replaced, added);
        }
        int place = replaced;
        for (int i = list.size() - 1; i >= 0; i--) {
            Route other = list.get(i);
            if (i != replaced && other.hasKeyOf(added) && other.type() == added.type()
                    && added.nextHops().containsAll(other.nextHops())) {
                list.remove(i);
                place = i;
                replaced -= i < replaced ? 1 : 0;
            }
        }
        if (replaced >= 0) {
            return;
        }
        if (place < 0) {
            place = 0;
            while (place < list.size() && list.get(place).metric() <= added.metric()) {
                place++;
            }
        }
        list.add(place, added);
    }

    /** Returns the index of the route that the kernel replaces, preferably one of the same kind, or -1. */
    private static int replacedIpv6(List<Route> list, Route added) {
        int any = -1;
        for (int i = 0; i < list.size(); i++) {
            if (list.get(i).hasKeyOf(added)) {
                if (list.get(i).qualifiesForEcmp() == added.qualifiesForEcmp()) {
                    return i;
                }
                any = any < 0 ? i : any;
            }
        }
        return any;
    }

    /**
     * Returns a list without a route or without some of its next hops. Returns this list if it does not contain
     * the route.
     */
    RouteList without(Route removed) {
        for (int i = 0; i < routes.length; i++) {
            Route route = routes[i];
            if (route.isSame(removed)) {
                return replaced(i, null);
            }
            if (!route.destination().isIpv4() && route.hasKeyOf(removed) && route.type() == removed.type()
                    && !removed.nextHops().isEmpty() && route.nextHops().containsAll(removed.nextHops())) {
                List<Route.NextHop> left = new ArrayList<>(route.nextHops());
                left.removeAll(removed.nextHops());
                return replaced(i, left.isEmpty() ? null : route.withNextHops(List.copyOf(left)));
            }
        }
        return this;
    }

    private RouteList replaced(int index, Route byOrNull) {
        List<Route> changed = new ArrayList<>(List.of(routes));
        if (byOrNull == null) {
            changed.remove(index);
        } else {
            changed.set(index, byOrNull);
        }
        return changed.isEmpty() ? EMPTY : new RouteList(changed.toArray(Route[]::new));
    }
}
