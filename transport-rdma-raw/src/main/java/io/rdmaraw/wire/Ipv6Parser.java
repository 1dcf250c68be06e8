package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** The IPv6 step of {@link FrameParser}: the fixed header and the extension headers (RFC 8200). */
final class Ipv6Parser {
    private static final int MAX_EXTENSION_HEADERS = 8;
    private static final int MAX_PAYLOAD_BYTES = 65535;
    private static final int OPTION_PAD1 = 0;
    /**
     * The two high bits of an option's type: the action if the option is not recognized; 0 means "skip" (RFC 8200
     * section 4.2).
     */
    private static final int OPTION_ACTION_MASK = 0xc0;

    private Ipv6Parser() {
    }

    static ParseVerdict parse(ParsedFrame out, boolean checksumsVerified) {
        long address = out.networkHeaderAddress();
        int available = out.frameLengthBytes - out.networkOffset;
        if (available < Ipv6Header.LENGTH_BYTES) {
            return ParseVerdict.IPV6_TRUNCATED;
        }
        if (Ipv6Header.version(address) != 6) {
            return ParseVerdict.IPV6_BAD_VERSION;
        }
        int payloadBytes = Ipv6Header.payloadLengthBytes(address);
        if (payloadBytes > available - Ipv6Header.LENGTH_BYTES) {
            return ParseVerdict.IPV6_BAD_PAYLOAD_LENGTH;
        }
        boolean toUnspecified = (Ipv6Header.destinationHigh(address) | Ipv6Header.destinationLow(address)) == 0;
        if (toUnspecified || Ipv6Header.isMulticast(Ipv6Header.sourceHigh(address))) {
            return ParseVerdict.IPV6_BAD_ADDRESS;
        }
        fill(out, address, payloadBytes);
        ParseVerdict verdict = walkExtensions(out);
        return verdict != null ? verdict : TransportParser.parse(out, checksumsVerified);
    }

    static void fill(ParsedFrame out, long address, int payloadBytes) {
        out.ipVersion = 6;
        out.networkHeaderLengthBytes = Ipv6Header.LENGTH_BYTES;
        out.packetLengthBytes = Ipv6Header.LENGTH_BYTES + payloadBytes;
        out.protocol = Ipv6Header.nextHeader(address);
        out.trafficClass = Ipv6Header.trafficClass(address);
        out.hopLimit = Ipv6Header.hopLimit(address);
        out.dontFragment = true;
        out.payloadOffset = out.networkOffset + Ipv6Header.LENGTH_BYTES;
        out.payloadLengthBytes = payloadBytes;
    }

    /**
     * Moves the payload offset and the protocol past the extension headers. Returns the verdict if the packet
     * ends here, as a fragment or because of a fault. Returns null if a transport header follows.
     */
    static ParseVerdict walkExtensions(ParsedFrame out) {
        for (int count = 0; isExtension(out.protocol); count++) {
            if (count == MAX_EXTENSION_HEADERS) {
                return ParseVerdict.IPV6_TOO_MANY_EXTENSIONS;
            }
            if (out.payloadLengthBytes < 8) {
                return ParseVerdict.IPV6_BAD_EXTENSION;
            }
            boolean fragment = out.protocol == IpProtocol.FRAGMENT;
            long header = out.payloadAddress();
            int headerBytes = fragment ? Ipv6Header.FRAGMENT_LENGTH_BYTES : 8 + (NetworkOrder.getU8(header + 1) << 3);
            if (headerBytes > out.payloadLengthBytes) {
                return ParseVerdict.IPV6_BAD_EXTENSION;
            }
            ParseVerdict verdict = checkExtension(out, header, headerBytes, count);
            if (verdict != null) {
                return verdict;
            }
            skip(out, header, headerBytes);
            if (fragment && (out.moreFragments || out.fragmentOffsetBytes != 0)) {
                return checkFragment(out);
            }
        }
        return null;
    }

    private static boolean isExtension(int protocol) {
        return protocol == IpProtocol.HOP_BY_HOP || protocol == IpProtocol.ROUTING || protocol == IpProtocol.FRAGMENT
                || protocol == IpProtocol.DESTINATION_OPTIONS;
    }

    private static void skip(ParsedFrame out, long header, int headerBytes) {
        out.protocol = NetworkOrder.getU8(header);
        out.payloadOffset += headerBytes;
        out.payloadLengthBytes -= headerBytes;
        out.networkHeaderLengthBytes += headerBytes;
    }

    private static ParseVerdict checkExtension(ParsedFrame out, long header, int headerBytes, int position) {
        switch (out.protocol) {
            case IpProtocol.HOP_BY_HOP:
                // RFC 8200 section 4.1: only directly after the fixed header.
                return position != 0 ? ParseVerdict.IPV6_BAD_EXTENSION : checkOptions(header, headerBytes);
            case IpProtocol.DESTINATION_OPTIONS:
                return checkOptions(header, headerBytes);
            case IpProtocol.ROUTING:
                // RFC 5095 and RFC 8200 section 4.4: a routing header with no segments left is ignored.
                return NetworkOrder.getU8(header + 3) != 0 ? ParseVerdict.IPV6_ROUTING_HEADER : null;
            default:
                return readFragment(out, header);
        }
    }

    private static ParseVerdict readFragment(ParsedFrame out, long header) {
        if (out.fragmentIdentification != 0 || out.moreFragments) {
            return ParseVerdict.IPV6_BAD_EXTENSION;
        }
        int field = NetworkOrder.getU16(header + 2);
        out.fragmentOffsetBytes = field & 0xfff8;
        out.moreFragments = (field & 1) != 0;
        out.fragmentIdentification = NetworkOrder.getInt(header + 4);
        return null;
    }

    private static ParseVerdict checkFragment(ParsedFrame out) {
        int payloadBytes = out.payloadLengthBytes;
        // RFC 8200 section 4.5: the length of all fragments except the last is a multiple of eight bytes, and the
        // reassembled packet has at most 64 KiB.
        boolean badLength = out.moreFragments && (payloadBytes == 0 || (payloadBytes & 7) != 0);
        boolean tooLong = out.fragmentOffsetBytes + payloadBytes > MAX_PAYLOAD_BYTES;
        return badLength || tooLong ? ParseVerdict.IPV6_BAD_FRAGMENT : ParseVerdict.FRAGMENT;
    }

    private static ParseVerdict checkOptions(long header, int headerBytes) {
        int offset = 2;
        while (offset < headerBytes) {
            int type = NetworkOrder.getU8(header + offset);
            if (type == OPTION_PAD1) {
                offset++;
                continue;
            }
            int dataBytes = offset + 1 < headerBytes ? NetworkOrder.getU8(header + offset + 1) : 256;
            if (dataBytes > headerBytes - offset - 2) {
                return ParseVerdict.IPV6_BAD_EXTENSION;
            }
            // This includes jumbo payloads (0xc2); no frame is that long.
            if ((type & OPTION_ACTION_MASK) != 0) {
                return ParseVerdict.IPV6_UNKNOWN_OPTION;
            }
            offset += 2 + dataBytes;
        }
        return null;
    }
}
