package io.rdmaraw.wire;

/**
 * Detects addresses that no packet on a link may have: those of the host itself, of no host, and reserved ones
 * (RFC 1122 section 3.2.1.3, RFC 4291 sections 2.5.3, 2.5.5.2 and 2.7, RFC 6890 section 2.2). Such packets are
 * forged.
 */
final class Martians {
    private static final int LOOPBACK_NET = 127;
    private static final int BROADCAST = -1;
    /** Upper 24 bits of 224.0.0.0/24, the groups that routers do not forward. */
    private static final int LOCAL_GROUPS = 0xe0_0000;
    private static final long MAPPED_PREFIX = 0xffff;

    private Martians() {
    }

    /** Returns whether a packet parsed as IP or ARP has such an address. */
    static boolean isMartian(ParsedFrame packet, FrameOrigin origin) {
        return switch (packet.ipVersion) {
            case 4 -> origin != FrameOrigin.ANYWHERE && isMartianIpv4(packet.sourceIpv4(), packet.destinationIpv4(),
                    packet.protocol, origin == FrameOrigin.HOST);
            case 6 -> isMartianIpv6(packet, origin);
            default -> false;
        };
    }

    /**
     * Returns whether one of the addresses is a martian. The reserved 240.0.0.0/4 is not included, as on Linux,
     * because some networks use it for hosts.
     *
     * @param withinHost whether loopback addresses are valid
     */
    static boolean isMartianIpv4(int source, int destination, int protocol, boolean withinHost) {
        int sourceNet = source >>> 24;
        int destinationNet = destination >>> 24;
        if (source == BROADCAST || destinationNet == 0) {
            return true;
        }
        if (sourceNet == 0 && !mayHaveNoAddress(source, destination, protocol)) {
            return true;
        }
        return !withinHost && (sourceNet == LOOPBACK_NET || destinationNet == LOOPBACK_NET);
    }

    /**
     * Returns whether the source may be 0. Hosts without an address send broadcasts (DHCP), and switches that
     * only monitor group membership send queries.
     */
    private static boolean mayHaveNoAddress(int source, int destination, int protocol) {
        return source == 0 && (destination == BROADCAST || destination >>> 8 == LOCAL_GROUPS
                || protocol == IpProtocol.IGMP);
    }

    private static boolean isMartianIpv6(ParsedFrame packet, FrameOrigin origin) {
        long sourceHigh = packet.sourceHigh();
        long sourceLow = packet.sourceLow();
        long destinationHigh = packet.destinationHigh();
        long destinationLow = packet.destinationLow();
        if (isIpv4Mapped(sourceHigh, sourceLow) || isIpv4Mapped(destinationHigh, destinationLow)) {
            return true;
        }
        return origin == FrameOrigin.LINK && (isLoopback(sourceHigh, sourceLow)
                || isLoopback(destinationHigh, destinationLow) || isInterfaceLocalGroup(destinationHigh));
    }

    /**
     * Returns whether an address is IPv4-mapped. Here and in the packages above, this form stands for IPv4, so
     * such an IPv6 packet would be treated as IPv4.
     */
    static boolean isIpv4Mapped(long high, long low) {
        return high == 0 && low >>> 32 == MAPPED_PREFIX;
    }

    private static boolean isLoopback(long high, long low) {
        return high == 0 && low == 1;
    }

    /** Returns whether an address is a group of the reserved scope 0 or of interface-local scope. */
    private static boolean isInterfaceLocalGroup(long high) {
        return Ipv6Header.isMulticast(high) && (high >>> 48 & 0xf) <= 1;
    }
}
