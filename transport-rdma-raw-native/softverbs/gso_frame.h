/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_GSO_FRAME_H
#define SV_GSO_FRAME_H

/*
 * GSO frames are longer than the MTU, up to 64 KB. A sender on the same host leaves segmentation to the device (TSO,
 * USO), and a veth pair delivers such frames unsegmented. GRO and LRO also create them, by merging received frames.
 * This file segments GSO frames as the kernel does (tcp_gso_segment(), __udp_gso_segment()), so that the layers above
 * receive frames of at most the MTU. It supports TCP, and UDP if the datagram size is known.
 *
 * A segment consists of a new header and a reference to the payload in the GSO frame's pieces.
 */

#include "frame.h"
#include "wire_defs.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    /* Ethernet with a tag, IPv4 and TCP with all possible options. */
    SV_GSO_HEADERS = ETH_HLEN + SV_VLAN_HLEN + 60 + 60,
    /*
     * The headers of a datagram that steering reads: those of a tunnel up to the inner TCP header, with tags and
     * options.
     */
    SV_GSO_HEADER_ROOM = 2 * (ETH_HLEN + SV_VLAN_HLEN + 60) + SV_UDP_HLEN + SV_VXLAN_HLEN + SV_TCP_HLEN,
    /* The limit of IPv4's total length, and of IPv6's payload length without the jumbo option. */
    SV_GSO_MAX_IP_BYTES = 65535,
    SV_GSO_MAX_BYTES = SV_MAX_OVERHEAD + SV_IPV6_HLEN + SV_GSO_MAX_IP_BYTES,
};

enum sv_gso_verdict {
    SV_GSO_GOOD,
    SV_GSO_OTHER,         /* neither TCP nor a UDP frame with a known segment size, so it cannot be segmented */
    SV_GSO_FLAGS,         /* TCP with SYN, RST or URG, which must not be segmented */
    SV_GSO_TOO_LONG,      /* above 64 KB, hence without a length in its IP header ("BIG TCP") */
    SV_GSO_MALFORMED,       /* malformed: the headers contradict the length, a wrong checksum, or no room for payload */
};

/* A GSO frame that is being segmented. */
struct sv_gso {
    const struct iovec *pieces;
    struct sv_layout layout;
    uint32_t header_bytes;
    uint32_t segment_bytes;         /* payload of each segment but the last */
    uint32_t payload_bytes;
    uint32_t done_bytes;
    uint32_t number;
    uint32_t piece;                 /* position of the next payload */
    uint32_t offset;
    uint8_t header[SV_GSO_HEADER_ROOM];
};

/* The headers of one segment of a GSO frame. */
struct sv_gso_slot {
    struct sv_frame_rest rest;          /* first: frames refer to it */
    uint8_t header[SV_GSO_HEADER_ROOM];
};

/* Properties of a GSO frame that its bytes do not contain. */
struct sv_gso_facts {
    uint32_t mtu;
    uint32_t segment_bytes;         /* payload of each segment; 0: unknown, so TCP uses the MTU and UDP is refused */
    bool partial;                   /* the checksum field may hold only the sum of the pseudo header */
    bool verified; /* a card has verified the checksums of the frames that it merged (LRO); that field is not checked */
};

/*
 * Validates a GSO frame and starts its segmentation. All lengths in its headers are checked. The pieces must remain
 * valid until the last segment was delivered.
 */
enum sv_gso_verdict sv_gso_begin(struct sv_gso *super, const struct iovec *pieces, uint32_t count,
                                     const struct sv_gso_facts *facts);
/*
 * Returns true if the sender of a valid GSO frame omitted the TCP or UDP checksum. The field then contains the sum of
 * the pseudo header.
 */
bool sv_gso_has_partial_checksum(const struct sv_gso *super);
/*
 * Builds the next segment. Returns false if there is none. The slot must remain valid until the segment was delivered.
 * sv_frame_copy() computes the TCP checksum.
 */
bool sv_gso_next(struct sv_gso *super, struct sv_gso_slot *slot, struct sv_frame *frame);

/* Copies a part of a frame, which may consist of pieces, and fills in its checksums. */
void sv_frame_copy(uint8_t *to, const struct sv_frame *frame, uint32_t offset, uint32_t length);
/* Copies a part of the bytes after a frame's head: `length` bytes from offset `offset` of the pieces. */
void sv_pieces_copy(uint8_t *to, const struct iovec *pieces, uint32_t offset, uint32_t length);
/* Returns the sum of these bytes, as sv_sum() does. */
uint64_t sv_pieces_sum(const struct iovec *pieces, uint32_t offset, uint32_t length, uint64_t sum);

#endif
