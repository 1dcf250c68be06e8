package io.rdmaraw.wire;

import static io.rdmaraw.wire.Frames.ETHERNET;
import static io.rdmaraw.wire.Frames.ETHERNET6;
import static io.rdmaraw.wire.Frames.checksummed;
import static io.rdmaraw.wire.Frames.hex;
import static io.rdmaraw.wire.Frames.ipv4;
import static io.rdmaraw.wire.Frames.ipv6;
import static io.rdmaraw.wire.Frames.join;
import static io.rdmaraw.wire.Frames.tcp;
import static io.rdmaraw.wire.Frames.udp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.tcp.segment.TcpFlags;
import org.junit.jupiter.api.Test;

/** One frame per verdict and per field. {@link Frames} builds the frames without the code under test. */
class FrameParserTest {
    private static final GuardedMemory MEMORY = new GuardedMemory();
    private static final byte[] DATA = hex("68656c6c6f");
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame frame = new ParsedFrame();

    private void expect(ParseVerdict verdict, byte[]... parts) {
        byte[] bytes = join(parts);
        long before = parser.counters().get(verdict);
        assertEquals(verdict, parser.parse(MEMORY.putAtEnd(bytes), bytes.length, false, frame));
        assertEquals(before + 1, parser.counters().get(verdict));
    }

    private void expectIpv4(ParseVerdict verdict, byte[] packet) {
        expect(verdict, hex(ETHERNET), packet);
    }

    private void expectIpv6(ParseVerdict verdict, byte[] packet) {
        expect(verdict, hex(ETHERNET6), packet);
    }

    private static byte[] with(byte[] bytes, int offset, int value) {
        byte[] copy = bytes.clone();
        copy[offset] = (byte) value;
        return copy;
    }

    /** Corrects the header checksum after a change, so that only the change is invalid. */
    private static byte[] fixed(byte[] packet) {
        byte[] header = new byte[Math.min((packet[0] & 0xf) * 4, packet.length)];
        System.arraycopy(packet, 0, header, 0, header.length);
        Frames.put16(header, 10, 0);
        byte[] copy = packet.clone();
        Frames.put16(copy, 10, InternetChecksumTest.naive(header));
        return copy;
    }

    private String payload() {
        return new String(GuardedMemory.bytes(frame.payloadAddress(), frame.payloadLengthBytes()),
                java.nio.charset.StandardCharsets.US_ASCII);
    }

    @Test
    void tcpOverIpv4() {
        expectIpv4(ParseVerdict.TCP, ipv4(6, 0x4000, tcp(4, hex("0101080a0000000100000002"), DATA)));
        assertEquals(4, frame.ipVersion());
        assertEquals(0xc0a80001, frame.sourceIpv4());
        assertEquals(0xc0a80002, frame.destinationIpv4());
        assertEquals(0x3333, frame.sourcePort());
        assertEquals(80, frame.destinationPort());
        assertEquals(14, frame.networkOffset);
        assertEquals(20, frame.networkHeaderLengthBytes);
        assertEquals(57, frame.packetLengthBytes());
        assertEquals(34, frame.transportOffset());
        assertEquals(32, frame.transportHeaderLengthBytes());
        assertTrue(frame.dontFragment);
        assertEquals(64, frame.hopLimit());
        assertEquals("hello", payload());
        long header = frame.transportHeaderAddress();
        assertEquals(0x01020304, TcpHeader.sequence(header));
        assertEquals(0x0a0b0c0d, NetworkOrder.getInt(header + 8));
        assertEquals(TcpFlags.ACK | TcpFlags.PSH, NetworkOrder.getU8(header + 13));
        assertEquals(0x7fff, NetworkOrder.getU16(header + 14));
        TcpOptions options = new TcpOptions();
        assertTrue(options.parse(frame));
        assertEquals(1, options.timestampValue());
    }

