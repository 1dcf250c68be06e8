package io.rdmaraw.host;

/**
 * The path of segments to one destination, including source and destination MAC addresses. Immutable. Valid while the
 * generation of the network is unchanged.
 *
 * @param generation generation of the network when the path was found
 * @param sourceMac source MAC address
 * @param targetMac MAC address of the next hop; 0 while it is unknown
 * @param linkMtuBytes MTU of the first link according to the route; the peer may send packets of this length, too
 * @param pathMtuBytes MTU of the whole path, as far as routers have reported it
 * @param advertisedMssBytes the route's limit for the MSS announced to the peer ({@code advmss}), or 0
 * @param hopOrNull the next hop; null if it need not be kept reachable
 * @param isReturnPath whether the next hop is the sender of the peer's frames, because the route uses another link
 */
public record TcpPath(long generation, long sourceMac, long targetMac, int linkMtuBytes, int pathMtuBytes,
                      int advertisedMssBytes, NextHop hopOrNull, boolean isReturnPath) {
    private static final int HEADERS_IPV4_BYTES = 40;
    private static final int HEADERS_IPV6_BYTES = 60;

    /** Returned instead of a path if the rate limit for lookups is reached. */
    public static final TcpPath LOOKUP_LIMITED = new TcpPath(0, 0, 0, 0, 0, null);
    /** Returned instead of a path if the route uses a link other than the device's. */
    public static final TcpPath OTHER_LINK = new TcpPath(0, 0, 0, 0, 0, null);

    /** Creates a path along a route. */
    public TcpPath(long generation, long sourceMac, long targetMac, int linkMtuBytes, int pathMtuBytes,
                   NextHop hopOrNull) {
        this(generation, sourceMac, targetMac, linkMtuBytes, pathMtuBytes, 0, hopOrNull, false);
    }

    /** Returns whether this is a path, not one of the constants above. */
    public boolean isPath() {
        return this != LOOKUP_LIMITED && this != OTHER_LINK;
    }

    /** Returns the MSS to announce to the peer (RFC 6691). */
    public int maxSegmentBytes(boolean ipv4) {
        int ofLink = linkMtuBytes - (ipv4 ? HEADERS_IPV4_BYTES : HEADERS_IPV6_BYTES);
        return advertisedMssBytes > 0 ? Math.min(advertisedMssBytes, ofLink) : ofLink;
    }

    public boolean isResolved() {
        return targetMac != 0;
    }

    /** Records that a segment uses the next hop, so that it is kept reachable. */
    public void touch() {
        if (hopOrNull != null) {
            hopOrNull.touch();
        }
    }
}
