package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;

/**
 * A bound port in a {@link PortTable}. Immutable; the table replaces the entry when the port is connected.
 *
 * @param protocol the IP protocol
 * @param id distinguishes ports with the same number; on a loopback device the MAC address of the port
 * @param local the local address, which may be a wildcard
 * @param dualStack whether a wildcard address accepts both IP versions
 * @param port the local port number
 * @param remoteOrNull the peer's address if connected, else null
 * @param remotePort the peer's port if connected
 * @param sharing the sockets that may share the port number
 * @param ownerOrNull receives packets for the port; null on a loopback device, where flow rules deliver them
 * @param use shared by all entries of one bind
 */
public record BoundPort(int protocol, long id, IpAddress local, boolean dualStack, int port, IpAddress remoteOrNull,
        int remotePort, PortSharing sharing, PortOwner ownerOrNull, PortUse use) {
    private static final int CONNECTED_SCORE = 2;
    /**
     * Exceeds the sum of the other scores: a new packet goes to the present listener, not to a port that only the
     * connections of an earlier listener still use.
     */
    private static final int IN_USE_SCORE = 4;

    /** Returns whether the port accepts packets of an IP version. */
    public boolean acceptsVersion(int ipVersion) {
        return local.isAny() && dualStack || local.version() == ipVersion;
    }

    public BoundPort with(IpAddress newLocal, IpAddress newRemoteOrNull, int newRemotePort) {
        return new BoundPort(protocol, id, newLocal, dualStack, port, newRemoteOrNull, newRemotePort, sharing,
                ownerOrNull, use);
    }

    boolean overlaps(BoundPort other) {
        boolean commonVersion = acceptsVersion(4) && other.acceptsVersion(4)
                || acceptsVersion(6) && other.acceptsVersion(6);
        return commonVersion && (local.isAny() || other.local.isAny() || local.equals(other.local));
    }

    /**
     * Returns how well the port matches a packet, or -1 if it does not match. A connected port scores higher than one
     * bound to an address, and that one higher than a wildcard.
     */
    int score(IpAddress source, int sourcePort, IpAddress destination) {
        boolean any = local.isAny();
        if (any ? !acceptsVersion(destination.version()) : !local.equals(destination)) {
            return -1;
        }
        boolean connected = remoteOrNull != null;
        if (connected && (remotePort != sourcePort || !remoteOrNull.equals(source))) {
            return -1;
        }
        return (use.isForConnectionsOnly() ? 0 : IN_USE_SCORE) + (connected ? CONNECTED_SCORE : 0) + (any ? 0 : 1);
    }
}
