package io.rdmaraw.verbs.flow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FlowSpecTest {
    @Test
    void parsedTextEqualsBuiltRule() throws Exception {
        FlowSpec dns = FlowSpec.builder().ipv4Destination("10.0.0.1").udp().destinationPort(53).build();
        assertEquals(dns, FlowSpec.parse("udp dst-port 53 dst 10.0.0.1"));
        assertEquals("dst 10.0.0.1 udp dst-port 53", dns.toString());
        assertEquals(dns, FlowSpec.builder().ipv4Destination((Inet4Address) InetAddress.getByName("10.0.0.1")).udp()
                .destinationPort(53).build());
        assertEquals(dns.hashCode(), FlowSpec.parse(dns.toString()).hashCode());
        assertNotEquals(dns, FlowSpec.parse("udp dst-port 53 dst 10.0.0.2"));
        assertNotEquals(dns, dns.toBuilder().priority(1).build());
        assertEquals(dns, dns.toBuilder().build());
        FlowSpec v6 = FlowSpec.builder().ipv6Source((Inet6Address) InetAddress.getByName("2001:db8::"),
                33).tcp().build();
        assertEquals("src 2001:db8:0:0:0:0:0:0/33 tcp", v6.toString());
        assertEquals(v6, FlowSpec.parse("TCP  src 2001:db8::/33"));
        assertEquals("all", FlowSpec.builder().build().toString());
        assertEquals("sniffer port 2", FlowSpec.builder().type(FlowType.SNIFFER).devicePort(2).build().toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "all", "all-default", "mc-default port 2", "sniffer", "all priority 3 dont-trap",
        "dst-mac 02:00:00:00:00:01 vlan 5 ether-type 0x88b5", "dst-mac 01:00:5e:00:00:00/ff:ff:ff:80:00:00",
        "src-mac 0a:0b:0c:0d:0e:0f vlan-tag 0x2000/0xe000 ip4", "ether-type 0x800/0xff00",
        "src 10.0.0.0/8 dst 10.0.0.1/255.0.0.255 proto 89 tos 0x10/0xfc ttl 1 ip-flags 2",
        "ip6 proto 58", "dst fe80:0:0:0:0:0:0:1/ffff:0:0:0:0:0:0:ffff flow-label 7 tos 184 tcp dst-port 0x1000/0xf000",
        "udp dst-port 4789 vxlan 42 inner dst-mac 02:00:00:00:00:09 src 10.9.0.1 tcp src-port 80",
        "tcp dst-port 80 drop", "udp dst-port 53 tag 7 allow-host-traffic",
    })
    void theTextFormIsReadBackAsItWasWritten(String text) {
        assertEquals(text, FlowSpec.parse(text).toString());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "''|cannot be empty",
        "udp dst-port|\"dst-port\" needs a value",
        "udp dst-port http|the value of \"dst-port\" must be a number, not \"http\"",
        "udp dst-port 65536|the destination port is 0 to 65535, not 65536",
        "udp dst-port 0x35/0x30|the destination port 0x35 has bits outside its mask 0x30",
        "udp udp|\"udp\" is there twice",
        "udp tcp|TCP and UDP at once",
        "dst-port 53|whether of TCP or of UDP",
        "proto 17|whether of IPv4 or of IPv6",
        "ip4 proto 6 udp|IP protocol 6 contradicts UDP",
        "ip4 ip6|IPv4 and IPv6 at once",
        "src 10.0.0.1 dst fe80::1|IPv4 and IPv6 at once",
        "src 10.0.0.1/8|the IPv4 address 10.0.0.1 has bits outside its mask 255.0.0.0",
        "src 10.0.0.0/33|an IPv4 prefix length is 0 to 32, not 33",
        "src 10.0.0|\"10.0.0\" is not an IPv4 address",
        "src 10.0.0.256|\"10.0.0.256\" is not an IPv4 address",
        "src ::ffff:10.0.0.1|match IPv4 instead",
        "src fe80::1::2|\"fe80::1::2\" is not an IPv6 address",
        "src fe80::1/64|has bits outside its mask",
        "src fe80::/129|an IPv6 prefix length is 0 to 128",
        "src example.org|\"example.org\" is not an IPv4 address",
        "dst-mac 02:00:00:00:00|is not a MAC address",
        "vlan 4096|the VLAN id is 0 to 4095, not 4096",
        "ether-type 0x0806 ip4|EtherType 0x806 contradicts the match on IPv4",
        "ether-type 0x0800 ip6|EtherType 0x800 contradicts the match on IPv6",
        "ether-type 0x88b5 udp|EtherType 0x88b5 is not IP",
        "inner udp dst-port 1|of which tunnel",
        "vxlan 16777216|the VXLAN network identifier is 0 to 16777215",
        "sniffer udp|a rule of type sniffer takes no conditions",
        "all-default dont-trap|a rule of type all-default cannot be dont-trap",
        "sniffer mc-default|it has two types",
        "all udp|\"all\" contradicts",
        "tcp dst-port 1 drop tag 3|cannot also copy or tag",
        "udp count|counters cannot be named in text",
        "port 0|the device's port is 1 to 255, not 0",
        "frobnicate|\"frobnicate\" is not one of all,",
        "tag 16777216|the tag is 0 to 16777215",
    })
    void invalidTextIsRejectedWithReason(String text, String reason) {
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> FlowSpec.parse(text));
        assertTrue(e.getMessage().startsWith("\"" + text + "\" is not a flow rule: "), e.getMessage());
        assertTrue(e.getMessage().contains(reason), e.getMessage());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "all|matches every frame",
        "dst-mac 02:00:00:00:00:01|without a TCP or UDP port",
        "vlan 5|without a TCP or UDP port",
        "ether-type 0x0806|ARP",
        "ether-type 0x8809|LACP",
        "ether-type 0x0800|all of IP",
        "ether-type 0x86dd|all of IP",
        "ether-type 0x0800/0x0800|without a TCP or UDP port",
        "dst-mac 02:00:00:00:00:01 ip4|without a TCP or UDP port",
        "dst 10.0.0.1|without a TCP or UDP port",
        "dst fe80::1|without a TCP or UDP port",
        "ip4 proto 1|ICMP",
        "ip6 proto 58|neighbour discovery",
        "ip4 proto 6|every TCP port",
        "udp|every UDP port",
        "tcp dst 10.0.0.1|every TCP port",
        "udp dst-port 4791|RoCE",
        "udp dst-port 0x12b7/0xffff|RoCE",
        "udp dst-port 1/1|RoCE",
        "all drop|matches every frame",
        "all tag 3|matches every frame",
    })
    void rulesThatCutTheHostOffAreRefusedUnlessNamed(String text, String reason) {
        FlowSpec spec = FlowSpec.parse(text);
        assertTrue(spec.takesHostTraffic());
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class, spec::checkHostTraffic);
        assertTrue(e.getMessage().contains(reason), e.getMessage());
        assertTrue(e.getMessage().contains("allow-host-traffic"), e.getMessage());
        FlowSpec allowed = spec.toBuilder().allowHostTraffic().build();
        assertTrue(allowed.takesHostTraffic());
        allowed.checkHostTraffic();
        assertNotEquals(spec, allowed);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "udp dst-port 53", "tcp dst-port 443 dst 10.0.0.1", "udp src-port 4791", "tcp dst-port 4791",
        "ether-type 0x88b5",
        "dst-mac 02:00:00:00:00:01 ether-type 0x88b5", "ip4 proto 89", "all dont-trap", "ether-type 0x0806 dont-trap",
        "sniffer", "all-default", "mc-default", "vxlan 7", "udp dst-port 4789 vxlan 7 inner dst 10.0.0.1",
    })
    void narrowRulesAndCopiesLeaveTheHostAlone(String text) {
        FlowSpec spec = FlowSpec.parse(text);
        assertFalse(spec.takesHostTraffic());
        spec.checkHostTraffic();
    }
}
