package io.rdmaraw.udp;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.SourceFilter;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The multicast memberships of one channel: any-source with blocked sources, or source-specific (RFC 3678). A channel
 * receives only the groups that it has joined itself. Linux by default also delivers groups that other sockets have
 * joined.
 */
final class DatagramMemberships {
    private static final class Membership {
        /** Whether the group was joined without a source. */
        private boolean anySource;
        private final Set<IpAddress> sources = new HashSet<>();
        private final Set<IpAddress> blocked = new HashSet<>();
    }

    private final Map<IpAddress, Membership> groups = new HashMap<>();

    /**
     * Joins a group; a null source means any source. Returns false if it was joined already.
     *
     * @throws IllegalArgumentException if the address is not a multicast address
     */
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

    /** Leaves a group; a null source means any source. Returns false if it was not joined. */
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

    /**
     * Blocks a source of a group that was joined for any source.
     *
     * @throws IllegalArgumentException if the group was not joined for any source
     */
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

    /** Returns the sources of a group that the channel accepts. */
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
