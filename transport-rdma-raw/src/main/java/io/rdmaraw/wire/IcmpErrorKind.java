package io.rdmaraw.wire;

/** Kinds of ICMP and ICMPv6 errors. */
public enum IcmpErrorKind {
    /** The packet exceeds the MTU of the next link: ICMP 3/4, ICMPv6 2. */
    PACKET_TOO_BIG,
    /** No socket is bound to the port: ICMP 3/3, ICMPv6 1/4. */
    PORT_UNREACHABLE,
    /**
     * The host does not support the transport protocol: ICMP 3/2. ICMPv6 uses a parameter problem (4/1) for this.
     */
    PROTOCOL_UNREACHABLE,
    /** The network or host is unreachable at present: ICMP 3/0, 3/1 and the other codes; ICMPv6 1/0, 1/3. */
    HOST_UNREACHABLE,
    /** A filter rejects the packet: ICMP 3/9, 3/10, 3/13; ICMPv6 1/1, 1/5, 1/6. */
    PROHIBITED,
    /** The hop limit or the reassembly time was exceeded: ICMP 11, ICMPv6 3. */
    TIME_EXCEEDED,
    /** A router or the host cannot process a header: ICMP 12, ICMPv6 4. */
    PARAMETER_PROBLEM
}
