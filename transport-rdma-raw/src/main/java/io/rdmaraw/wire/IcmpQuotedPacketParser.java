package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** Reads the beginning of one of our packets out of an ICMP error; see {@link FrameParser#parseQuote}. */
final class IcmpQuotedPacketParser {
    /** What RFC 792 promises of the quoted payload; RFC 1812 and RFC 4443 promise more. */
    private static final int TRANSPORT_BYTES = 8;

    private IcmpQuotedPacketParser() {
    }

    static ParseVerdict parse(ParsedFrame out, int ipVersion) {
        boolean sound = ipVersion == 4 ? readIpv4(out) : readIpv6(out);
        if (!sound) {
            return ParseVerdict.QUOTE_UNUSABLE;
        }
        if (out.fragmentOffsetBytes != 0) {
            return ParseVerdict.FRAGMENT;
        }
        if (out.payloadLengthBytes < TRANSPORT_BYTES) {
            return ParseVerdict.QUOTE_UNUSABLE;
        }
        out.transportOffset = out.payloadOffset;
        return switch (out.protocol) {
            case IpProtocol.TCP -> withPorts(out, ParseVerdict.TCP);
            case IpProtocol.UDP -> withPorts(out, ParseVerdict.UDP);
            case IpProtocol.ICMP -> ParseVerdict.ICMP;
            case IpProtocol.ICMPV6 -> ParseVerdict.ICMPV6;
            default -> ParseVerdict.OTHER_PROTOCOL;
        };
    }

    private static ParseVerdict withPorts(ParsedFrame out, ParseVerdict verdict) {
        int ports = NetworkOrder.getInt(out.transportAddress());
        out.sourcePort = ports >>> 16;
        out.destinationPort = ports & 0xffff;
        return verdict;
    }

    private static boolean readIpv4(ParsedFrame out) {
        long address = out.networkAddress();
        int available = out.frameLengthBytes;
        if (available < Ipv4Header.MINIMUM_LENGTH_BYTES || Ipv4Header.version(address) != 4) {
            return false;
        }
        int headerBytes = Ipv4Header.headerLengthBytes(address);
        int totalBytes = Ipv4Header.totalLengthBytes(address);
        if (headerBytes < Ipv4Header.MINIMUM_LENGTH_BYTES || headerBytes > available || totalBytes < headerBytes) {
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
        long address = out.networkAddress();
        int available = out.frameLengthBytes - Ipv6Header.LENGTH_BYTES;
        if (available < 0 || Ipv6Header.version(address) != 6) {
            return false;
        }
        if (Martians.isMapped(Ipv6Header.sourceHigh(address), Ipv6Header.sourceLow(address))
                || Martians.isMapped(Ipv6Header.destinationHigh(address), Ipv6Header.destinationLow(address))) {
            // We send no such packet, and it would pass for one of IPv4.
            return false;
        }
        Ipv6Parser.fill(out, address, Math.min(Ipv6Header.payloadLengthBytes(address), available));
        ParseVerdict stopped = Ipv6Parser.walkExtensions(out);
        // A first fragment still has its ports; the fault of a length that was cut short is no fault here.
        boolean fragment = stopped == ParseVerdict.FRAGMENT || stopped == ParseVerdict.IPV6_BAD_FRAGMENT;
        return stopped == null || fragment;
    }
}
