package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** Parses the start of one of our packets quoted in an ICMP error, see {@link FrameParser#parseQuote}. */
final class IcmpQuotedPacketParser {
    /** Payload that RFC 792 requires to be quoted. RFC 1812 and RFC 4443 require more. */
    private static final int MIN_TRANSPORT_BYTES = 8;

    private IcmpQuotedPacketParser() {
    }

    static ParseVerdict parse(ParsedFrame out, int ipVersion) {
        boolean valid = ipVersion == 4 ? readIpv4(out) : readIpv6(out);
        if (!valid) {
            return ParseVerdict.QUOTE_UNUSABLE;
        }
        if (out.fragmentOffsetBytes != 0) {
            return ParseVerdict.FRAGMENT;
        }
        if (out.payloadLengthBytes < MIN_TRANSPORT_BYTES) {
            return ParseVerdict.QUOTE_UNUSABLE;
        }
        out.transportOffset = out.payloadOffset;
        return switch (out.protocol) {
            case IpProtocol.TCP -> readPorts(out, ParseVerdict.TCP);
            case IpProtocol.UDP -> readPorts(out, ParseVerdict.UDP);
            case IpProtocol.ICMP -> ParseVerdict.ICMP;
            case IpProtocol.ICMPV6 -> ParseVerdict.ICMPV6;
            default -> ParseVerdict.OTHER_PROTOCOL;
        };
    }

    private static ParseVerdict readPorts(ParsedFrame out, ParseVerdict verdict) {
        int ports = NetworkOrder.getInt(out.transportHeaderAddress());
        out.sourcePort = ports >>> 16;
        out.destinationPort = ports & 0xffff;
        return verdict;
    }

    private static boolean readIpv4(ParsedFrame out) {
        long address = out.networkHeaderAddress();
        int available = out.frameLengthBytes;
        if (available < Ipv4Header.MIN_LENGTH_BYTES || Ipv4Header.version(address) != 4) {
            return false;
        }
        int headerBytes = Ipv4Header.headerLengthBytes(address);
        int totalBytes = Ipv4Header.totalLengthBytes(address);
        if (headerBytes < Ipv4Header.MIN_LENGTH_BYTES || headerBytes > available || totalBytes < headerBytes) {
            return false;
        }
        Ipv4Parser.fill(out, NetworkOrder.getLong(address), NetworkOrder.getLong(address + 8), headerBytes,
                Math.min(totalBytes, available));
        int field = Ipv4Header.flagsAndOffset(address);
        out.fragmentOffsetBytes = (field & Ipv4Header.FRAGMENT_OFFSET_MASK) << 3;
        out.moreFragments = (field & Ipv4Header.MORE_FRAGMENTS) != 0;
        return true;
    }

    private static boolean readIpv6(ParsedFrame out) {
        long address = out.networkHeaderAddress();
        int available = out.frameLengthBytes - Ipv6Header.LENGTH_BYTES;
        if (available < 0 || Ipv6Header.version(address) != 6) {
            return false;
        }
        if (Martians.isIpv4Mapped(Ipv6Header.sourceHigh(address), Ipv6Header.sourceLow(address))
                || Martians.isIpv4Mapped(Ipv6Header.destinationHigh(address), Ipv6Header.destinationLow(address))) {
            // Our packets never have such addresses, and this package would treat them as IPv4.
            return false;
        }
        Ipv6Parser.fill(out, address, Math.min(Ipv6Header.payloadLengthBytes(address), available));
        ParseVerdict verdict = Ipv6Parser.walkExtensions(out);
        // A first fragment still contains the ports. An invalid length results from the truncation and is
        // ignored.
        boolean fragment = verdict == ParseVerdict.FRAGMENT || verdict == ParseVerdict.IPV6_BAD_FRAGMENT;
        return verdict == null || fragment;
    }
}
