package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/**
 * Locates the parts of a received frame and verifies that they lie within it. This is the only class that reads
 * unchecked network data. It never throws because of the data, never reads outside the given range, runs in time
 * proportional to the frame, and does not allocate. Every frame is counted by its verdict. Not thread-safe.
 */
public final class FrameParser {
    private static final int MAX_VLAN_TAGS = 2;

    private final ParseCounters counters;
    private final FrameOrigin origin;

    /** Creates a parser for frames of unknown origin that counts into {@code counters}. */
    public FrameParser(ParseCounters counters) {
        this(counters, FrameOrigin.ANYWHERE);
    }

    /** Creates a parser that counts into {@code counters}. */
    public FrameParser(ParseCounters counters, FrameOrigin origin) {
        this.counters = counters;
        this.origin = origin;
    }

    /** Returns the counters of the verdicts. */
    public ParseCounters counters() {
        return counters;
    }

    /**
     * Parses an Ethernet frame.
     *
     * @param address           absolute address of the first byte
     * @param lengthBytes       length without the frame check sequence
     * @param checksumsVerified whether the device has verified the IP and transport checksums
     *     ({@code IBV_WC_IP_CSUM_OK}); otherwise they are verified here
     * @param out               receives the result
     */
    public ParseVerdict parse(long address, int lengthBytes, boolean checksumsVerified, ParsedFrame out) {
        out.reset(address, lengthBytes);
        return checkOrigin(parseEthernet(address, lengthBytes, checksumsVerified, out), out);
    }

    /**
     * Parses a UDP datagram over IPv4 in the common format. The device has verified its checksums.
     *
     * @param address address at which at least {@link UdpIpv4HeaderCodec#READ_BYTES} bytes are readable, even if
     *     the frame is shorter
     * @return true if the frame has this format; it is then counted as UDP. If false, call {@link #parse}
     */
    public boolean parseVerifiedUdp(long address, int lengthBytes, UdpIpv4HeaderCodec out) {
        if (!out.read(address, lengthBytes)
                || origin != FrameOrigin.ANYWHERE && out.isMartian(origin == FrameOrigin.HOST)) {
            return false;
        }
        counters.count(ParseVerdict.UDP);
        return true;
    }

    /**
     * Parses a frame if it continues a run. The device has verified its checksums.
     *
     * @param address address at which at least {@link GroAggregator#READ_BYTES} bytes are readable, even if the
     *     frame is shorter
     * @return the payload length if the frame continues the run; it is then counted as TCP. If 0, call
     *     {@link #parse}
     */
    public int parseContinuation(GroAggregator gro, long address, int lengthBytes) {
        int payloadBytes = gro.merge(address, lengthBytes);
        if (payloadBytes > 0) {
            counters.count(ParseVerdict.TCP);
        }
        return payloadBytes;
    }

    /** Parses an IP packet without a link-layer header, such as from a TUN device; otherwise as {@link #parse}. */
    public ParseVerdict parseIp(long address, int lengthBytes, boolean checksumsVerified, ParsedFrame out) {
        out.reset(address, lengthBytes);
        if (lengthBytes < 1) {
            return counted(ParseVerdict.IPV4_TRUNCATED);
        }
        boolean version6 = Ipv6Header.version(address) == 6;
        out.etherType = version6 ? EtherType.IPV6 : EtherType.IPV4;
        return checkOrigin(version6 ? Ipv6Parser.parse(out, checksumsVerified)
                : Ipv4Parser.parse(out, checksumsVerified), out);
    }

    /**
     * Parses the packet quoted in an ICMP error: the header of a packet of ours and at least the first eight
     * bytes of its payload. The quote is usually truncated, so checksums cannot be verified. The result contains
     * the addresses, the protocol, the ports and, at {@link ParsedFrame#transportHeaderAddress()}, eight bytes of the
     * transport header. The quote may be forged; compare it with the connection (RFC 5927).
     *
     * @param error an accepted ICMP or ICMPv6 message
     * @param out   receives the quoted packet; must not be {@code error}
     * @return TCP, UDP, ICMP, ICMPV6, OTHER_PROTOCOL, FRAGMENT for all but the first fragment, or QUOTE_UNUSABLE
     */
    public ParseVerdict parseQuote(ParsedFrame error, ParsedFrame out) {
        out.reset(error.payloadAddress(), error.payloadLengthBytes());
        return counted(IcmpQuotedPacketParser.parse(out, error.ipVersion()));
    }

