package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** The IPv4 step of {@link FrameParser}. It starts at the network offset of the frame. */
final class Ipv4Parser {
    private static final int MAX_DATAGRAM_BYTES = 65535;

    private Ipv4Parser() {
    }

    static ParseVerdict parse(ParsedFrame out, boolean checksumsVerified) {
        long address = out.networkHeaderAddress();
        int available = out.frameLengthBytes - out.networkOffset;
        if (available < Ipv4Header.MIN_LENGTH_BYTES) {
            return ParseVerdict.IPV4_TRUNCATED;
        }
        // Each word is loaded once as a whole: version to fragment offset, and time to live to source.
        long first = NetworkOrder.getLong(address);
        long second = NetworkOrder.getLong(address + 8);
        if (first >>> 60 != 4) {
            return ParseVerdict.IPV4_BAD_VERSION;
        }
        int headerBytes = (int) (first >>> 56 & 0xf) << 2;
        if (headerBytes < Ipv4Header.MIN_LENGTH_BYTES) {
            return ParseVerdict.IPV4_BAD_HEADER_LENGTH;
        }
        if (headerBytes > available) {
            return ParseVerdict.IPV4_TRUNCATED;
        }
        int totalBytes = (int) (first >>> 32) & 0xffff;
        if (totalBytes < headerBytes || totalBytes > available) {
            return ParseVerdict.IPV4_BAD_TOTAL_LENGTH;
        }
        if (!checksumsVerified && !isChecksumValid(address, headerBytes, first, second)) {
            return ParseVerdict.IPV4_BAD_CHECKSUM;
        }
        int source = (int) second;
        if (Ipv4Header.isMulticast(source) || source == -1) {
            return ParseVerdict.IPV4_BAD_SOURCE;
        }
        fill(out, first, second, headerBytes, totalBytes);
        if (headerBytes > Ipv4Header.MIN_LENGTH_BYTES) {
            ParseVerdict refusal = checkOptions(address, headerBytes);
            if (refusal != null) {
                return refusal;
            }
        }
        int fragmentField = (int) first & 0xffff;
        if ((fragmentField & (Ipv4Header.MORE_FRAGMENTS | Ipv4Header.FRAGMENT_OFFSET_MASK)) != 0) {
            return parseFragment(out, fragmentField);
        }
        return TransportParser.parse(out, checksumsVerified);
    }

    private static boolean isChecksumValid(long address, int headerBytes, long first, long second) {
        if (headerBytes > Ipv4Header.MIN_LENGTH_BYTES) {
            return InternetChecksum.isValid(InternetChecksum.sum(address, headerBytes));
        }
        return InternetChecksum.isValid(InternetChecksum.halves(first) + InternetChecksum.halves(second)
                + (NetworkOrder.getInt(address + 16) & 0xffff_ffffL));
    }

    /** Copies the fields of a header, given its first 16 bytes. */
    static void fill(ParsedFrame out, long first, long second, int headerBytes, int totalBytes) {
        out.ipVersion = 4;
        out.networkHeaderLengthBytes = headerBytes;
        out.packetLengthBytes = totalBytes;
        out.protocol = (int) (second >>> 48) & 0xff;
        out.trafficClass = (int) (first >>> 48) & 0xff;
        out.hopLimit = (int) (second >>> 56);
        out.dontFragment = (first & Ipv4Header.DONT_FRAGMENT) != 0;
        out.payloadOffset = out.networkOffset + headerBytes;
        out.payloadLengthBytes = totalBytes - headerBytes;
        out.fragmentIdentification = (int) (first >>> 16) & 0xffff;
    }

    /** Returns the verdict if an option makes the packet unusable, otherwise null. */
    private static ParseVerdict checkOptions(long address, int headerBytes) {
        int offset = Ipv4Header.MIN_LENGTH_BYTES;
        while (offset < headerBytes) {
            int type = NetworkOrder.getU8(address + offset);
            if (type == Ipv4Header.OPTION_END) {
                return null;
            }
            if (type == Ipv4Header.OPTION_NOP) {
                offset++;
                continue;
            }
            int optionBytes = offset + 1 < headerBytes ? NetworkOrder.getU8(address + offset + 1) : 0;
            if (optionBytes < 2 || optionBytes > headerBytes - offset) {
                return ParseVerdict.IPV4_BAD_OPTION;
            }
            if (type == Ipv4Header.OPTION_LOOSE_SOURCE_ROUTE || type == Ipv4Header.OPTION_STRICT_SOURCE_ROUTE) {
                return ParseVerdict.IPV4_SOURCE_ROUTE;
            }
            offset += optionBytes;
        }
        return null;
    }

    private static ParseVerdict parseFragment(ParsedFrame out, int field) {
        int offsetBytes = (field & Ipv4Header.FRAGMENT_OFFSET_MASK) << 3;
        boolean more = (field & Ipv4Header.MORE_FRAGMENTS) != 0;
        int payloadBytes = out.payloadLengthBytes;
        // RFC 791 section 3.2: the length of all fragments except the last is a multiple of eight bytes.
        boolean badLength = more && (payloadBytes == 0 || (payloadBytes & 7) != 0);
        boolean tooLong = offsetBytes + payloadBytes + out.networkHeaderLengthBytes > MAX_DATAGRAM_BYTES;
        // RFC 3128: a fragment at offset 8 would overwrite the flags of a TCP header that a filter has accepted.
        boolean overlapsTcpFlags = out.protocol == IpProtocol.TCP && offsetBytes == 8;
        if (badLength || tooLong || overlapsTcpFlags) {
            return ParseVerdict.IPV4_BAD_FRAGMENT;
        }
        out.moreFragments = more;
        out.fragmentOffsetBytes = offsetBytes;
        return ParseVerdict.FRAGMENT;
    }
}
