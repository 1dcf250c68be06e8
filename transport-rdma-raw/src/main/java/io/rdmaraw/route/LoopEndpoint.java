package io.rdmaraw.route;

/**
 * A bound port of a {@link LoopHost}. Immutable; a host replaces it when the endpoint connects.
 *
 * @param protocol the IP protocol
 * @param mac where frames for it go: every endpoint of a loop host has a MAC address of its own, which is what lets
 *        several of them share a port without a common queue
 * @param local the address it is bound to, may be a wildcard
 * @param dualStack whether a wildcard takes both IP versions
 * @param port the local port
 * @param remoteOrNull the peer when connected
 * @param remotePort the peer's port when connected
 * @param sharing with whom it shares the port
 */
public record LoopEndpoint(int protocol, long mac, IpAddress local, boolean dualStack, int port, IpAddress remoteOrNull,
                           int remotePort, PortSharing sharing) {
    private static final int CONNECTED_SCORE = 2;

    /** Returns whether packets of an IP version can be for it. */
    public boolean takesVersion(int ipVersion) {
        return local.isAny() && dualStack || local.version() == ipVersion;
    }

    LoopEndpoint with(IpAddress newLocal, IpAddress newRemoteOrNull, int newRemotePort) {
        return new LoopEndpoint(protocol, mac, newLocal, dualStack, port, newRemoteOrNull, newRemotePort, sharing);
    }

    boolean overlaps(LoopEndpoint other) {
        boolean commonVersion = takesVersion(4) && other.takesVersion(4) || takesVersion(6) && other.takesVersion(6);
        return commonVersion && (local.isAny() || other.local.isAny() || local.equals(other.local));
    }

    /** Returns how well a packet fits: -1 not at all; connected beats bound to an address beats wildcard. */
    int score(IpAddress source, int sourcePort, IpAddress destination) {
        boolean any = local.isAny();
        if (any ? !takesVersion(destination.version()) : !local.equals(destination)) {
            return -1;
        }
        boolean connected = remoteOrNull != null;
        if (connected && (remotePort != sourcePort || !remoteOrNull.equals(source))) {
            return -1;
        }
        return (connected ? CONNECTED_SCORE : 0) + (any ? 0 : 1);
    }
}
