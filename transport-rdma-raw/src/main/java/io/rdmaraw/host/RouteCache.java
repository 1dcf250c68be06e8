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
    private static final int ENTRIES = 4096;
    /** The golden ratio as a fraction of 2^32. Distributes hash codes that differ in few bits. */
    private static final int HASH_MULTIPLIER = 0x9e37_79b9;
    private static final int REPLY_BURST = 1024;
    private static final long REPLY_INTERVAL_NANOS = 20_000;
    private static final int SHIFT = Integer.SIZE - Integer.numberOfTrailingZeros(ENTRIES);

    /** Lifetime of a negative result for a marked sender, because the kernel may have failed to answer. */
    private static final long NEGATIVE_LIFETIME_NANOS = 1_000_000_000L;

    /**
     * @param queriedNanos time of the query
     * @param pathOrNull null if there is no path
     */
    private record CachedRoute(long routeGeneration, IpAddress source, IpAddress target, int mark, long queriedNanos,
            NetworkSnapshot.Path pathOrNull) {
    }

    private final IpHost host;
    /** Created on first use, because most hosts have no policy rules. */
    private CachedRoute[] entries;
    private final TokenBucket replyLimiter = new TokenBucket(REPLY_BURST, REPLY_INTERVAL_NANOS);

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
        int index = indexOf(target, source, mark);
        if (!isCached(index, snapshot, target, source, mark, nowNanos)) {
            entries[index] = new CachedRoute(snapshot.routeGeneration(), source, target, mark, nowNanos,
                    host.path(snapshot, target, source, mark, preferredLink));
        }
        return entries[index].pathOrNull;
    }

    /**
     * Returns whether the path of a reply to an unknown sender is cached, or may be queried now within the rate limit.
     */
    boolean acquireReplyLookup(NetworkSnapshot snapshot, IpAddress target, IpAddress source, int mark, long nowNanos) {
        return !snapshot.hasPolicyRules() || isCached(indexOf(target, source, mark), snapshot, target, source, mark,
                        nowNanos)
                || replyLimiter.acquire(nowNanos) == 0;
    }

    private int indexOf(IpAddress target, IpAddress source, int mark) {
        if (entries == null) {
            entries = new CachedRoute[ENTRIES];
        }
        return ((target.hashCode() * 31 + source.hashCode()) * 31 + mark) * HASH_MULTIPLIER >>> SHIFT;
    }

    private boolean isCached(int index, NetworkSnapshot snapshot, IpAddress target, IpAddress source, int mark,
            long nowNanos) {
        CachedRoute entry = entries[index];
        return entry != null && entry.routeGeneration == snapshot.routeGeneration() && entry.mark == mark
                && entry.source.equals(source) && entry.target.equals(target)
                && (entry.pathOrNull != null || mark == 0 || nowNanos - entry.queriedNanos < NEGATIVE_LIFETIME_NANOS);
    }
}