    @Test
    void paddingIsNotPayload() {
        expect(ParseVerdict.UDP, hex(ETHERNET), ipv4(17, 0, udp(4, DATA)), new byte[13]);
        assertEquals("hello", payload());
        // RFC 768: the UDP length may be shorter than the packet; the bytes after it are not data.
        byte[] shorter = join(checksummed(4, 17, 6, join(hex("1111 2222 000d 0000"), DATA)), hex("ffff"));
        expectIpv4(ParseVerdict.UDP, ipv4(17, 0, shorter));
        assertEquals("hello", payload());
    }

    @Test
    void vlanTags() {
        byte[] packet = ipv4(17, 0, udp(4, DATA));
        String macs = ETHERNET.substring(0, 24);
        expect(ParseVerdict.UDP, hex(macs, "8100 a064 0800"), packet);
        assertEquals(1, frame.vlanTagCount);
        assertEquals(100, VlanTag.identifier(frame.outerTci));
        assertEquals(5, frame.outerTci >>> 13);
        assertEquals(18, frame.networkOffset);
        expect(ParseVerdict.UDP, hex(macs, "88a8 0001 8100 0002 0800"), packet);
        assertEquals(2, frame.vlanTagCount);
        assertEquals(1, frame.outerTci);
        assertEquals(2, frame.innerTci);
        assertEquals("hello", payload());
        expect(ParseVerdict.VLAN_TOO_DEEP, hex(macs, "8100 0001 8100 0002 8100 0003 0800"), packet);
        expect(ParseVerdict.VLAN_TRUNCATED, hex(macs, "8100 0001 08"));
        expect(ParseVerdict.VLAN_TRUNCATED, hex(macs, "8100"));
    }

    @Test
    void linkLayerVerdicts() {
        expect(ParseVerdict.ETHERNET_TRUNCATED, new byte[13]);
        expect(ParseVerdict.ETHERNET_TRUNCATED, new byte[0]);
        expect(ParseVerdict.ETHERNET_GROUP_SOURCE, hex("020000000002 010000000001 0800"));
        expect(ParseVerdict.OTHER_ETHERTYPE, hex("0180c200000e 020000000001 88cc 0207"));
        assertEquals(EtherType.LLDP, frame.etherType);
        assertEquals(2, frame.payloadLengthBytes());
        expect(ParseVerdict.OTHER_ETHERTYPE, hex("0180c2000000 020000000001 0026 424203"));
    }

    @Test
    void arp() {
        String macs = "ffffffffffff 020000000001 0806";
        expect(ParseVerdict.ARP, hex(macs, "0001 0800 06 04 0001 020000000001 c0a80001 000000000000 c0a80002"));
        long packet = frame.networkHeaderAddress();
        assertEquals(ArpPacket.REQUEST, ArpPacket.operation(packet));
        assertEquals(0x020000000001L, ArpPacket.senderMac(packet));
        assertEquals(0xc0a80001, ArpPacket.senderIp(packet));
        assertEquals(0, NetworkOrder.getU48(packet + 18));
        assertEquals(0xc0a80002, ArpPacket.targetIp(packet));
        expect(ParseVerdict.ARP_TRUNCATED, hex(macs, "0001 0800 06 04 0001 020000000001 c0a80001"));
        expect(ParseVerdict.ARP_UNSUPPORTED, hex(macs, "0006 0800 06 04 0001 020000000001 c0a80001 00000000 c0a80002"),
                new byte[8]);
    }

