package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** The transport step of {@link FrameParser}. The payload range of the frame is the transport's packet. */
final class TransportParser {
    private static final int ND_HOP_LIMIT = 255;

    private TransportParser() {
    }

    static ParseVerdict parse(ParsedFrame out, boolean checksumsVerified) {
        return switch (out.protocol) {
            case IpProtocol.TCP -> tcp(out, checksumsVerified);
            case IpProtocol.UDP -> udp(out, checksumsVerified);
            case IpProtocol.ICMP -> out.ipVersion == 4 ? icmp(out) : ParseVerdict.OTHER_PROTOCOL;
            case IpProtocol.ICMPV6 -> out.ipVersion == 6 ? icmpv6(out) : ParseVerdict.OTHER_PROTOCOL;
            default -> ParseVerdict.OTHER_PROTOCOL;
        };
    }

    private static ParseVerdict tcp(ParsedFrame out, boolean verified) {
        int available = out.payloadLengthBytes;
        if (available < TcpHeader.MIN_LENGTH_BYTES) {
            return ParseVerdict.TCP_TRUNCATED;
        }
        long address = out.payloadAddress();
        int headerBytes = TcpHeader.headerLengthBytes(address);
        if (headerBytes < TcpHeader.MIN_LENGTH_BYTES || headerBytes > available) {
            return ParseVerdict.TCP_BAD_DATA_OFFSET;
        }
        if (!verified && !isChecksumValid(out, available)) {
            return ParseVerdict.TCP_BAD_CHECKSUM;
        }
        if (!hasTcpAddresses(out)) {
            return ParseVerdict.TCP_BAD_ADDRESS;
        }
        fill(out, address, headerBytes, available);
        return ParseVerdict.TCP;
    }

    private static ParseVerdict udp(ParsedFrame out, boolean verified) {
        int available = out.payloadLengthBytes;
        if (available < UdpHeader.LENGTH_BYTES) {
            return ParseVerdict.UDP_TRUNCATED;
        }
        long address = out.payloadAddress();
        int lengthBytes = UdpHeader.lengthBytes(address);
        if (lengthBytes < UdpHeader.LENGTH_BYTES || lengthBytes > available) {
            return ParseVerdict.UDP_BAD_LENGTH;
        }
        boolean noChecksum = UdpHeader.checksum(address) == 0;
        if (noChecksum && out.ipVersion == 6) {
            return ParseVerdict.UDP_NO_CHECKSUM;
        }
        if (!noChecksum && !verified && !isChecksumValid(out, lengthBytes)) {
            return ParseVerdict.UDP_BAD_CHECKSUM;
        }
        fill(out, address, UdpHeader.LENGTH_BYTES, lengthBytes);
        return ParseVerdict.UDP;
    }

    private static ParseVerdict icmp(ParsedFrame out) {
        int available = out.payloadLengthBytes;
        if (available < IcmpHeader.LENGTH_BYTES) {
            return ParseVerdict.ICMP_TRUNCATED;
        }
        // Devices do not verify ICMP checksums, so they are always verified here.
        long address = out.payloadAddress();
        if (!InternetChecksum.isValid(InternetChecksum.sum(address, available))) {
            return ParseVerdict.ICMP_BAD_CHECKSUM;
        }
        setTransport(out, IcmpHeader.LENGTH_BYTES, available);
        return ParseVerdict.ICMP;
    }

    private static ParseVerdict icmpv6(ParsedFrame out) {
        int available = out.payloadLengthBytes;
        if (available < IcmpHeader.LENGTH_BYTES) {
            return ParseVerdict.ICMP_TRUNCATED;
        }
        if (!isChecksumValid(out, available)) {
            return ParseVerdict.ICMP_BAD_CHECKSUM;
        }
        long address = out.payloadAddress();
        if (NeighborDiscovery.isNeighborDiscovery(IcmpHeader.type(address))) {
            if (out.hopLimit != ND_HOP_LIMIT) {
                return ParseVerdict.ND_BAD_HOP_LIMIT;
            }
            if (!NeighborDiscovery.isWellFormed(address, available)) {
                return ParseVerdict.ND_MALFORMED;
            }
        }
        setTransport(out, IcmpHeader.LENGTH_BYTES, available);
        return ParseVerdict.ICMPV6;
    }

    private static boolean isChecksumValid(ParsedFrame out, int lengthBytes) {
        long pseudo = out.ipVersion == 4
                ? InternetChecksum.pseudoHeaderIpv4(out.networkHeaderAddress(), out.protocol, lengthBytes)
                : InternetChecksum.pseudoHeaderIpv6(out.networkHeaderAddress(), out.protocol, lengthBytes);
        return InternetChecksum.isValid(InternetChecksum.sum(out.payloadAddress(), lengthBytes, pseudo));
    }

    /** Returns whether the source is specified and the destination is unicast (RFC 9293 section 3.9.2.3). */
    private static boolean hasTcpAddresses(ParsedFrame out) {
        long network = out.networkHeaderAddress();
        if (out.ipVersion == 4) {
            int destination = Ipv4Header.destination(network);
            return Ipv4Header.source(network) != 0 && destination != -1 && !Ipv4Header.isMulticast(destination);
        }
        return (Ipv6Header.sourceHigh(network) | Ipv6Header.sourceLow(network)) != 0
                && !Ipv6Header.isMulticast(Ipv6Header.destinationHigh(network));
    }

    private static void fill(ParsedFrame out, long address, int headerBytes, int lengthBytes) {
        // Both headers start with the ports.
        int ports = NetworkOrder.getInt(address);
        out.sourcePort = ports >>> 16;
        out.destinationPort = ports & 0xffff;
        setTransport(out, headerBytes, lengthBytes);
    }

    private static void setTransport(ParsedFrame out, int headerBytes, int lengthBytes) {
        out.transportOffset = out.payloadOffset;
        out.transportHeaderLengthBytes = headerBytes;
        out.payloadOffset += headerBytes;
        out.payloadLengthBytes = lengthBytes - headerBytes;
    }
}
