package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.NetworkSnapshot;

/**
 * The ways between two addresses that were found last, for a host that has to ask its kernel for each: a system call,
 * which costs more than all else of a segment. Each pair has one place. For one loop.
 */
final class RouteCache {
    private static final int PLACES = 4096;
    /** The golden ratio as a fraction of 2^32: spreads hash codes that differ in few bits. */
    private static final int SPREAD = 0x9e37_79b9;
    private static final int SHIFT = Integer.SIZE - Integer.numberOfTrailingZeros(PLACES);

    /** @param pathOrNull null when there is no way */
    private record Found(long generation, IpAddress source, IpAddress target, NetworkSnapshot.Path pathOrNull) {
    }

    private final IpHost host;
    /** Made when it is needed: most hosts have no policy rules. */
    private Found[] places;

    RouteCache(IpHost host) {
        this.host = host;
    }

    /** Returns the way from an address to another, or null when there is none. */
    NetworkSnapshot.Path path(NetworkSnapshot snapshot, IpAddress target, IpAddress source) {
        if (!snapshot.hasPolicyRules()) {
            return host.path(snapshot, target, source);
        }
        if (places == null) {
            places = new Found[PLACES];
        }
        int place = (target.hashCode() * 31 + source.hashCode()) * SPREAD >>> SHIFT;
        Found found = places[place];
        if (found == null || found.generation != snapshot.generation() || !found.source.equals(source)
                || !found.target.equals(target)) {
            found = new Found(snapshot.generation(), source, target, host.path(snapshot, target, source));
            places[place] = found;
        }
        return found.pathOrNull;
    }
}
