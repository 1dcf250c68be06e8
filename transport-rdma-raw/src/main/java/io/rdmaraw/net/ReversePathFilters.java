package io.rdmaraw.net;

import java.util.Map;

/**
 * The kernel's reverse path filters for IPv4, {@code rp_filter} (RFC 3704). Immutable.
 *
 * @param byLink settings by link index; {@link #ALL} is the key of the setting for all links
 */
public record ReversePathFilters(Map<Integer, Integer> byLink) {
    /** The key of the setting for all links ({@code NETCONFA_IFINDEX_ALL}). */
    public static final int ALL = -1;
    /** No reverse path filters. */
    public static final ReversePathFilters OFF = new ReversePathFilters(Map.of());
    private static final int STRICT = 1;

    /** Returns whether a link accepts a packet only if replies to its source would leave on the same link. */
    public boolean isStrict(int linkIndex) {
        return Math.max(byLink.getOrDefault(ALL, 0), byLink.getOrDefault(linkIndex, 0)) == STRICT;
    }
}
