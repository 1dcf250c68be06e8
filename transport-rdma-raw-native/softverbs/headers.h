/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_HEADERS_H
#define SV_HEADERS_H

/*
 * The header fields of a frame that flow rules and hashes use. The library (flow.h, headers.c) and the eBPF programs
 * (bpf_layout.h, bpf/) share this file, so it uses only the compiler's own types.
 */

enum sv_layers {
    SV_LAYER_IPV4 = 1,
    SV_LAYER_IPV6 = 2,
    SV_LAYER_VLAN = 4,
    SV_LAYER_TCP = 8,
    SV_LAYER_UDP = 16,
    SV_LAYER_VXLAN = 32,
};

/*
 * All fields that a rule can match, at fixed offsets: a key consists of whole 8-byte words. Fields of headers are in
 * network byte order, `layers` is in host order.
 */
struct sv_headers {
    unsigned char dst_mac[6];
    unsigned short ether_type;      /* the first one: 0x8100 for a tagged frame */
    unsigned char src_mac[6];
    unsigned short vlan_tag;
    unsigned char src_ip[16];       /* IPv4 uses the first 4 bytes */
    unsigned char dst_ip[16];
    unsigned short src_port;
    unsigned short dst_port;
    unsigned char protocol;
    unsigned char traffic_class;
    unsigned char hop_limit;
    unsigned char ip_flags;         /* as in ibv_flow_ipv4_ext_filter: 2 = don't fragment, 4 = more fragments */
    unsigned int flow_label;
    unsigned short vlan_ether_type; /* the EtherType after the VLAN tag */
    unsigned short layers;          /* enum sv_layers */
    unsigned int vni;
    unsigned int reserved;
};

#endif
