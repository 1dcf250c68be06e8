package io.rdmaraw.wire;

/** Result of parsing a frame: a kind that the stack can process, or the reason why it cannot. */
public enum ParseVerdict {
    /** A TCP segment with valid checksums. */
    TCP(true),
    /** A UDP datagram with valid checksums. */
    UDP(true),
    /** An ICMP message with valid checksums. */
    ICMP(true),
    /** An ICMPv6 message with valid checksums. */
    ICMPV6(true),
    /** An ARP packet for IPv4 over Ethernet. */
    ARP(true),
    /** A fragment of an IPv4 or IPv6 datagram. Its ports are unknown. */
    FRAGMENT(true),
    /** A valid IP packet with a protocol that this package does not parse. */
    OTHER_PROTOCOL(true),
    /** A frame with an EtherType that this package does not parse. */
    OTHER_ETHERTYPE(true),

    /** Shorter than an Ethernet header. */
    ETHERNET_TRUNCATED(false),
    /** The source MAC address has the group bit set. */
    ETHERNET_GROUP_SOURCE(false),
    /** The frame ends within a VLAN tag. */
    VLAN_TRUNCATED(false),
    /** More than two VLAN tags. */
    VLAN_TOO_DEEP(false),
    /** The frame has the tag of a VLAN, but the link is not a VLAN. */
    VLAN_FOREIGN(false),
    /** Shorter than an ARP packet. */
    ARP_TRUNCATED(false),
    /** ARP for other hardware or another protocol. */
    ARP_UNSUPPORTED(false),

    /** Shorter than its IPv4 header. */
    IPV4_TRUNCATED(false),
    /** The version field of an IPv4 packet is not 4. */
    IPV4_BAD_VERSION(false),
    /** The IPv4 header length is below 20. */
    IPV4_BAD_HEADER_LENGTH(false),
    /** The total length is below the header length or exceeds the frame. */
    IPV4_BAD_TOTAL_LENGTH(false),
    /** The IPv4 header checksum is wrong. */
    IPV4_BAD_CHECKSUM(false),
    /** An IPv4 option exceeds the header or has an invalid length. */
    IPV4_BAD_OPTION(false),
    /** A source-routed packet. Hosts reject it (RFC 7126 section 4.3). */
    IPV4_SOURCE_ROUTE(false),
    /** The source address is multicast or broadcast (RFC 1122 section 3.2.1.3). */
    IPV4_BAD_SOURCE(false),
    /**
     * A fragment that ends beyond 64 KiB, has a length that is not a multiple of 8, or would overwrite TCP flags
     * to bypass filters.
     */
    IPV4_BAD_FRAGMENT(false),

    /** Shorter than its IPv6 header. */
    IPV6_TRUNCATED(false),
    /** The version field of an IPv6 packet is not 6. */
    IPV6_BAD_VERSION(false),
    /** The payload length exceeds the frame. */
    IPV6_BAD_PAYLOAD_LENGTH(false),
    /** The source address is multicast (RFC 4291 section 2.7), or the destination is unspecified. */
    IPV6_BAD_ADDRESS(false),
    /** An extension header exceeds the packet or is at an invalid position. */
    IPV6_BAD_EXTENSION(false),
    /** More extension headers than a legitimate packet has. */
    IPV6_TOO_MANY_EXTENSIONS(false),
    /** An unrecognized option of a type that requires the packet to be dropped (RFC 8200 section 4.2). */
    IPV6_UNKNOWN_OPTION(false),
    /** A routing header with segments left. Hosts reject it (RFC 5095). */
    IPV6_ROUTING_HEADER(false),
    /** A fragment that ends beyond 64 KiB or has a length that is not a multiple of 8. */
    IPV6_BAD_FRAGMENT(false),

    /** An address that no packet on a link may have (RFC 1122 section 3.2.1.3, RFC 6890 section 2.2). */
    MARTIAN(false),

    /** Shorter than a UDP header. */
    UDP_TRUNCATED(false),
    /** The UDP length is below 8 or exceeds the packet. */
    UDP_BAD_LENGTH(false),
    /** The UDP checksum is wrong. */
    UDP_BAD_CHECKSUM(false),
    /** UDP over IPv6 without a checksum (RFC 8200 section 8.1). */
    UDP_NO_CHECKSUM(false),
    /** Shorter than a TCP header. */
    TCP_TRUNCATED(false),
    /** The TCP data offset is below 5 or exceeds the packet. */
    TCP_BAD_DATA_OFFSET(false),
    /** The TCP checksum is wrong. */
    TCP_BAD_CHECKSUM(false),
    /** TCP to a multicast or broadcast address, or from the unspecified address (RFC 9293 section 3.9.2.3). */
    TCP_BAD_ADDRESS(false),
    /** Shorter than an ICMP or ICMPv6 header. */
    ICMP_TRUNCATED(false),
    /** The ICMP or ICMPv6 checksum is wrong. */
    ICMP_BAD_CHECKSUM(false),
    /**
     * Neighbour discovery with a hop limit other than 255: the packet was forwarded by a router (RFC 4861 section
     * 7.1).
     */
    ND_BAD_HOP_LIMIT(false),
    /** Neighbour discovery with an invalid code, length or option. */
    ND_MALFORMED(false),
    /** The packet quoted in an ICMP error is too short or not IP. */
    QUOTE_UNUSABLE(false);

    private static final ParseVerdict[] VALUES = values();
    private final boolean accepted;

    ParseVerdict(boolean accepted) {
        this.accepted = accepted;
    }

    /** Returns whether the frame is valid, so that the accessors of {@link ParsedFrame} may be used. */
    public boolean isAccepted() {
        return accepted;
    }

    static int count() {
        return VALUES.length;
    }
}
