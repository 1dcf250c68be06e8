/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of Ethernet, IP, TCP and UDP that <linux/if_ether.h> lacks, for the library, the emulated ConnectX and the
 * eBPF programs. A name that ends in _AT is an offset from the beginning of its header.
 *
 * There are three parsers. headers.c reads all fields that rules and hashes use. bpf/parse.bpf.h reads the same fields
 * in the kernel, in a form that the verifier accepts, and must agree with headers.c. connections.c and
 * bpf/classify.bpf.h read TCP segments only, for each sent and each received frame.
 */
#ifndef SV_WIRE_DEFS_H
#define SV_WIRE_DEFS_H

#include <linux/if_ether.h>

/* Offsets in a frame. The kernel's exported headers lack VLAN_HLEN. */
enum {
    SV_ETH_SOURCE_AT = ETH_ALEN,
    SV_ETHERTYPE_AT = 2 * ETH_ALEN,
    SV_VLAN_HLEN = 4,
    SV_VLAN_TCI_AT = SV_ETHERTYPE_AT + 2,
    SV_VLAN_ETHERTYPE_AT = SV_ETHERTYPE_AT + SV_VLAN_HLEN,
};

/* RFC 791. The header length excludes options. */
enum {
    SV_IPV4_HLEN = 20,
    SV_IPV4_TOS_AT = 1,
    SV_IPV4_TOTAL_LENGTH_AT = 2,
    SV_IPV4_ID_AT = 4,
    SV_IPV4_FRAGMENT_AT = 6,
    SV_IPV4_TTL_AT = 8,
    SV_IPV4_PROTOCOL_AT = 9,
    SV_IPV4_CHECKSUM_AT = 10,
    SV_IPV4_SOURCE_AT = 12,
    SV_IPV4_DESTINATION_AT = 16,
    SV_IPV4_NO_OPTIONS = 0x45,          /* first byte: version 4, five words */
    SV_IPV4_DONT_FRAGMENT = 0x4000,
    SV_IPV4_MORE_FRAGMENTS = 0x2000,
    SV_IPV4_FRAGMENT_BITS = 0x3fff,     /* more fragments, or an offset */
};

/* RFC 8200 */
enum {
    SV_IPV6_HLEN = 40,
    SV_IPV6_PAYLOAD_LENGTH_AT = 4,
    SV_IPV6_NEXT_HEADER_AT = 6,
    SV_IPV6_HOP_LIMIT_AT = 7,
    SV_IPV6_SOURCE_AT = 8,
    SV_IPV6_DESTINATION_AT = 24,
};

/* RFC 9293. The header length excludes options. */
enum {
    SV_TCP_HLEN = 20,
    SV_TCP_SEQUENCE_AT = 4,
    SV_TCP_ACKNOWLEDGMENT_AT = 8,
    SV_TCP_DATA_OFFSET_AT = 12,
    SV_TCP_FLAGS_AT = 13,
    SV_TCP_CHECKSUM_AT = 16,
    SV_TCP_FIN = 0x01,
    SV_TCP_SYN = 0x02,
    SV_TCP_RST = 0x04,
    SV_TCP_PSH = 0x08,
    SV_TCP_ACK = 0x10,
    SV_TCP_URG = 0x20,
    SV_TCP_CWR = 0x80,
};

/* RFC 768 and RFC 7348 */
enum {
    SV_UDP_HLEN = 8,
    SV_UDP_LENGTH_AT = 4,
    SV_UDP_CHECKSUM_AT = 6,
    SV_VXLAN_PORT = 4789,
    SV_VXLAN_HLEN = 8,
    SV_VXLAN_HAS_VNI = 0x08,            /* in the first byte */
    SV_VXLAN_VNI_AT = 4,
};

#endif
