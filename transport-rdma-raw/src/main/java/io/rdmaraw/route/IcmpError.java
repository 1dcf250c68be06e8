package io.rdmaraw.route;

/**
 * An ICMP or ICMPv6 error about a packet that this host is said to have sent. Whether it did is for the owner of the
 * flow to check (RFC 5927).
 *
 * @param kind what went wrong
 * @param nextHopMtuBytes for {@link Kind#PACKET_TOO_BIG} the MTU, 0 when the router does not say
 * @param reporter who says so
 * @param protocol the quoted packet's IP protocol
 * @param source the quoted packet's source
 * @param sourcePort its port; of TCP and UDP
 * @param destination the quoted packet's destination
 * @param destinationPort its port
 * @param transportWord the four bytes behind the ports: TCP's sequence number, UDP's length and checksum
 */
public record IcmpError(Kind kind, int nextHopMtuBytes, IpAddress reporter, int protocol, IpAddress source,
                        int sourcePort, IpAddress destination, int destinationPort, int transportWord) {
    /** What went wrong. */
    public enum Kind {
        /** Nobody has the port. */
        PORT_UNREACHABLE,
        /** The packet is longer than a link carries. */
        PACKET_TOO_BIG,
        /** The network or host cannot be reached now. */
        UNREACHABLE,
        /** A filter does not let it pass. */
        PROHIBITED,
        /** The hops or the time for reassembly ran out. */
        TIME_EXCEEDED,
        /** A header is not understood. */
        PARAMETER_PROBLEM
    }
}
