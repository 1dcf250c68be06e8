/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_SUPER_FRAME_H
#define SV_SUPER_FRAME_H

/*
 * Super-frames: frames beyond the MTU, up to 64 KB, that Linux makes for hardware which segments (TSO), and sends as
 * they are where there is no such hardware, as between the two ends of a veth pair. Here they are cut into the frames
 * that such hardware would have made, so that everything above sees frames of at most the MTU.
 *
 * A cut frame is a header of its own, and a reference into the pieces of the super-frame.
 */

#include "frame.h"
#include "frame_limits.h"
#include "wire_defs.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    /* Ethernet with a tag, IPv4 and TCP with all options that fit. */
    SV_SUPER_HEADERS = ETH_HLEN + SV_VLAN_HLEN + 60 + 60,
    /* Of a datagram, what steering reads: a tunnel's headers up to the inner TCP header, all with tags and options. */
    SV_SUPER_HEADER_ROOM = 2 * (ETH_HLEN + SV_VLAN_HLEN + 60) + SV_UDP_HLEN + SV_VXLAN_HLEN + SV_TCP_HLEN,
    /* The limit of IPv4's total length, and of IPv6's payload length without the jumbo option. */
    SV_SUPER_MAX_IP_BYTES = 65535,
    SV_SUPER_MAX_BYTES = SV_MAX_OVERHEAD + SV_IPV6_HLEN + SV_SUPER_MAX_IP_BYTES,
};

enum sv_super_verdict {
    SV_SUPER_GOOD,
    SV_SUPER_OTHER,         /* neither TCP nor a UDP frame whose segment size is known: where to cut is unknown */
    SV_SUPER_FLAGS,         /* TCP with SYN, RST or URG, which no sender lets hardware segment */
    SV_SUPER_TOO_LONG,      /* above 64 KB, and so without a length in its IP header ("BIG TCP") */
    SV_SUPER_UNSOUND,       /* headers that contradict the length, a wrong checksum, no room for payload */
};

/* A super-frame that is being cut. */
struct sv_super {
    const struct iovec *pieces;
    struct sv_layout layout;
    uint32_t header_bytes;
    uint32_t segment_bytes;         /* payload of each frame but the last */
    uint32_t payload_bytes;
    uint32_t done_bytes;
    uint32_t number;
    uint32_t piece;                 /* where the next payload begins */
    uint32_t offset;
    uint8_t header[SV_SUPER_HEADER_ROOM];
};

/* A frame that was cut. */
struct sv_super_slot {
    struct sv_frame_rest rest;          /* first: frames refer to it */
    uint8_t header[SV_SUPER_HEADER_ROOM];
};

/* What is known of a super-frame beside its bytes. */
struct sv_super_facts {
    uint32_t mtu;
    uint32_t segment_bytes;         /* payload of each frame; 0: unknown, TCP is cut at the MTU */
    bool partial;                   /* its checksum may be that of the pseudo header alone */
    bool verified;                  /* a card has verified its frames' checksums, and merged them without one (LRO) */
};

/* The pieces stay in use until the last frame has been cut and delivered. None of the lengths is trusted. */
enum sv_super_verdict sv_super_begin(struct sv_super *super, const struct iovec *pieces, uint32_t count,
                                     const struct sv_super_facts *facts);
/*
 * Whether its sender has left the checksum of TCP or UDP out, which is the sum of the pseudo header then. Of a
 * super-frame that is good.
 */
bool sv_super_has_partial_checksum(const struct sv_super *super);
/*
 * Cuts the next frame; false: there is none left. The slot stays in use until it is delivered. TCP's checksum is made by
 * sv_frame_copy().
 */
bool sv_super_next(struct sv_super *super, struct sv_super_slot *slot, struct sv_frame *frame);

/* Copies out a part of a frame, whether or not it is in one piece, with its checksums. */
void sv_frame_copy(uint8_t *to, const struct sv_frame *frame, uint32_t offset, uint32_t length);
/* Copies out a part of what follows a frame's head: `length` bytes from the `offset`th byte of the pieces on. */
void sv_pieces_copy(uint8_t *to, const struct iovec *pieces, uint32_t offset, uint32_t length);
/* Their sum, as sv_sum(). */
uint64_t sv_pieces_sum(const struct iovec *pieces, uint32_t offset, uint32_t length, uint64_t sum);

#endif
