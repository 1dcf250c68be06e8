/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_SUPER_FRAME_H
#define SV_SUPER_FRAME_H

/*
 * Super-frames (GSO frames) are frames beyond the MTU, of up to 64 KB. A sender on the same host leaves segmentation to
 * the device (TSO, USO), and a veth pair passes such frames on as they are. GRO and LRO merge received frames. This
 * file segments super-frames as the kernel does (tcp_gso_segment(), __udp_gso_segment()), so that the layers above see
 * frames of at most the MTU. It cannot segment UDP if the size of the datagrams is unknown, or other protocols.
 *
 * A segment consists of a new header and a reference to the pieces of the super-frame.
 */

#include "frame.h"
#include "wire_defs.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    /* Ethernet with a tag, IPv4 and TCP with all possible options. */
    SV_SUPER_HEADERS = ETH_HLEN + SV_VLAN_HLEN + 60 + 60,
    /*
     * The headers of a datagram that steering reads: those of a tunnel up to the inner TCP header, with tags and
     * options.
     */
    SV_SUPER_HEADER_ROOM = 2 * (ETH_HLEN + SV_VLAN_HLEN + 60) + SV_UDP_HLEN + SV_VXLAN_HLEN + SV_TCP_HLEN,
    /* The limit of IPv4's total length, and of IPv6's payload length without the jumbo option. */
    SV_SUPER_MAX_IP_BYTES = 65535,
    SV_SUPER_MAX_BYTES = SV_MAX_OVERHEAD + SV_IPV6_HLEN + SV_SUPER_MAX_IP_BYTES,
};

enum sv_super_verdict {
    SV_SUPER_GOOD,
    SV_SUPER_OTHER,         /* neither TCP nor a UDP frame with a known segment size, so it cannot be cut */
    SV_SUPER_FLAGS,         /* TCP with SYN, RST or URG, which no sender leaves to hardware */
    SV_SUPER_TOO_LONG,      /* above 64 KB, hence without a length in its IP header ("BIG TCP") */
    SV_SUPER_UNSOUND,       /* headers contradict the length, the checksum is wrong, or there is no room for payload */
};

/* A super-frame while it is cut. */
struct sv_super {
    const struct iovec *pieces;
    struct sv_layout layout;
    uint32_t header_bytes;
    uint32_t segment_bytes;         /* payload of each frame but the last */
    uint32_t payload_bytes;
    uint32_t done_bytes;
    uint32_t number;
    uint32_t piece;                 /* position of the next payload */
    uint32_t offset;
    uint8_t header[SV_SUPER_HEADER_ROOM];
};

/* Holds the headers of one segment of a super-frame. */
struct sv_super_slot {
    struct sv_frame_rest rest;          /* first: frames refer to it */
    uint8_t header[SV_SUPER_HEADER_ROOM];
};

/* Facts about a super-frame that its bytes do not show. */
struct sv_super_facts {
    uint32_t mtu;
    uint32_t segment_bytes;         /* payload of each frame; 0: unknown, TCP is cut at the MTU and UDP is refused */
    bool partial;                   /* the checksum field may hold only the sum of the pseudo header */
    bool verified; /* a card has verified the checksums of the frames that it merged (LRO); that field is not checked */
};

/*
 * Checks a super-frame and begins to cut it. The pieces stay in use until the last frame has been cut and delivered.
 * None of the lengths is trusted.
 */
enum sv_super_verdict sv_super_begin(struct sv_super *super, const struct iovec *pieces, uint32_t count,
                                     const struct sv_super_facts *facts);
/*
 * Returns true if the sender of a sound super-frame left out the TCP or UDP checksum; the field then holds the sum of
 * the pseudo header.
 */
bool sv_super_has_partial_checksum(const struct sv_super *super);
/*
 * Cuts the next frame. Returns false if none is left. The slot stays in use until delivery. sv_frame_copy() computes
 * TCP's checksum.
 */
bool sv_super_next(struct sv_super *super, struct sv_super_slot *slot, struct sv_frame *frame);

/* Copies a part of a frame, contiguous or not, with its checksums. */
void sv_frame_copy(uint8_t *to, const struct sv_frame *frame, uint32_t offset, uint32_t length);
/* Copies a part of the bytes after a frame's head: `length` bytes from offset `offset` of the pieces. */
void sv_pieces_copy(uint8_t *to, const struct iovec *pieces, uint32_t offset, uint32_t length);
/* Returns the sum of these bytes, as sv_sum() does. */
uint64_t sv_pieces_sum(const struct iovec *pieces, uint32_t offset, uint32_t length, uint64_t sum);

#endif
