package io.rdmaraw.wire;

/** What an ICMP or ICMPv6 error says about a packet. */
public enum IcmpErrorKind {
    /** The packet is longer than the next link carries: ICMP 3/4, ICMPv6 2. */
    PACKET_TOO_BIG,
    /** No socket has the port: ICMP 3/3, ICMPv6 1/4. */
    PORT_UNREACHABLE,
    /** The host does not have the transport protocol: ICMP 3/2. ICMPv6 says a parameter problem (4/1). */
    PROTOCOL_UNREACHABLE,
    /** The network or the host cannot be reached now: ICMP 3/0, 3/1 and the other codes; ICMPv6 1/0, 1/3. */
    HOST_UNREACHABLE,
    /** A filter does not let the packet pass: ICMP 3/9, 3/10, 3/13; ICMPv6 1/1, 1/5, 1/6. */
    PROHIBITED,
    /** The hop limit or the time for reassembly ran out: ICMP 11, ICMPv6 3. */
    TIME_EXCEEDED,
    /** A router or the host does not understand a header: ICMP 12, ICMPv6 4. */
    PARAMETER_PROBLEM
}
