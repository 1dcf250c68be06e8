package io.rdmaraw.net;

import java.util.List;

/**
 * The routes of one table and IP version by prefix, a path-compressed binary trie. Only one thread may write.
 * Copying is free: a copy shares the nodes, and the writer replaces shared nodes instead of changing them.
 */
final class RouteTrie {
    /** Selects a route among those to one prefix. */
    interface Choice {
        /** Returns a route, or null if none is suitable and a shorter prefix should be tried. */
        Route of(RouteList routes);
    }

    private static final class Node {
        final long high;
        final long low;
        /** Prefix length. IPv4 prefixes include the 96 bits of the IPv4-mapped form. */
        final int bits;
        /** Nodes of an earlier epoch are shared with copies. */
        final long epoch;
        RouteList routes;
        Node zero;
        Node one;

        Node(long high, long low, int bits, long epoch, RouteList routes) {
            this.high = high & Prefixes.highMask(bits);
            this.low = low & Prefixes.lowMask(bits);
            this.bits = bits;
            this.epoch = epoch;
            this.routes = routes;
        }

        boolean contains(long addressHigh, long addressLow) {
            return (addressHigh & Prefixes.highMask(bits)) == high && (addressLow & Prefixes.lowMask(bits)) == low;
        }

        Node child(long addressHigh, long addressLow) {
            return bits == Prefixes.BITS ? null : Prefixes.bit(addressHigh, addressLow, bits) ? one : zero;
        }
    }

    private Node root;
    private long epoch;

    private RouteTrie(Node root, long epoch) {
        this.root = root;
        this.epoch = epoch;
    }

    RouteTrie() {
        this(null, 1);
    }

    /** Returns a copy that any thread may read. Later changes of this trie do not affect it. */
    RouteTrie copy() {
        epoch++;
        return new RouteTrie(root, 0);
    }

    /** Returns the routes to a prefix. */
    RouteList get(long high, long low, int bits) {
        Node node = root;
        while (node != null && node.bits < bits && node.contains(high, low)) {
            node = node.child(high, low);
        }
        return node != null && node.bits == bits && node.contains(high, low) ? node.routes : RouteList.EMPTY;
    }

    /** Sets the routes to a prefix. */
    void put(long high, long low, int bits, RouteList routes) {
        root = put(root, high, low, bits, routes);
    }

    /** Returns the route to an address, or null if there is none. The longest prefix with a suitable route wins. */
    Route find(long high, long low, Choice choice) {
        return find(root, high, low, choice);
    }

    private static Route find(Node node, long high, long low, Choice choice) {
        if (node == null || !node.contains(high, low)) {
            return null;
        }
        Route longer = find(node.child(high, low), high, low, choice);
        return longer != null || node.routes.size() == 0 ? longer : choice.of(node.routes);
    }

    void addAllTo(List<Route> all) {
        addAllTo(root, all);
    }

    private static void addAllTo(Node node, List<Route> all) {
        if (node != null) {
            for (int i = 0; i < node.routes.size(); i++) {
                all.add(node.routes.get(i));
            }
            addAllTo(node.zero, all);
            addAllTo(node.one, all);
        }
    }

    private Node put(Node node, long high, long low, int bits, RouteList routes) {
        if (node == null) {
            return routes.size() == 0 ? null : new Node(high, low, bits, epoch, routes);
        }
        int common = Math.min(Math.min(bits, node.bits), Prefixes.commonBits(node.high, node.low, high, low));
        if (common < node.bits) {
            return routes.size() == 0 ? node : branch(node, common, high, low, bits, routes);
        }
        Node mine = writable(node);
        if (bits == node.bits) {
            mine.routes = routes;
        } else if (Prefixes.bit(high, low, node.bits)) {
            mine.one = put(node.one, high, low, bits, routes);
        } else {
            mine.zero = put(node.zero, high, low, bits, routes);
        }
        return pruned(mine);
    }

    /** Creates a parent for a node if its prefix only partially matches that of the new routes. */
    private Node branch(Node below, int common, long high, long low, int bits, RouteList routes) {
        Node above = new Node(high, low, common, epoch, common == bits ? routes : RouteList.EMPTY);
        Node beside = common == bits ? null : new Node(high, low, bits, epoch, routes);
        boolean belowIsOne = Prefixes.bit(below.high, below.low, common);
        above.one = belowIsOne ? below : beside;
        above.zero = belowIsOne ? beside : below;
        return above;
    }

    private Node writable(Node node) {
        if (node.epoch == epoch) {
            return node;
        }
        Node mine = new Node(node.high, node.low, node.bits, epoch, node.routes);
        mine.zero = node.zero;
        mine.one = node.one;
        return mine;
    }

    private static Node pruned(Node node) {
        if (node.routes.size() > 0 || node.zero != null && node.one != null) {
            return node;
        }
        return node.zero != null ? node.zero : node.one;
    }
}
