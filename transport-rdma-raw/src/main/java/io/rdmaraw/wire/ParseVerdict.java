package io.rdmaraw.wire;

/** What a frame was found to be: a kind that the stack can use, or the one reason why it can't. */
public enum ParseVerdict {
    /** A TCP segment; checksums hold. */
    TCP(true),
    /** A UDP datagram; checksums hold. */
    UDP(true),
    /** An ICMP message; checksums hold. */
    ICMP(true),
    /** An ICMPv6 message; checksums hold. */
    ICMPV6(true),
    /** An ARP packet for IPv4 over Ethernet. */
    ARP(true),
    /** A fragment of an IPv4 or IPv6 datagram; ports are unknown. */
    FRAGMENT(true),
    /** A sound IP packet with a protocol that this package does not read. */
    OTHER_PROTOCOL(true),
    /** A frame with an EtherType that this package does not read. */
    OTHER_ETHERTYPE(true),

    /** Shorter than an Ethernet header. */
    ETHERNET_TRUNCATED(false),
    /** The source MAC address has the group bit. */
    ETHERNET_GROUP_SOURCE(false),
    /** Ends within a VLAN tag. */
    VLAN_TRUNCATED(false),
    /** More than two VLAN tags. */
    VLAN_TOO_DEEP(false),
    /** Has the tag of a VLAN, and the link is none. */
    VLAN_FOREIGN(false),
    /** Shorter than an ARP packet. */
    ARP_TRUNCATED(false),
    /** ARP for other hardware or another protocol. */
    ARP_UNSUPPORTED(false),

    /** Shorter than its IPv4 header. */
    IPV4_TRUNCATED(false),
    /** The version field of an IPv4 packet is not 4. */
    IPV4_BAD_VERSION(false),
    /** IPv4 header length below 20. */
    IPV4_BAD_HEADER_LENGTH(false),
    /** Total length below the header length or beyond the frame. */
    IPV4_BAD_TOTAL_LENGTH(false),
    /** IPv4 header checksum wrong. */
    IPV4_BAD_CHECKSUM(false),
    /** An IPv4 option runs beyond the header or has an impossible length. */
    IPV4_BAD_OPTION(false),
    /** A source-routed packet, which hosts refuse (RFC 7126 section 4.3). */
    IPV4_SOURCE_ROUTE(false),
    /** Source address is multicast or broadcast (RFC 1122 section 3.2.1.3). */
    IPV4_BAD_SOURCE(false),
    /** Fragment that ends beyond 64 KiB, is not a multiple of 8, or is made to slip a TCP header past filters. */
    IPV4_BAD_FRAGMENT(false),

    /** Shorter than its IPv6 header. */
    IPV6_TRUNCATED(false),
    /** The version field of an IPv6 packet is not 6. */
    IPV6_BAD_VERSION(false),
    /** Payload length beyond the frame. */
    IPV6_BAD_PAYLOAD_LENGTH(false),
    /** Source address is multicast (RFC 4291 section 2.7) or the destination is unspecified. */
    IPV6_BAD_ADDRESS(false),
    /** An extension header runs beyond the packet or stands where it must not. */
    IPV6_BAD_EXTENSION(false),
    /** More extension headers than a sane packet has. */
    IPV6_TOO_MANY_EXTENSIONS(false),
    /** An unknown option whose type demands that the packet be dropped (RFC 8200 section 4.2). */
    IPV6_UNKNOWN_OPTION(false),
    /** A routing header with segments left, which is not for hosts (RFC 5095). */
    IPV6_ROUTING_HEADER(false),
    /** Fragment that ends beyond 64 KiB or is not a multiple of 8. */
    IPV6_BAD_FRAGMENT(false),

    /** An address that no packet on a link can have (RFC 1122 section 3.2.1.3, RFC 6890 section 2.2). */
    MARTIAN(false),

    /** Shorter than a UDP header. */
    UDP_TRUNCATED(false),
    /** UDP length below 8 or beyond the packet. */
    UDP_BAD_LENGTH(false),
    /** UDP checksum wrong. */
    UDP_BAD_CHECKSUM(false),
    /** UDP over IPv6 without checksum (RFC 8200 section 8.1). */
    UDP_NO_CHECKSUM(false),
    /** Shorter than a TCP header. */
    TCP_TRUNCATED(false),
    /** TCP data offset below 5 or beyond the packet. */
    TCP_BAD_DATA_OFFSET(false),
    /** TCP checksum wrong. */
    TCP_BAD_CHECKSUM(false),
    /** TCP to a multicast or broadcast address, or from the unspecified address (RFC 9293 section 3.9.2.3). */
    TCP_BAD_ADDRESS(false),
    /** Shorter than an ICMP or ICMPv6 header. */
    ICMP_TRUNCATED(false),
    /** ICMP or ICMPv6 checksum wrong. */
    ICMP_BAD_CHECKSUM(false),
    /** Neighbour discovery whose hop limit is not 255: it came through a router (RFC 4861 section 7.1). */
    ND_BAD_HOP_LIMIT(false),
    /** Neighbour discovery with a bad code, length or option. */
    ND_MALFORMED(false),
    /** The packet quoted in an ICMP error is too short or isn't IP. */
    QUOTE_UNUSABLE(false);

    private static final ParseVerdict[] VALUES = values();
    private final boolean accepted;

    ParseVerdict(boolean accepted) {
        this.accepted = accepted;
    }

    /** Returns whether the frame is sound, so that the accessors of {@link ParsedFrame} mean something. */
    public boolean isAccepted() {
        return accepted;
    }

    static int count() {
        return VALUES.length;
    }
}
