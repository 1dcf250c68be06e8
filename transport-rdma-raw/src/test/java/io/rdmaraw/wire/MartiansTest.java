package io.rdmaraw.wire;

import static io.rdmaraw.wire.Frames.ETHERNET;
import static io.rdmaraw.wire.Frames.hex;
import static io.rdmaraw.wire.Frames.join;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.net.InetAddress;

/** Valid packets with addresses or tags that no packet on a link may have. */
class MartiansTest {
    private static final GuardedMemory MEMORY = new GuardedMemory();
    private static final String MACS = "020000000002 020000000001";
    private static final byte[] UDP = hex("1111 2222 0008 0000");

    private final ParsedFrame frame = new ParsedFrame();

    private static byte[] address(String text) {
        return InetAddress.ofLiteral(text).getAddress();
    }

    /** Returns the bytes of an IPv6 address. The JDK converts mapped addresses to IPv4, so these are expanded. */
    private static byte[] address6(String text) {
        byte[] bytes = address(text);
        return bytes.length == 16 ? bytes : join(new byte[10], hex("ffff"), bytes);
    }

    private static byte[] packet(String source, String destination, boolean ipv4, int protocol, byte[] payload) {
        if (!ipv4) {
            return join(hex("60000000 %04x %02x 40".formatted(payload.length, protocol)), address6(source),
                    address6(destination), payload);
        }
        byte[] header = join(hex("4500 %04x 0000 4000 40 %02x 0000".formatted(20 + payload.length, protocol)),
                address(source), address(destination));
        Frames.put16(header, 10, InternetChecksumTest.naive(header));
        return join(header, payload);
    }

    private static boolean isIpv4(String source, String destination) {
        return source.indexOf(':') < 0 && destination.indexOf(':') < 0;
    }

    private ParseVerdict verdict(FrameOrigin origin, byte[] bytes) {
        FrameParser parser = new FrameParser(new ParseCounters(), origin);
        ParseVerdict verdict = parser.parse(MEMORY.putAtEnd(bytes), bytes.length, true, frame);
        assertEquals(1, parser.counters().get(verdict));
        assertEquals(verdict == ParseVerdict.MARTIAN ? 1 : 0, parser.counters().martians());
        assertEquals(verdict == ParseVerdict.VLAN_FOREIGN ? 1 : 0, parser.counters().foreignVlans());
        assertEquals(0, parser.counters().malformed());
        return verdict;
    }

    /** Tests the addresses with another protocol, a fragment, and a UDP datagram. */
    private void expect(FrameOrigin origin, boolean martian, String source, String destination, boolean ipv4) {
        byte[] ethernet = hex(MACS, ipv4 ? "0800" : "86dd");
        byte[] other = join(ethernet, packet(source, destination, ipv4, 132, new byte[8]));
        assertEquals(martian ? ParseVerdict.MARTIAN : ParseVerdict.OTHER_PROTOCOL, verdict(origin, other));
        byte[] fragment = join(ethernet, packet(source, destination, ipv4, ipv4 ? 17 : 44,
                ipv4 ? new byte[8] : hex("11 00 0001 00000001 0000000000000000")));
        if (ipv4) {
            Frames.put16(fragment, 20, 0x2000);
        }
        assertEquals(martian ? ParseVerdict.MARTIAN : ParseVerdict.FRAGMENT, verdict(origin, fragment));
        if (!ipv4) {
            return;
        }
        byte[] datagram = join(ethernet, packet(source, destination, true, 17, UDP), new byte[20]);
        assertEquals(martian ? ParseVerdict.MARTIAN : ParseVerdict.UDP, verdict(origin, datagram));
        assertEquals(!martian, new FrameParser(new ParseCounters(), origin)
                .parseVerifiedUdp(MEMORY.putAtStart(datagram), datagram.length, new UdpIpv4HeaderCodec()),
                        "the short way");
    }

