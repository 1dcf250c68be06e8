package io.rdmaraw.host;

import io.rdmaraw.loop.TokenBucket;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.NetworkSnapshot;

/**
 * Cache of recent paths between two addresses, for a host with policy routing rules. Such a host must query its kernel
 * for each path. That is a system call and costs more than the rest of the processing of a segment. Without policy
 * rules nothing is cached. The cache is direct-mapped by the addresses and the mark; a change of the routes invalidates
 * it. Used on one loop only.
 *
 * <p>A sender may forge a different address for each packet, and each reply would then cause a query. So the queries
 * for replies to unknown senders are limited in rate. A query takes about 1.2 us, or more if there are many policy
 * rules. At the permitted rate the queries use about a twentieth of the loop's time.
 */
final class RouteCache {
    private static final int PLACES = 4096;
    /** The golden ratio as a fraction of 2^32. Distributes hash codes that differ in few bits. */
    private static final int SPREAD = 0x9e37_79b9;
    private static final int REPLIES_AT_ONCE = 1024;
    private static final long REPLY_INTERVAL_NANOS = 20_000;
    private static final int SHIFT = Integer.SIZE - Integer.numberOfTrailingZeros(PLACES);

    /** Lifetime of a negative result for a marked sender, because the kernel may have failed to answer. */
    private static final long NEGATIVE_LIFETIME_NANOS = 1_000_000_000L;

    /**
     * @param foundNanos time of the query
     * @param pathOrNull null if there is no path
     */
    private record CachedRoute(long routeGeneration, IpAddress source, IpAddress target, int mark, long foundNanos,
            NetworkSnapshot.Path pathOrNull) {
    }

    private final IpHost host;
    /** Created on first use, because most hosts have no policy rules. */
    private CachedRoute[] places;
    private final TokenBucket replies = new TokenBucket(REPLIES_AT_ONCE, REPLY_INTERVAL_NANOS);

    RouteCache(IpHost host) {
        this.host = host;
    }

    /**
     * Returns the path from one address to another; null if there is none. With policy rules, queries the kernel if
     * the path is not cached.
     *
     * @param mark {@code SO_MARK} of the sender; 0 if unset
     * @param preferredLink the link to prefer if a route has several next hops
     */
    NetworkSnapshot.Path path(NetworkSnapshot snapshot, IpAddress target, IpAddress source, int mark, int preferredLink,
            long nowNanos) {
        if (!snapshot.hasPolicyRules()) {
            return host.path(snapshot, target, source, mark, preferredLink);
        }
        int place = place(target, source, mark);
        if (!isFound(place, snapshot, target, source, mark, nowNanos)) {
            places[place] = new CachedRoute(snapshot.routeGeneration(), source, target, mark, nowNanos,
                    host.path(snapshot, target, source, mark, preferredLink));
        }
        return places[place].pathOrNull;
    }

    /**
     * Returns whether the path of a reply to an unknown sender is cached, or may be queried now within the rate limit.
     */
    boolean isCachedOrMayQuery(NetworkSnapshot snapshot, IpAddress target, IpAddress source, int mark, long nowNanos) {
        return !snapshot.hasPolicyRules() || isFound(place(target, source, mark), snapshot, target, source, mark,
                        nowNanos)
                || replies.take(nowNanos) == 0;
    }

    private int place(IpAddress target, IpAddress source, int mark) {
        if (places == null) {
            places = new CachedRoute[PLACES];
        }
        return ((target.hashCode() * 31 + source.hashCode()) * 31 + mark) * SPREAD >>> SHIFT;
    }

    private boolean isFound(int place, NetworkSnapshot snapshot, IpAddress target, IpAddress source, int mark,
            long nowNanos) {
        CachedRoute found = places[place];
        return found != null && found.routeGeneration == snapshot.routeGeneration() && found.mark == mark
                && found.source.equals(source) && found.target.equals(target)
                && (found.pathOrNull != null || mark == 0 || nowNanos - found.foundNanos < NEGATIVE_LIFETIME_NANOS);
    }
}
