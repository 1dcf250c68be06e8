package io.rdmaraw.net;

import java.util.List;
import java.util.Objects;

/**
 * A route of the kernel.
 *
 * @param destination           the destination network; its host bits are zero
 * @param prefixLength          prefix length, up to 32 or 128
 * @param table                 routing table: 254 is main, 255 is local
 * @param type                  {@code RTN_} value of {@code <linux/rtnetlink.h>}
 * @param metric                priority among routes to the same prefix; the lowest wins
 * @param preferredSourceOrNull preferred source address, or null
 * @param mtuBytes              MTU below that of the link, or 0
 * @param advertisedMssBytes    upper limit of the MSS to announce to peers, or 0
 * @param nextHops              one next hop, several that share the traffic, or none for routes that reject
 *                              packets
 * @param origin                further attributes by which the kernel distinguishes routes to the same prefix
 */
public record Route(IpAddress destination, int prefixLength, int table, int type, long metric,
                    IpAddress preferredSourceOrNull, int mtuBytes, int advertisedMssBytes,
                    List<NextHop> nextHops, Origin origin) {
    /** {@code RTN_UNICAST}. */
    public static final int UNICAST = 1;
    /** {@code RTN_LOCAL}: the destination is this host. */
    public static final int LOCAL = 2;
    /** {@code RTN_BROADCAST}. */
    public static final int BROADCAST = 3;
    /** {@code RTN_THROW}: the lookup continues in the next table. */
    static final int THROW = 9;
    /** {@code RT_TABLE_DEFAULT}: searched after the main table, for IPv4 only. */
    public static final int DEFAULT_TABLE = 253;
    /** {@code RT_TABLE_MAIN}. */
    public static final int MAIN_TABLE = 254;
    /** {@code RT_TABLE_LOCAL}. */
    public static final int LOCAL_TABLE = 255;

    /**
     * A next hop.
     *
     * @param linkIndex     index of the outgoing link
     * @param gatewayOrNull the router, or null if the destination is on the link
     */
    public record NextHop(int linkIndex, IpAddress gatewayOrNull) {
    }

    /**
     * The position of a new route among those to the same prefix, as determined by the flags of the netlink
     * message.
     */
    public enum Placement {
        /** Default: before routes with the same key in IPv4, after routes with the same metric in IPv6. */
        CREATE,
        /** {@code NLM_F_APPEND}: after routes with the same key. */
        APPEND,
        /** {@code NLM_F_REPLACE}: replaces a route with the same key, regardless of its type. */
        REPLACE
    }

    /**
     * Attributes that distinguish routes to the same prefix with the same metric.
     *
     * @param tos                the only type of service that the route applies to, or 0 for all
     * @param sourcePrefixLength length of the source prefix that an IPv6 route applies to, or 0 for all packets
     * @param protocol           {@code RTPROT_} value of the route's creator
     * @param scope              {@code RT_SCOPE_} value
     * @param preference         preference of an advertising router (RFC 4191): 1 high, 0 medium, 3 low
     */
    public record Origin(int tos, int sourcePrefixLength, int protocol, int scope, int preference) {
        /** The origin of a route that applies to all packets. */
        public static final Origin ANY = new Origin(0, 0, 0, 0, 0);
        private static final int ROUTER_ADVERTISEMENT = 9;

        /** Returns whether the route was created by a router advertisement. */
        boolean isAdvertised() {
            return protocol == ROUTER_ADVERTISEMENT;
        }

        /** Returns the rank of the router's preference; higher is better ({@code IPV6_DECODE_PREF}). */
        int rank() {
            return preference ^ 2;
        }
    }

    /** Creates a route that applies to all packets. */
    public Route(IpAddress destination, int prefixLength, int table, int type, long metric,
                 IpAddress preferredSourceOrNull, int mtuBytes, List<NextHop> nextHops) {
        this(destination, prefixLength, table, type, metric, preferredSourceOrNull, mtuBytes, 0, nextHops,
                Origin.ANY);
    }

    /** Returns whether the kernel's key is the same, so that NLM_F_REPLACE replaces one route with the other. */
    public boolean hasKeyOf(Route other) {
        return table == other.table && prefixLength == other.prefixLength && metric == other.metric
                && origin.tos == other.origin.tos && origin.sourcePrefixLength == other.origin.sourcePrefixLength
                && destination.equals(other.destination);
    }

    /** Returns whether this is the same kernel route, possibly with other metrics such as the MTU. */
    boolean isSame(Route other) {
        return hasKeyOf(other) && type == other.type && origin.equals(other.origin)
                && nextHops.equals(other.nextHops)
                && Objects.equals(preferredSourceOrNull, other.preferredSourceOrNull);
    }

    /**
     * Returns whether IPv6 merges this route with similar ones into a multipath route
     * ({@code rt6_qualify_for_ecmp}).
     */
    boolean qualifiesForEcmp() {
        return !origin.isAdvertised() && !nextHops.isEmpty() && nextHops.getFirst().gatewayOrNull() != null;
    }

    Route withNextHops(List<NextHop> changed) {
        return new Route(destination, prefixLength, table, type, metric, preferredSourceOrNull, mtuBytes,
                advertisedMssBytes, changed, origin);
    }
}
