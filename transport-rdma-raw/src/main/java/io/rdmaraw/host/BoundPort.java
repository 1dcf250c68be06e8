package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;

/**
 * A port of a {@link PortTable} that is in use. Immutable; the table replaces it when the port connects.
 *
 * @param protocol the IP protocol
 * @param id tells ports apart that share a number; on a loopback device the MAC address that frames for it go to
 * @param local the address it is bound to, may be a wildcard
 * @param dualStack whether a wildcard takes both IP versions
 * @param port the local port
 * @param remoteOrNull the peer when connected
 * @param remotePort the peer's port when connected
 * @param sharing with which other sockets it shares the number
 * @param ownerOrNull gets the packets for the port; null on a loopback device, where rules bring them
 * @param use the same for all entries of one bind
 */
public record BoundPort(int protocol, long id, IpAddress local, boolean dualStack, int port, IpAddress remoteOrNull,
        int remotePort, PortSharing sharing, PortOwner ownerOrNull, PortUse use) {
    private static final int CONNECTED_SCORE = 2;
    /** More than all else together: what is new is for who listens, not for what is left of who did. */
    private static final int IN_USE_SCORE = 4;

    /** Returns whether packets of an IP version can be for it. */
    public boolean takesVersion(int ipVersion) {
        return local.isAny() && dualStack || local.version() == ipVersion;
    }

    BoundPort with(IpAddress newLocal, IpAddress newRemoteOrNull, int newRemotePort) {
        return new BoundPort(protocol, id, newLocal, dualStack, port, newRemoteOrNull, newRemotePort, sharing,
                ownerOrNull, use);
    }

    boolean overlaps(BoundPort other) {
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
        return (use.isForConnectionsOnly() ? 0 : IN_USE_SCORE) + (connected ? CONNECTED_SCORE : 0) + (any ? 0 : 1);
    }
}
