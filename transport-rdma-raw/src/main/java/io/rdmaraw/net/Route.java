package io.rdmaraw.net;

import java.util.List;

/**
 * A route of the kernel.
 *
 * @param destination the network, host bits zero
 * @param prefixLength its bits, of 32 or 128
 * @param table the routing table: 254 main, 255 local
 * @param type {@code RTN_} number of {@code <linux/rtnetlink.h>}
 * @param metric of equal routes the one with the lowest is used
 * @param preferredSourceOrNull the address to send from
 * @param mtuBytes a limit below the link's MTU, or 0
 * @param nextHops one, or several that share the traffic; none for routes that refuse
 */
public record Route(IpAddress destination, int prefixLength, int table, int type, long metric,
                    IpAddress preferredSourceOrNull, int mtuBytes, List<NextHop> nextHops) {
    /** {@code RTN_UNICAST}. */
    public static final int UNICAST = 1;
    /** {@code RTN_LOCAL}: packets to this host. */
    public static final int LOCAL = 2;
    /** {@code RTN_BROADCAST}. */
    public static final int BROADCAST = 3;
    /** {@code RT_TABLE_MAIN}. */
    public static final int MAIN_TABLE = 254;
    /** {@code RT_TABLE_LOCAL}. */
    public static final int LOCAL_TABLE = 255;

    /**
     * A way out.
     *
     * @param linkIndex the interface
     * @param gatewayOrNull the router, or null when the destination is on the link
     */
    public record NextHop(int linkIndex, IpAddress gatewayOrNull) {
    }

    /**
     * Returns whether one of them takes the place of the other. Each link has link-local routes of its own (RFC 4007
     * section 6).
     */
    public boolean isSamePlace(Route other) {
        return table == other.table && prefixLength == other.prefixLength && metric == other.metric
                && type == other.type && destination.equals(other.destination)
                && (!destination.isLinkLocal() || isOfSameLinks(other));
    }

    private boolean isOfSameLinks(Route other) {
        return nextHops.stream().map(NextHop::linkIndex).toList()
                .equals(other.nextHops.stream().map(NextHop::linkIndex).toList());
    }
}