    @Test
    void ipv4Verdicts() {
        byte[] good = ipv4(17, 0, udp(4, DATA));
        expectIpv4(ParseVerdict.IPV4_TRUNCATED, new byte[19]);
        expectIpv4(ParseVerdict.IPV4_BAD_VERSION, fixed(with(good, 0, 0x55)));
        expectIpv4(ParseVerdict.IPV4_BAD_HEADER_LENGTH, fixed(with(good, 0, 0x44)));
        expectIpv4(ParseVerdict.IPV4_TRUNCATED, with(good, 0, 0x4f));
        expectIpv4(ParseVerdict.IPV4_BAD_TOTAL_LENGTH, fixed(with(good, 3, good.length + 1)));
        expectIpv4(ParseVerdict.IPV4_BAD_TOTAL_LENGTH, fixed(with(good, 3, 19)));
        expectIpv4(ParseVerdict.IPV4_BAD_CHECKSUM, with(good, 8, 63));
        expectIpv4(ParseVerdict.IPV4_BAD_SOURCE, fixed(with(good, 12, 224)));
        byte[] fromBroadcast = with(with(with(with(good, 12, 255), 13, 255), 14, 255), 15, 255);
        expectIpv4(ParseVerdict.IPV4_BAD_SOURCE, fixed(fromBroadcast));
        expectIpv4(ParseVerdict.OTHER_PROTOCOL, ipv4(132, 0, DATA));
        assertEquals("hello", payload());
        expectIpv4(ParseVerdict.OTHER_PROTOCOL, ipv4(58, 0, new byte[24]));
    }

    @Test
    void ipv4Options() {
        byte[] datagram = udp(4, DATA);
        expectIpv4(ParseVerdict.UDP, ipv4(17, 0, hex("94040000"), datagram));
        assertEquals(24, frame.networkHeaderLengthBytes);
        assertEquals("hello", payload());
        expectIpv4(ParseVerdict.UDP, ipv4(17, 0, hex("010100ff"), datagram));
        expectIpv4(ParseVerdict.IPV4_BAD_OPTION, ipv4(17, 0, hex("07050000"), datagram));
        expectIpv4(ParseVerdict.IPV4_BAD_OPTION, ipv4(17, 0, hex("07010000"), datagram));
        expectIpv4(ParseVerdict.IPV4_BAD_OPTION, ipv4(17, 0, hex("01010107"), datagram));
        expectIpv4(ParseVerdict.IPV4_SOURCE_ROUTE, ipv4(17, 0, hex("830704c0a8000300"), datagram));
        expectIpv4(ParseVerdict.IPV4_SOURCE_ROUTE, ipv4(17, 0, hex("01890704c0a80003"), datagram));
    }

    @Test
    void ipv4Fragments() {
        expectIpv4(ParseVerdict.FRAGMENT, ipv4(17, 0x2000, new byte[16]));
        assertTrue(frame.hasMoreFragments());
        assertEquals(0, frame.fragmentOffsetBytes());
        assertEquals(0x1234, frame.fragmentIdentification());
        assertEquals(0, frame.sourcePort());
        expectIpv4(ParseVerdict.FRAGMENT, ipv4(17, 2, DATA));
        assertFalse(frame.hasMoreFragments());
        assertEquals(16, frame.fragmentOffsetBytes());
        assertEquals("hello", payload());
        expectIpv4(ParseVerdict.IPV4_BAD_FRAGMENT, ipv4(17, 0x2000, DATA));
        expectIpv4(ParseVerdict.IPV4_BAD_FRAGMENT, ipv4(17, 0x2001, new byte[0]));
        expectIpv4(ParseVerdict.IPV4_BAD_FRAGMENT, ipv4(17, 0x1fff, DATA));
        expectIpv4(ParseVerdict.IPV4_BAD_FRAGMENT, ipv4(6, 1, new byte[16]));
    }