    /** Addresses that are valid within a host are rejected only on a link. */
    @ParameterizedTest
    @CsvSource({"127.0.0.1,192.168.0.2,false", "127.255.255.254,192.168.0.2,false", "192.168.0.1,127.0.0.1,false",
        "0.0.0.1,192.168.0.2,true", "0.1.2.3,255.255.255.255,true", "0.0.0.0,192.168.0.2,true",
        "0.0.0.0,239.1.2.3,true",
        "192.168.0.1,0.0.0.0,true", "192.168.0.1,0.1.2.3,true", "::1,2001:db8::2,false",
        "2001:db8::1,::1,false", "fe80::1,ff01::1,false", "fe80::1,ff00::1,false",
        "::ffff:127.0.0.1,2001:db8::2,true", "::ffff:10.0.0.5,2001:db8::2,true", "2001:db8::1,::ffff:10.0.0.5,true"})
    void martiansAreRejected(String source, String destination, boolean withinHostToo) {
        boolean ipv4 = isIpv4(source, destination);
        expect(FrameOrigin.LINK, true, source, destination, ipv4);
        expect(FrameOrigin.HOST, withinHostToo, source, destination, ipv4);
        boolean mapped = !ipv4 && (source + destination).indexOf('.') >= 0;
        expect(FrameOrigin.ANYWHERE, mapped, source, destination, ipv4);
    }

    @ParameterizedTest
    @CsvSource({"126.255.255.255,192.168.0.2", "128.0.0.1,192.168.0.2", "1.0.0.1,223.255.255.255",
        "192.168.0.1,239.255.255.255", "192.168.0.1,255.255.255.255", "0.0.0.0,255.255.255.255", "0.0.0.0,224.0.0.22",
        "169.254.1.2,169.254.255.255", "::,ff02::16", "::2,2001:db8::2", "fe80::1,ff02::1", "2001:db8::1,ff0e::1",
        "64:ff9b::10.0.0.1,2001:db8::2", "240.0.0.1,192.168.0.2", "192.168.0.1,255.255.255.254"})
    void otherAddressesAreAccepted(String source, String destination) {
        for (FrameOrigin origin : FrameOrigin.values()) {
            expect(origin, false, source, destination, isIpv4(source, destination));
        }
    }

    /**
     * RFC 3376 section 4.2.13, RFC 4541 section 2.1.1: the sender of a membership query need not have an address.
     */
    @ParameterizedTest
    @EnumSource(FrameOrigin.class)
    void membershipQueriesMayHaveNoSource(FrameOrigin origin) {
        assertEquals(ParseVerdict.OTHER_PROTOCOL, verdict(origin, join(hex(ETHERNET),
                packet("0.0.0.0", "239.1.2.3", true, IpProtocol.IGMP, new byte[8]))));
    }

    /**
     * Frames of a VLAN belong to another network. A tag with VLAN 0 contains only a priority (IEEE 802.1Q section
     * 9.6).
     */
    @ParameterizedTest
    @CsvSource({"8100 0000,false", "8100 a000,false", "88a8 e000 8100 2000,false", "8100 0064,true", "8100 a001,true",
        "88a8 0000 8100 0fff,true", "88a8 0005 8100 0000,true"})
    void framesOfVlansAreRejectedOnLinkAndHost(String tags, boolean foreign) {
        for (String behind : new String[] {"0800", "0806"}) {
            byte[] packet = behind.equals("0800") ? packet("192.168.0.1", "192.168.0.2", true, 17, UDP)
                    : hex("0001 0800 06 04 0001 020000000001 c0a80001 000000000000 c0a80002");
            byte[] bytes = join(hex(MACS, tags, behind), packet, new byte[20]);
            ParseVerdict sound = behind.equals("0800") ? ParseVerdict.UDP : ParseVerdict.ARP;
            for (FrameOrigin origin : FrameOrigin.values()) {
                boolean refused = foreign && origin != FrameOrigin.ANYWHERE;
                assertEquals(refused ? ParseVerdict.VLAN_FOREIGN : sound, verdict(origin, bytes));
                assertFalse(new FrameParser(new ParseCounters(), origin)
                        .parseVerifiedUdp(MEMORY.putAtStart(bytes), bytes.length, new UdpIpv4HeaderCodec()));
            }
        }
    }
}
