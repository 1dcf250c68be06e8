package io.rdmaraw.channel;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.SourceFilter;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The multicast groups of one channel: any-source with sources blocked, or source-specific (RFC 3678). Unlike Linux by
 * default, a channel gets the datagrams of the groups it has joined itself, not of those that others have.
 */
final class DatagramMemberships {
    private static final class Membership {
        /** Joined without naming a source. */
        private boolean anySource;
        private final Set<IpAddress> sources = new HashSet<>();
        private final Set<IpAddress> blocked = new HashSet<>();
    }

    private final Map<IpAddress, Membership> groups = new HashMap<>();

    /** Joins; a null source is any source. Returns false when that was joined before. */
    boolean join(IpAddress group, IpAddress sourceOrNull) {
        if (!group.isMulticast()) {
            throw new IllegalArgumentException(group + " is not a multicast address");
        }
        Membership membership = groups.computeIfAbsent(group, g -> new Membership());
        if (sourceOrNull != null) {
            return membership.sources.add(sourceOrNull);
        }
        boolean joined = !membership.anySource;
        membership.anySource = true;
        return joined;
    }

    /** Takes a join back; returns false when there was none. */
    boolean leave(IpAddress group, IpAddress sourceOrNull) {
        Membership membership = groups.get(group);
        if (membership == null) {
            return false;
        }
        boolean left = sourceOrNull == null ? membership.anySource : membership.sources.remove(sourceOrNull);
        if (sourceOrNull == null) {
            membership.anySource = false;
            membership.blocked.clear();
        }
        if (!membership.anySource && membership.sources.isEmpty()) {
            groups.remove(group);
        }
        return left;
    }

    /** Takes no more from a source of a group that was joined for any source. */
    void block(IpAddress group, IpAddress source) {
        Membership membership = groups.get(group);
        if (membership == null || !membership.anySource) {
            throw new IllegalArgumentException("source " + source + " of group " + group
                    + " cannot be blocked: the channel has not joined the group for any source");
        }
        membership.blocked.add(source);
    }

    boolean accepts(IpAddress group, IpAddress source) {
        Membership membership = groups.get(group);
        return membership != null && (membership.anySource && !membership.blocked.contains(source)
                || membership.sources.contains(source));
    }

    /** Returns what the channel wants of a group. */
    SourceFilter filter(IpAddress group) {
        Membership membership = groups.get(group);
        if (membership == null) {
            return SourceFilter.NOTHING;
        }
        if (!membership.anySource) {
            return new SourceFilter(false, membership.sources);
        }
        Set<IpAddress> excluded = new HashSet<>(membership.blocked);
        excluded.removeAll(membership.sources);
        return new SourceFilter(true, excluded);
    }

    Set<IpAddress> groups() {
        return groups.keySet();
    }
}