    @Test
    void udpVerdicts() {
        expectIpv4(ParseVerdict.UDP_TRUNCATED, ipv4(17, 0, new byte[7]));
        expectIpv4(ParseVerdict.UDP_BAD_LENGTH, ipv4(17, 0, hex("1111 2222 0007 0000")));
        expectIpv4(ParseVerdict.UDP_BAD_LENGTH, ipv4(17, 0, hex("1111 2222 0009 0000")));
        expectIpv4(ParseVerdict.UDP_BAD_CHECKSUM, ipv4(17, 0, with(udp(4, DATA), 12, 0)));
        expectIpv4(ParseVerdict.UDP, ipv4(17, 0, hex("1111 2222 0008 0000")));
        assertEquals(0, frame.payloadLengthBytes());
        expectIpv6(ParseVerdict.UDP_NO_CHECKSUM, ipv6(17, 64, hex("1111 2222 0008 0000")));
        byte[] damaged = join(hex(ETHERNET), ipv4(17, 0, with(udp(4, DATA), 12, 0)));
        assertEquals(ParseVerdict.UDP, parser.parse(MEMORY.putAtEnd(damaged), damaged.length, true, frame));
    }

    @Test
    void tcpVerdicts() {
        byte[] good = tcp(4, new byte[0], DATA);
        expectIpv4(ParseVerdict.TCP_TRUNCATED, ipv4(6, 0, new byte[19]));
        expectIpv4(ParseVerdict.TCP_BAD_DATA_OFFSET, ipv4(6, 0, with(good, 12, 0x40)));
        expectIpv4(ParseVerdict.TCP_BAD_DATA_OFFSET, ipv4(6, 0, with(good, 12, 0x70)));
        expectIpv4(ParseVerdict.TCP_BAD_CHECKSUM, ipv4(6, 0, with(good, 24, 1)));
        byte[] broadcast = hex("45000028000000004006 0000 c0a80001 ffffffff");
        byte[] pseudo = hex("c0a80001ffffffff0000001400000006");
        byte[] segment = hex("3333 0050 01020304 0a0b0c0d 5018 7fff 0000 0000");
        Frames.put16(segment, 16, InternetChecksumTest.naive(join(pseudo, segment)));
        expectIpv4(ParseVerdict.TCP_BAD_ADDRESS, fixed(join(broadcast, segment)));
    }

    @Test
    void ipv6Verdicts() {
        byte[] good = ipv6(6, 64, tcp(6, new byte[0], DATA));
        expectIpv6(ParseVerdict.TCP, good);
        assertEquals(6, frame.ipVersion());
        assertEquals(0x3333, frame.sourcePort());
        assertEquals("hello", payload());
        expectIpv6(ParseVerdict.IPV6_TRUNCATED, new byte[39]);
        expectIpv6(ParseVerdict.IPV6_BAD_VERSION, with(good, 0, 0x40));
        expectIpv6(ParseVerdict.IPV6_BAD_PAYLOAD_LENGTH, with(good, 5, 200));
        expectIpv6(ParseVerdict.IPV6_BAD_ADDRESS, with(good, 8, 0xff));
        expectIpv6(ParseVerdict.TCP_BAD_CHECKSUM, with(good, 39, 9));
        expectIpv6(ParseVerdict.OTHER_PROTOCOL, ipv6(59, 64, DATA));
        expectIpv6(ParseVerdict.OTHER_PROTOCOL, ipv6(1, 64, new byte[16]));
        expectIpv6(ParseVerdict.UDP, ipv6(17, 64, udp(6, DATA)));
    }

