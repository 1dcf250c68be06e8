package io.rdmaraw.verbs.flow;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.ffi.CProgram;
import io.rdmaraw.ffi.NativeMemory;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Compares encoded rules with C structures that a compiled program fills in member by member. */
class FlowSpecEncodingTest {
    private static final String HEAD = """
            #include <arpa/inet.h>
            #include <infiniband/verbs.h>
            #include <stdio.h>
            #include <string.h>
            static unsigned char buffer[512];
            static size_t used;
            static struct ibv_flow_attr *attr;
            static struct ibv_flow_attr *begin(void) {
                memset(buffer, 0, sizeof buffer);
                used = sizeof(struct ibv_flow_attr);
                attr = (struct ibv_flow_attr *) buffer;
                attr->port = 1;
                return attr;
            }
            __attribute__((unused)) static void append(void *spec, int type, size_t size) {
                ((struct ibv_flow_spec_eth *) spec)->type = type;
                ((struct ibv_flow_spec_eth *) spec)->size = size;
                memcpy(buffer + used, spec, size);
                used += size;
                attr->num_of_specs++;
            }
            static void end(void) {
                attr->size = used;
                for (size_t i = 0; i < used; i++) printf("%02x", buffer[i]);
                printf("\\n");
            }
            int main(void) {
            """;

    private static void check(FlowSpec spec, String cBody) throws Exception {
        List<String> lines = CProgram.run(HEAD + "begin();\n" + cBody + "\nend();\nreturn 0;\n}\n");
        assertEquals(lines.getFirst(), encode(spec), spec.toString());
    }

    static String encode(FlowSpec spec) {
        try (Arena arena = Arena.ofConfined()) {
            long address = arena.allocate(spec.encodedBytes(), 8).address();
            spec.writeTo(address);
            StringBuilder hex = new StringBuilder();
            for (int i = 0; i < spec.encodedBytes(); i++) {
                hex.append(String.format("%02x", NativeMemory.getByte(address + i)));
            }
            return hex.toString();
        }
    }

    @Test
    void attributes() throws Exception {
        check(FlowSpec.builder().priority(0x102).devicePort(2).dontTrap().build(),
                "attr->priority = 0x102; attr->port = 2; attr->flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;");
        check(FlowSpec.builder().type(FlowType.SNIFFER).build(), "attr->type = IBV_FLOW_ATTR_SNIFFER;");
        check(FlowSpec.builder().type(FlowType.ALL_DEFAULT).build(), "attr->type = IBV_FLOW_ATTR_ALL_DEFAULT;");
        check(FlowSpec.builder().type(FlowType.MC_DEFAULT).build(), "attr->type = IBV_FLOW_ATTR_MC_DEFAULT;");
    }

    @Test
    void ethernet() throws Exception {
        check(FlowSpec.builder().destinationMac("02:11:22:33:44:55").sourceMac(0x0a0000000000L, 0xff00000000ffL)
                .etherType(0x88b5).vlan(0x123).build(), """
                struct ibv_flow_spec_eth eth;
                memset(&eth, 0, sizeof eth);
                memcpy(eth.val.dst_mac, "\\x02\\x11\\x22\\x33\\x44\\x55", 6);
                memset(eth.mask.dst_mac, 0xff, 6);
                memcpy(eth.val.src_mac, "\\x0a\\0\\0\\0\\0\\0", 6);
                memcpy(eth.mask.src_mac, "\\xff\\0\\0\\0\\0\\xff", 6);
                eth.val.ether_type = htons(0x88b5);
                eth.mask.ether_type = 0xffff;
                eth.val.vlan_tag = htons(0x123);
                eth.mask.vlan_tag = htons(0x0fff);
                append(&eth, IBV_FLOW_SPEC_ETH, sizeof eth);
                """);
    }

    @Test
    void ipv4AndUdp() throws Exception {
        check(FlowSpec.builder().ipv4Source("10.1.0.0/16").ipv4Destination("192.168.1.2").udp().destinationPort(53)
                .sourcePort(0x1200, 0xff00).build(), """
                struct ibv_flow_spec_ipv4 ip;
                memset(&ip, 0, sizeof ip);
                ip.val.src_ip = inet_addr("10.1.0.0");
                ip.mask.src_ip = inet_addr("255.255.0.0");
                ip.val.dst_ip = inet_addr("192.168.1.2");
                ip.mask.dst_ip = 0xffffffff;
                append(&ip, IBV_FLOW_SPEC_IPV4, sizeof ip);
                struct ibv_flow_spec_tcp_udp udp;
                memset(&udp, 0, sizeof udp);
                udp.val.dst_port = htons(53);
                udp.mask.dst_port = 0xffff;
                udp.val.src_port = htons(0x1200);
                udp.mask.src_port = htons(0xff00);
                append(&udp, IBV_FLOW_SPEC_UDP, sizeof udp);
                """);
    }

