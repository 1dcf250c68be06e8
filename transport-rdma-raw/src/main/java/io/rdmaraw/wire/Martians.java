package io.rdmaraw.wire;

/**
 * Addresses that no packet on a link can have, so that they are forged: those of a host itself, of no host,
 * and reserved ones (RFC 1122 section 3.2.1.3, RFC 4291 sections 2.5.3, 2.5.5.2 and 2.7, RFC 6890 section 2.2).
 */
final class Martians {
    private static final int LOOPBACK_NET = 127;
    private static final int BROADCAST = -1;
    /** The upper 24 bits of 224.0.0.0/24, the groups that no router passes on. */
    private static final int LOCAL_GROUPS = 0xe0_0000;
    private static final long MAPPED_PREFIX = 0xffff;

    private Martians() {
    }

    /** Tells whether a packet that was parsed as IP or ARP is one. */
    static boolean isMartian(ParsedFrame packet, FrameOrigin origin) {
        return switch (packet.ipVersion) {
            case 4 -> origin != FrameOrigin.ANYWHERE && isIpv4(packet.sourceIpv4(), packet.destinationIpv4(),
                    packet.protocol, origin == FrameOrigin.HOST);
            case 6 -> isIpv6(packet, origin);
            default -> false;
        };
    }

    /**
     * The reserved 240.0.0.0/4 is no martian, as on Linux: there are networks that use it for their hosts.
     *
     * @param withinHost whether loopback addresses are right
     */
    static boolean isIpv4(int source, int destination, int protocol, boolean withinHost) {
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

    /** Who has no address yet asks by broadcasts (DHCP), and those that only listen to groups ask for reports. */
    private static boolean mayHaveNoAddress(int source, int destination, int protocol) {
        return source == 0 && (destination == BROADCAST || destination >>> 8 == LOCAL_GROUPS
                || protocol == IpProtocol.IGMP);
    }

    private static boolean isIpv6(ParsedFrame packet, FrameOrigin origin) {
        long sourceHigh = packet.sourceHigh();
        long sourceLow = packet.sourceLow();
        long destinationHigh = packet.destinationHigh();
        long destinationLow = packet.destinationLow();
        if (isMapped(sourceHigh, sourceLow) || isMapped(destinationHigh, destinationLow)) {
            return true;
        }
        return origin == FrameOrigin.LINK && (isLoopback(sourceHigh, sourceLow)
                || isLoopback(destinationHigh, destinationLow) || isWithinInterface(destinationHigh));
    }

    /** The form stands for IPv4 in this package and above: a packet of IPv6 with it would pass for one of IPv4. */
    static boolean isMapped(long high, long low) {
        return high == 0 && low >>> 32 == MAPPED_PREFIX;
    }

    private static boolean isLoopback(long high, long low) {
        return high == 0 && low == 1;
    }

    /** Groups of the reserved scope 0 and of the scope of one interface. */
    private static boolean isWithinInterface(long high) {
        return Ipv6Header.isMulticast(high) && (high >>> 48 & 0xf) <= 1;
    }
}
