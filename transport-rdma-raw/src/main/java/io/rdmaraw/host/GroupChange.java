package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;

import java.net.NetworkInterface;

/**
 * A change of a datagram channel's membership in a multicast group.
 *
 * @param interfaceOrNull the network interface of the membership; null for that of the device
 * @param sourceOrNull the source address; null for all sources
 */
public record GroupChange(Kind kind, IpAddress group, NetworkInterface interfaceOrNull, IpAddress sourceOrNull) {
    /** The kind of change. */
    public enum Kind {
        JOIN, LEAVE,
        /** Block one source of a group that was joined for all sources. */
        BLOCK
    }
}
