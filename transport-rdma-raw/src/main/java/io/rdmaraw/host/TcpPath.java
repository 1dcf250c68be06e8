package io.rdmaraw.host;

/**
 * The way of segments to one destination: between which MAC addresses their frames go. Immutable; good as long as the
 * network's generation is the same.
 *
 * @param generation of the network when the path was found
 * @param sourceMac ours
 * @param targetMac the next hop's; 0 while it is not known
 * @param linkMtuBytes the longest IP packet that the first link carries, as its route says: what a peer may send too
 * @param pathMtuBytes the longest that gets to the target, as far as routers on the way have said
 * @param hopOrNull the next hop when there is one to be kept fresh
 */
public record TcpPath(long generation, long sourceMac, long targetMac, int linkMtuBytes, int pathMtuBytes,
                      NextHop hopOrNull) {
    /** In the place of a way that was not looked for, as too many have been. */
    public static final TcpPath NOT_ASKED = new TcpPath(0, 0, 0, 0, 0, null);

    public boolean isResolved() {
        return targetMac != 0;
    }

    /** A segment goes this way. */
    public void touch() {
        if (hopOrNull != null) {
            hopOrNull.touch();
        }
    }
}
