package io.rdmaraw.tools.frame;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FrameTemplateTest {
    /** The expected checksums were computed with an independent program (Python, struct.unpack). */
    @Test
    void buildsUdpOverIpv4() {
        assertEquals("0a0b0c0d0e0f" + "020000000001" + "0800"
                        + "4500001e000040004011" + "aea7" + "c6120001c6120002"
                        + "04d2162e" + "000a" + "f048" + "6869",
                hex(FrameTemplate.parse("eth(dst=0a:0b:0c:0d:0e:0f)/ipv4/udp(src=1234,dst=5678)/payload(hex=6869)")
                        .build()));
    }

    @Test
    void buildsUdpOverIpv6InVlans() {
        String frame = hex(FrameTemplate.parse("eth/vlan(id=5,prio=3)/vlan(id=0xfff)/ipv6(fl=0x12345)/udp").build(76));
        assertEquals("020000000002" + "020000000001" + "8100" + "6005" + "8100" + "0fff" + "86dd"
                + "60012345" + "000e" + "11" + "40" + "20010002000000000000000000000001"
                + "20010002000000000000000000000002" + "c0000009" + "000e", frame.substring(0, 2 * 68));
        assertEquals("000102030405", frame.substring(2 * 70));
        assertEquals(0xffff, foldedSum(frame.substring(2 * 30, 2 * 62) + "0011" + "000e"
                + frame.substring(2 * 62)), "addresses, protocol, length and datagram must sum to all ones");
    }

    @Test
    void buildsTcpOverIpv4() {
        String frame = hex(FrameTemplate.parse("eth/ipv4/tcp(src=1000,dst=80,seq=0xfffffffe,ack=7,flags=0x18,"
                + "window=512)/payload(hex=01)").build());
        assertEquals("03e80050" + "fffffffe" + "00000007" + "5018" + "0200", frame.substring(2 * 34, 2 * 50));
        assertEquals("0000" + "01", frame.substring(2 * 52));
        assertEquals(0xffff, foldedSum(frame.substring(2 * 26, 2 * 34) + "0006" + "0015" + frame.substring(2 * 34)
                + "00"), "addresses, protocol, length and segment must sum to all ones");
    }

    @Test
    void buildsPlainEthernet() {
        assertEquals("020000000002" + "020000000001" + "88b5" + "0001", hex(FrameTemplate.parse("eth").build(16)));
        assertEquals("ffffffffffff" + "020000000001" + "0806",
                hex(FrameTemplate.parse("eth(dst=ff-ff-ff-ff-ff-ff, type=0x0806)").build()));
        assertEquals(14 + 100, FrameTemplate.parse("eth/payload(length=100)").build().length);
    }

    @Test
    void lengthCutsOrContinuesThePayload() {
        FrameTemplate template = FrameTemplate.parse("eth/payload(hex=aabbcc)");
        assertTrue(hex(template.build(16)).endsWith("88b5aabb"));
        assertTrue(hex(template.build(18)).endsWith("88b5aabbcc03"));
        assertThrows(IllegalArgumentException.class, () -> template.build(13));
        assertThrows(IllegalArgumentException.class, () -> template.build(65_536));
    }

    /**
     * A computed checksum of zero is sent as all ones (RFC 768), because zero means no checksum. The payload makes the
     * sum zero.
     */
    @Test
    void sendsAZeroChecksumAsAllOnes() {
        String zeroPayload = hex(FrameTemplate.parse("eth/ipv4/udp/payload(hex=0000)").build());
        String checksum = zeroPayload.substring(2 * 40, 2 * 42);
        assertTrue(hex(FrameTemplate.parse("eth/ipv4/udp/payload(hex=" + checksum + ")").build())
                .endsWith("ffff" + checksum));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', value = {
        "foo | there is no layer 'foo'",
        "\"\" | there is no layer ''",
        "eth/ | there is no layer ''",
        "ipv4 | 'ipv4' cannot begin a frame",
        "payload | begins with eth",
        "eth/udp | 'udp' cannot follow 'eth'",
        "eth/ipv4/ipv6 | 'ipv6' cannot follow 'ipv4'",
        "eth/payload/ipv4 | 'payload' cannot follow 'eth'",
        "eth(dst=1 | lacks its closing ')'",
        "eth(dst) | is not field=value",
        "eth(to=1) | it has: dst, src, type",
        "eth(dst=1,dst=2) | one field twice",
        "eth(dst=02:00:00:00:00) | is not a MAC address",
        "eth(dst=02:00:00:00:00:-1) | is not a MAC address",
        "eth/ipv4(src=1.2.3) | not an IPv4 address",
        "eth/ipv4(src=::1) | not an IPv4 address",
        "eth/ipv4(src=localhost) | not an IPv4 address",
        "eth/ipv6(src=1.2.3.4) | not an IPv6 address",
        "eth/ipv4(ttl=256) | is not in 0..255",
        "eth/ipv4(ttl=x) | is not a number",
        "eth/payload(hex=abc) | pairs of hex digits",
        "eth/payload(hex=ab,length=1) | not both",
    })
    void messageNamesTheFault(String template, String fault) {
        IllegalArgumentException e =
                assertThrows(IllegalArgumentException.class, () -> FrameTemplate.parse(template));
        assertTrue(e.getMessage().contains(fault), e.getMessage());
    }

    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    private static int foldedSum(String hex) {
        long sum = 0;
        for (int i = 0; i + 4 <= hex.length(); i += 4) {
            sum += Integer.parseInt(hex.substring(i, i + 4), 16);
        }
        while (sum > 0xffff) {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        return (int) sum;
    }
}
