package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;

import java.net.NetworkInterface;

/**
 * What a datagram channel does about a multicast group.
 *
 * @param interfaceOrNull the interface of the group's link, or null for that of the device
 * @param sourceOrNull the source that is meant, or null for all
 */
public record GroupChange(Kind kind, IpAddress group, NetworkInterface interfaceOrNull, IpAddress sourceOrNull) {
    /** What is done. */
    public enum Kind {
        JOIN, LEAVE,
        /** Take no more from a source of a group that was joined for all. */
        BLOCK
    }
}