    @Test
    void ipv4Extended() throws Exception {
        check(FlowSpec.builder().ipv4Destination("10.0.0.1").protocol(89).trafficClass(0x10, 0xfc).hopLimit(1, 0xff)
                .ipv4Flags(2, 6).build(), """
                struct ibv_flow_spec_ipv4_ext ip;
                memset(&ip, 0, sizeof ip);
                ip.val.dst_ip = inet_addr("10.0.0.1");
                ip.mask.dst_ip = 0xffffffff;
                ip.val.proto = 89;
                ip.mask.proto = 0xff;
                ip.val.tos = 0x10;
                ip.mask.tos = 0xfc;
                ip.val.ttl = 1;
                ip.mask.ttl = 0xff;
                ip.val.flags = 2;
                ip.mask.flags = 6;
                append(&ip, IBV_FLOW_SPEC_IPV4_EXT, sizeof ip);
                """);
    }

    @Test
    void ipv6AndTcp() throws Exception {
        check(FlowSpec.builder().ipv6Source("2001:db8::/32").ipv6Destination("fe80::1:2").flowLabel(0x12345, 0xfffff)
                .protocol(6).trafficClass(0xb8, 0xff).hopLimit(64, 0xff).tcp().destinationPort(443).build(), """
                struct ibv_flow_spec_ipv6 ip;
                memset(&ip, 0, sizeof ip);
                inet_pton(AF_INET6, "2001:db8::", ip.val.src_ip);
                inet_pton(AF_INET6, "ffff:ffff::", ip.mask.src_ip);
                inet_pton(AF_INET6, "fe80::1:2", ip.val.dst_ip);
                memset(ip.mask.dst_ip, 0xff, 16);
                ip.val.flow_label = htonl(0x12345);
                ip.mask.flow_label = htonl(0xfffff);
                ip.val.next_hdr = 6;
                ip.mask.next_hdr = 0xff;
                ip.val.traffic_class = 0xb8;
                ip.mask.traffic_class = 0xff;
                ip.val.hop_limit = 64;
                ip.mask.hop_limit = 0xff;
                append(&ip, IBV_FLOW_SPEC_IPV6, sizeof ip);
                struct ibv_flow_spec_tcp_udp tcp;
                memset(&tcp, 0, sizeof tcp);
                tcp.val.dst_port = htons(443);
                tcp.mask.dst_port = 0xffff;
                append(&tcp, IBV_FLOW_SPEC_TCP, sizeof tcp);
                """);
    }

    @Test
    void vxlanWithInnerHeadersAndTag() throws Exception {
        check(FlowSpec.builder().udp().destinationPort(4789).vxlan(0x123456).inner().destinationMac("02:00:00:00:00:09")
                .ipv4Source("10.9.0.1").tag(0x654321).build(), """
                struct ibv_flow_spec_tcp_udp udp;
                memset(&udp, 0, sizeof udp);
                udp.val.dst_port = htons(4789);
                udp.mask.dst_port = 0xffff;
                append(&udp, IBV_FLOW_SPEC_UDP, sizeof udp);
                struct ibv_flow_spec_tunnel vxlan;
                memset(&vxlan, 0, sizeof vxlan);
                vxlan.val.tunnel_id = htonl(0x123456);
                vxlan.mask.tunnel_id = htonl(0xffffff);
                append(&vxlan, IBV_FLOW_SPEC_VXLAN_TUNNEL, sizeof vxlan);
                struct ibv_flow_spec_eth eth;
                memset(&eth, 0, sizeof eth);
                memcpy(eth.val.dst_mac, "\\x02\\0\\0\\0\\0\\x09", 6);
                memset(eth.mask.dst_mac, 0xff, 6);
                append(&eth, IBV_FLOW_SPEC_ETH | IBV_FLOW_SPEC_INNER, sizeof eth);
                struct ibv_flow_spec_ipv4 ip;
                memset(&ip, 0, sizeof ip);
                ip.val.src_ip = inet_addr("10.9.0.1");
                ip.mask.src_ip = 0xffffffff;
                append(&ip, IBV_FLOW_SPEC_IPV4 | IBV_FLOW_SPEC_INNER, sizeof ip);
                struct ibv_flow_spec_action_tag tag;
                memset(&tag, 0, sizeof tag);
                tag.tag_id = 0x654321;
                append(&tag, IBV_FLOW_SPEC_ACTION_TAG, sizeof tag);
                """);
    }

    @Test
    void drop() throws Exception {
        check(FlowSpec.builder().tcp().destinationPort(23).drop().build(), """
                struct ibv_flow_spec_tcp_udp tcp;
                memset(&tcp, 0, sizeof tcp);
                tcp.val.dst_port = htons(23);
                tcp.mask.dst_port = 0xffff;
                append(&tcp, IBV_FLOW_SPEC_TCP, sizeof tcp);
                struct ibv_flow_spec_action_drop drop;
                memset(&drop, 0, sizeof drop);
                append(&drop, IBV_FLOW_SPEC_ACTION_DROP, sizeof drop);
                """);
    }
}