    /**
     * Parses the packet quoted in an ICMP error without the IP header of the error, as raw ICMPv6 sockets report it.
     * Otherwise as {@link #parseQuote(ParsedFrame, ParsedFrame)}.
     *
     * @param address     absolute address of the quoted packet
     * @param lengthBytes number of bytes available
     * @param ipVersion   4 or 6
     */
    public ParseVerdict parseQuote(long address, int lengthBytes, int ipVersion, ParsedFrame out) {
        out.reset(address, lengthBytes);
        return counted(IcmpQuotedPacketParser.parse(out, ipVersion));
    }

    /**
     * Counts the verdict. Well-formed packets are rejected here, and only here, because of their addresses or
     * VLAN tags.
     */
    private ParseVerdict checkOrigin(ParseVerdict verdict, ParsedFrame out) {
        if (!verdict.isAccepted()) {
            return counted(verdict);
        }
        if (out.vlanTagCount > 0 && origin != FrameOrigin.ANYWHERE && belongsToVlan(out)) {
            return counted(ParseVerdict.VLAN_FOREIGN);
        }
        return counted(Martians.isMartian(out, origin) ? ParseVerdict.MARTIAN : verdict);
    }

    /**
     * Returns whether the frame belongs to a VLAN. A tag with identifier 0 contains only a priority (IEEE 802.1Q
     * section 9.6).
     */
    private static boolean belongsToVlan(ParsedFrame out) {
        return (VlanTag.identifier(out.outerTci) | VlanTag.identifier(out.innerTci)) != 0;
    }

    private ParseVerdict counted(ParseVerdict verdict) {
        counters.count(verdict);
        return verdict;
    }

    private static ParseVerdict parseEthernet(long address, int lengthBytes, boolean verified, ParsedFrame out) {
        if (lengthBytes < EthernetHeader.LENGTH_BYTES) {
            return ParseVerdict.ETHERNET_TRUNCATED;
        }
        if ((NetworkOrder.getU8(address + 6) & 1) != 0) {
            return ParseVerdict.ETHERNET_GROUP_SOURCE;
        }
        int typeOffset = 12;
        int etherType = EthernetHeader.etherType(address);
        while (EtherType.isVlan(etherType)) {
            if (out.vlanTagCount == MAX_VLAN_TAGS) {
                return ParseVerdict.VLAN_TOO_DEEP;
            }
            if (typeOffset + 2 + VlanTag.LENGTH_BYTES > lengthBytes) {
                return ParseVerdict.VLAN_TRUNCATED;
            }
            addTag(out, VlanTag.tci(address + typeOffset));
            etherType = VlanTag.innerEtherType(address + typeOffset);
            typeOffset += VlanTag.LENGTH_BYTES;
        }
        out.etherType = etherType;
        out.networkOffset = typeOffset + 2;
        return switch (etherType) {
            case EtherType.IPV4 -> Ipv4Parser.parse(out, verified);
            case EtherType.IPV6 -> Ipv6Parser.parse(out, verified);
            case EtherType.ARP -> parseArp(out);
            default -> otherEtherType(out);
        };
    }

    private static void addTag(ParsedFrame out, int tci) {
        if (out.vlanTagCount++ == 0) {
            out.outerTci = tci;
        } else {
            out.innerTci = tci;
        }
    }

    private static ParseVerdict parseArp(ParsedFrame out) {
        if (out.frameLengthBytes - out.networkOffset < ArpPacket.LENGTH_BYTES) {
            return ParseVerdict.ARP_TRUNCATED;
        }
        if (!ArpPacket.isEthernetIpv4(out.networkHeaderAddress())) {
            return ParseVerdict.ARP_UNSUPPORTED;
        }
        out.packetLengthBytes = ArpPacket.LENGTH_BYTES;
        return ParseVerdict.ARP;
    }

    private static ParseVerdict otherEtherType(ParsedFrame out) {
        out.payloadOffset = out.networkOffset;
        out.payloadLengthBytes = out.frameLengthBytes - out.networkOffset;
        return ParseVerdict.OTHER_ETHERTYPE;
    }
}
