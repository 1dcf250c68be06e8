package io.rdmaraw.host;

import io.rdmaraw.loop.TokenBucket;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.NetworkSnapshot;

/**
 * The ways between two addresses that were found last, for a host that has to ask its kernel for each: a system call,
 * which costs more than all else of a segment. Each pair has one place. For one loop.
 *
 * <p>A sender can use ever other addresses, and need not have them: each reply would be another question. So for
 * replies to unknown senders the kernel is asked at a bounded rate. An answer takes 1.2 us of the processor, or more
 * where there are many rules, so that is about a twentieth of the loop's time.
 */
final class RouteCache {
    private static final int PLACES = 4096;
    /** The golden ratio as a fraction of 2^32: spreads hash codes that differ in few bits. */
    private static final int SPREAD = 0x9e37_79b9;
    private static final int REPLIES_AT_ONCE = 1024;
    private static final long REPLY_INTERVAL_NANOS = 20_000;
    private static final int SHIFT = Integer.SIZE - Integer.numberOfTrailingZeros(PLACES);

    /** The kernel is asked again so often for a marked sender without a way: it may have failed to answer. */
    private static final long NO_WAY_NANOS = 1_000_000_000L;

    /**
     * @param foundNanos when
     * @param pathOrNull null when there is no way
     */
    private record Found(long generation, IpAddress source, IpAddress target, int mark, long foundNanos,
            NetworkSnapshot.Path pathOrNull) {
    }

    private final IpHost host;
    /** Made when it is needed: most hosts have no policy rules. */
    private Found[] places;
    private final TokenBucket replies = new TokenBucket(REPLIES_AT_ONCE, REPLY_INTERVAL_NANOS);

    RouteCache(IpHost host) {
        this.host = host;
    }

    /**
     * Returns the way from an address to another, or null when there is none.
     *
     * @param mark the sender's {@code SO_MARK}, 0 for none
     */
    NetworkSnapshot.Path path(NetworkSnapshot snapshot, IpAddress target, IpAddress source, int mark, long nowNanos) {
        if (!snapshot.hasPolicyRules()) {
            return host.path(snapshot, target, source, mark);
        }
        int place = place(target, source, mark);
        if (!isFound(place, snapshot, target, source, mark, nowNanos)) {
            places[place] = new Found(snapshot.generation(), source, target, mark, nowNanos,
                    host.path(snapshot, target, source, mark));
        }
        return places[place].pathOrNull;
    }

    /** Returns whether the way of a reply to an unknown sender is known, or may be asked for at this time. */
    boolean knowsOrMayAsk(NetworkSnapshot snapshot, IpAddress target, IpAddress source, int mark, long nowNanos) {
        return !snapshot.hasPolicyRules() || isFound(place(target, source, mark), snapshot, target, source, mark,
                        nowNanos)
                || replies.take(nowNanos) == 0;
    }

    private int place(IpAddress target, IpAddress source, int mark) {
        if (places == null) {
            places = new Found[PLACES];
        }
        return ((target.hashCode() * 31 + source.hashCode()) * 31 + mark) * SPREAD >>> SHIFT;
    }

    private boolean isFound(int place, NetworkSnapshot snapshot, IpAddress target, IpAddress source, int mark,
            long nowNanos) {
        Found found = places[place];
        return found != null && found.generation == snapshot.generation() && found.mark == mark
                && found.source.equals(source) && found.target.equals(target)
                && (found.pathOrNull != null || mark == 0 || nowNanos - found.foundNanos < NO_WAY_NANOS);
    }
}
