package io.rdmaraw.tcp;

/** What an ICMP or ICMPv6 message said about a segment of ours; the argument of {@link TcpEngine#onIcmp}. */
public enum IcmpError {
    /** ICMP 3/4, ICMPv6 2: too big for the next hop. */
    PACKET_TOO_BIG,
    /** ICMP 3/3, ICMPv6 1/4. */
    PORT_UNREACHABLE,
    /** ICMP 3/2, ICMPv6 4/1. */
    PROTOCOL_UNREACHABLE,
    /** ICMP 3/0, 3/1 and the other unreachable codes; ICMPv6 1/0, 1/3. */
    HOST_UNREACHABLE,
    /** ICMP 3/9, 3/10, 3/13; ICMPv6 1/1, 1/5, 1/6. */
    PROHIBITED,
    /** ICMP 11, ICMPv6 3. */
    TIME_EXCEEDED
}