    @Test
    void ipv6Extensions() {
        byte[] datagram = udp(6, DATA);
        expectIpv6(ParseVerdict.UDP, ipv6(0, 64, join(hex("1100 050200000100"), datagram)));
        assertEquals(48, frame.networkHeaderLengthBytes);
        assertEquals(IpProtocol.UDP, frame.protocol());
        assertEquals("hello", payload());
        expectIpv6(ParseVerdict.UDP, ipv6(43, 64, join(hex("1100 000000000000"), datagram)));
        expectIpv6(ParseVerdict.IPV6_ROUTING_HEADER, ipv6(43, 64, join(hex("1100 000100000000"), datagram)));
        expectIpv6(ParseVerdict.IPV6_BAD_EXTENSION, ipv6(60, 64, join(hex("0000 010400000000"),
                hex("1100 010400000000"), datagram)));
        expectIpv6(ParseVerdict.IPV6_UNKNOWN_OPTION, ipv6(60, 64, join(hex("1100 c20400010000"), datagram)));
        expectIpv6(ParseVerdict.UDP, ipv6(60, 64, join(hex("1100 3e0400010000"), datagram)));
        expectIpv6(ParseVerdict.IPV6_BAD_EXTENSION, ipv6(60, 64, join(hex("1100 010500000000"), datagram)));
        expectIpv6(ParseVerdict.IPV6_BAD_EXTENSION, ipv6(60, 64, join(hex("1100 000000000001"), datagram)));
        expectIpv6(ParseVerdict.IPV6_BAD_EXTENSION, ipv6(60, 64, join(hex("11ff 010400000000"), datagram)));
        expectIpv6(ParseVerdict.IPV6_BAD_EXTENSION, ipv6(60, 64, hex("11000104")));
        byte[] many = new byte[0];
        for (int i = 0; i < 9; i++) {
            many = join(many, hex("3c00 010400000000"));
        }
        expectIpv6(ParseVerdict.IPV6_TOO_MANY_EXTENSIONS, ipv6(60, 64, join(many, datagram)));
    }

    @Test
    void ipv6Fragments() {
        expectIpv6(ParseVerdict.FRAGMENT, ipv6(44, 64, hex("1100 0009 01020304 68656c6c6f212121")));
        assertTrue(frame.hasMoreFragments());
        assertEquals(8, frame.fragmentOffsetBytes());
        assertEquals(0x01020304, frame.fragmentIdentification());
        assertEquals(IpProtocol.UDP, frame.protocol());
        assertEquals("hello!!!", payload());
        expectIpv6(ParseVerdict.IPV6_BAD_FRAGMENT, ipv6(44, 64, hex("1100 0001 01020304 68656c6c6f")));
        expectIpv6(ParseVerdict.IPV6_BAD_FRAGMENT, ipv6(44, 64, join(hex("1100 fff8 01020304"), new byte[16])));
        // RFC 6946: a fragment that contains the whole datagram is not treated as a fragment.
        expectIpv6(ParseVerdict.UDP, ipv6(44, 64, join(hex("1100 0000 01020304"), udp(6, DATA))));
        assertEquals("hello", payload());
    }

    @Test
    void icmp() {
        expectIpv4(ParseVerdict.ICMP, ipv4(1, 0, checksummed(4, 1, 2, join(hex("0800 0000 abcd 0007"), DATA))));
        assertEquals(IcmpHeader.ECHO_REQUEST, IcmpHeader.type(frame.transportHeaderAddress()));
        assertEquals(0xabcd, NetworkOrder.getU16(frame.transportHeaderAddress() + 4));
        assertEquals(7, NetworkOrder.getU16(frame.transportHeaderAddress() + 6));
        assertEquals("hello", payload());
        expectIpv4(ParseVerdict.ICMP_TRUNCATED, ipv4(1, 0, new byte[7]));
        expectIpv4(ParseVerdict.ICMP_BAD_CHECKSUM, ipv4(1, 0, hex("0800 1111 abcd 0007")));
        expectIpv6(ParseVerdict.ICMPV6, ipv6(58, 64, checksummed(6, 58, 2, hex("8000 0000 abcd 0007"))));
        expectIpv6(ParseVerdict.ICMP_TRUNCATED, ipv6(58, 64, new byte[7]));
        expectIpv6(ParseVerdict.ICMP_BAD_CHECKSUM, ipv6(58, 64, hex("8000 1111 abcd 0007")));
    }

