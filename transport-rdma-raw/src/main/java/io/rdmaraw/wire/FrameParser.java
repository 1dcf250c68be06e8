package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/**
 * Finds the parts of a received frame and proves that they are inside it. The only reader of unchecked network data:
 * it never throws on it, never reads outside the given range, does not loop longer than the frame is, and allocates
 * nothing. Every frame is counted under its verdict. For one thread.
 */
public final class FrameParser {
    private static final int MAXIMUM_VLAN_TAGS = 2;

    private final ParseCounters counters;
    private final FrameOrigin origin;

    /** Makes a parser of frames from anywhere that counts into {@code counters}. */
    public FrameParser(ParseCounters counters) {
        this(counters, FrameOrigin.ANYWHERE);
    }

    /** Makes a parser that counts into {@code counters}. */
    public FrameParser(ParseCounters counters, FrameOrigin origin) {
        this.counters = counters;
        this.origin = origin;
    }

    /** Returns where verdicts are counted. */
    public ParseCounters counters() {
        return counters;
    }

    /**
     * Parses an Ethernet frame.
     *
     * @param address           absolute address of the first byte
     * @param lengthBytes       length without the frame check sequence
     * @param checksumsVerified whether the device has verified the IP and transport checksums
     *                          ({@code IBV_WC_IP_CSUM_OK}); else they are verified here
     * @param out               filled with what was found
     */
    public ParseVerdict parse(long address, int lengthBytes, boolean checksumsVerified, ParsedFrame out) {
        out.reset(address, lengthBytes);
        return admitted(parseEthernet(address, lengthBytes, checksumsVerified, out), out);
    }

    /**
     * Parses a frame whose checksums the device has verified, if it is an ordinary datagram.
     *
     * @param address where at least {@link UdpIpv4HeaderCodec#READ_BYTES} bytes can be read, however short the frame is
     * @return whether it is, and then it is counted as UDP; else {@link #parse} is to be asked
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
     * Parses a frame whose checksums the device has verified, if it continues a run.
     *
     * @param address where at least {@link TcpFrameRun#READ_BYTES} bytes can be read, however short the frame is
     * @return the length of its payload, and then it is counted as TCP; 0 when {@link #parse} is to be asked
     */
    public int parseContinuation(TcpFrameRun run, long address, int lengthBytes) {
        int payloadBytes = run.take(address, lengthBytes);
        if (payloadBytes > 0) {
            counters.count(ParseVerdict.TCP);
        }
        return payloadBytes;
    }

    /** Parses an IP packet without link header, as a TUN device hands it over; otherwise as {@link #parse}. */
    public ParseVerdict parseIp(long address, int lengthBytes, boolean checksumsVerified, ParsedFrame out) {
        out.reset(address, lengthBytes);
        if (lengthBytes < 1) {
            return counted(ParseVerdict.IPV4_TRUNCATED);
        }
        boolean version6 = Ipv6Header.version(address) == 6;
        out.etherType = version6 ? EtherType.IPV6 : EtherType.IPV4;
        return admitted(version6 ? Ipv6Parser.parse(out, checksumsVerified)
                : Ipv4Parser.parse(out, checksumsVerified), out);
    }

    /**
     * Parses what an ICMP error quotes: the header of a packet that we sent and at least the first eight bytes behind
     * it, mostly cut short and with checksums that can't be verified. Addresses, protocol, ports and, at
     * {@link ParsedFrame#transportAddress()}, eight bytes of the transport header are then known. Nothing proves that
     * we did send it: compare with the connection (RFC 5927).
     *
     * @param error an accepted ICMP or ICMPv6 message
     * @param out   filled with what was quoted; another object than {@code error}
     * @return TCP, UDP, ICMP, ICMPV6, OTHER_PROTOCOL, FRAGMENT for all but the first fragment, or QUOTE_UNUSABLE
     */
    public ParseVerdict parseQuote(ParsedFrame error, ParsedFrame out) {
        out.reset(error.payloadAddress(), error.payloadLengthBytes());
        return counted(IcmpQuotedPacketParser.parse(out, error.ipVersion()));
    }

    /**
     * Parses what an ICMP error quotes, when the error itself is not at hand as a packet: raw ICMPv6 sockets give no IP
     * header. Otherwise as {@link #parseQuote(ParsedFrame, ParsedFrame)}.
     *
     * @param address     absolute address of the quoted packet
     * @param lengthBytes how much of it is there
     * @param ipVersion   4 or 6
     */
    public ParseVerdict parseQuote(long address, int lengthBytes, int ipVersion, ParsedFrame out) {
        out.reset(address, lengthBytes);
        return counted(IcmpQuotedPacketParser.parse(out, ipVersion));
    }

    /** The one place where sound packets are refused for what their addresses and tags say. */
    private ParseVerdict admitted(ParseVerdict verdict, ParsedFrame out) {
        if (!verdict.isAccepted()) {
            return counted(verdict);
        }
        if (out.vlanTagCount > 0 && origin != FrameOrigin.ANYWHERE && isOfVlan(out)) {
            return counted(ParseVerdict.VLAN_FOREIGN);
        }
        return counted(Martians.isMartian(out, origin) ? ParseVerdict.MARTIAN : verdict);
    }

    /** IEEE 802.1Q section 9.6: the identifier 0 says that the tag has a priority alone. */
    private static boolean isOfVlan(ParsedFrame out) {
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
            if (out.vlanTagCount == MAXIMUM_VLAN_TAGS) {
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
        if (!ArpPacket.isEthernetIpv4(out.networkAddress())) {
            return ParseVerdict.ARP_UNSUPPORTED;
        }
        out.networkLengthBytes = ArpPacket.LENGTH_BYTES;
        return ParseVerdict.ARP;
    }

    private static ParseVerdict otherEtherType(ParsedFrame out) {
        out.payloadOffset = out.networkOffset;
        out.payloadLengthBytes = out.frameLengthBytes - out.networkOffset;
        return ParseVerdict.OTHER_ETHERTYPE;
    }
}