    @Test
    void neighbourDiscovery() {
        String solicitation = "8700 0000 00000000" + Frames.V6_DESTINATION;
        byte[] good = checksummed(6, 58, 2, hex(solicitation, "0101 020000000001"));
        expectIpv6(ParseVerdict.ICMPV6, ipv6(58, 255, good));
        long message = frame.transportHeaderAddress();
        assertEquals(0x20010db800000000L, NeighborDiscovery.targetHigh(message));
        assertEquals(2, NeighborDiscovery.targetLow(message));
        assertEquals(0x020000000001L, NeighborDiscovery.linkLayerOption(message, 32, 24, 1));
        assertEquals(NeighborDiscovery.ABSENT, NeighborDiscovery.linkLayerOption(message, 32, 24, 2));
        assertEquals(NeighborDiscovery.ABSENT, NeighborDiscovery.linkLayerOption(message, 31, 24, 1));
        expectIpv6(ParseVerdict.ND_BAD_HOP_LIMIT, ipv6(58, 64, good));
        expectIpv6(ParseVerdict.ND_MALFORMED, ipv6(58, 255, checksummed(6, 58, 2, hex(solicitation,
                "0100 020000000001"))));
        expectIpv6(ParseVerdict.ND_MALFORMED, ipv6(58, 255, checksummed(6, 58, 2, hex(solicitation,
                "0102 020000000001"))));
        expectIpv6(ParseVerdict.ND_MALFORMED, ipv6(58, 255, checksummed(6, 58, 2, hex("8700 0000 00000000 0000"))));
        expectIpv6(ParseVerdict.ND_MALFORMED, ipv6(58, 255, checksummed(6, 58, 2, hex("8701",
                solicitation.substring(4)))));
    }

    @Test
    void quotesOfIcmpErrors() {
        byte[] ours = ipv4(6, 0x4000, tcp(4, new byte[0], DATA));
        byte[] cut = java.util.Arrays.copyOf(ours, 28);
        expectIpv4(ParseVerdict.ICMP, ipv4(1, 0, checksummed(4, 1, 2, join(hex("0304 0000 0000 0578"), cut))));
        assertEquals(1400, IcmpHeader.nextHopMtu(frame.transportHeaderAddress()));
        ParsedFrame quote = new ParsedFrame();
        assertEquals(ParseVerdict.TCP, parser.parseQuote(frame, quote));
        assertEquals(0xc0a80001, quote.sourceIpv4());
        assertEquals(0x3333, quote.sourcePort());
        assertEquals(80, quote.destinationPort());
        assertEquals(0x01020304, TcpHeader.sequence(quote.transportHeaderAddress()));
        expectIpv4(ParseVerdict.ICMP, ipv4(1, 0, checksummed(4, 1, 2, join(hex("0304 0000 0000 0578"),
                java.util.Arrays.copyOf(ours, 27)))));
        assertEquals(ParseVerdict.QUOTE_UNUSABLE, parser.parseQuote(frame, quote));

        byte[] ours6 = java.util.Arrays.copyOf(ipv6(17, 64, udp(6, new byte[2000])), 1232);
        expectIpv6(ParseVerdict.ICMPV6, ipv6(58, 64, checksummed(6, 58, 2, join(hex("0200 0000 00000500"), ours6))));
        assertEquals(1280, IcmpHeader.packetTooBigMtu(frame.transportHeaderAddress()));
        assertEquals(ParseVerdict.UDP, parser.parseQuote(frame, quote));
        assertEquals(0x1111, quote.sourcePort());
        assertEquals(0x2222, quote.destinationPort());
    }

    @Test
    void packetsWithoutLinkHeader() {
        byte[] four = ipv4(17, 0, udp(4, DATA));
        assertEquals(ParseVerdict.UDP, parser.parseIp(MEMORY.putAtEnd(four), four.length, false, frame));
        assertEquals("hello", payload());
        byte[] six = ipv6(6, 64, tcp(6, new byte[0], DATA));
        assertEquals(ParseVerdict.TCP, parser.parseIp(MEMORY.putAtEnd(six), six.length, false, frame));
        assertEquals("hello", payload());
        assertEquals(ParseVerdict.IPV4_TRUNCATED, parser.parseIp(MEMORY.atEnd(0), 0, false, frame));
    }
}
