/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_GSO_FRAME_H
#define SV_GSO_FRAME_H

/*
 * Segmentation of received GSO frames: frames beyond the MTU, up to 64 KB. They have two origins. A sender on the same
 * host leaves segmentation to the device (TSO, USO), and a veth pair passes its frames on as they are. GRO and LRO
 * merge frames that were received.
 *
 * This file segments them as the kernel does (tcp_gso_segment(), __udp_gso_segment()), so that the layers above see
 * frames of at most the MTU. It rejects frames that it cannot segment; see enum sv_gso_verdict. Callers drop and count
 * these.
 *
 * A GSO frame may lie in several pieces of memory. A segment consists of a new header and a reference into these
 * pieces. Its payload is not copied before delivery, except the beginning of a datagram's payload, where steering looks
 * for the headers of a tunnel.
 */

#include "frame.h"
#include "wire_defs.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    /* Ethernet with a tag, IPv4 and TCP with all possible options. */
    SV_GSO_MAX_HEADER_BYTES = ETH_HLEN + SV_VLAN_HLEN + 60 + 60,
    /*
     * The headers of a datagram that steering reads: those of a tunnel up to the inner TCP header, with tags and
     * options.
     */
    SV_GSO_HEADER_BUFFER_BYTES = 2 * (ETH_HLEN + SV_VLAN_HLEN + 60) + SV_UDP_HLEN + SV_VXLAN_HLEN + SV_TCP_HLEN,
    /* The limit of IPv4's total length, and of IPv6's payload length without the jumbo option. */
    SV_GSO_MAX_IP_BYTES = 65535,
    SV_GSO_MAX_BYTES = SV_MAX_OVERHEAD + SV_IPV6_HLEN + SV_GSO_MAX_IP_BYTES,
};

enum sv_gso_verdict {
    SV_GSO_GOOD,
    SV_GSO_UNSUPPORTED,   /* neither TCP nor UDP with a known segment size: an IP fragment, another protocol */
    SV_GSO_BAD_FLAGS,     /* TCP with SYN, RST or URG, which no sender leaves to hardware */
    SV_GSO_TOO_LONG,      /* above 64 KB, hence without a length in its IP header ("BIG TCP") */
    /* The headers contradict the length, the checksum is wrong, there is no payload, or a segment exceeds the MTU. */
    SV_GSO_MALFORMED,
};

/* A GSO frame while it is segmented, and the position of the next segment. */
struct sv_gso_segmenter {
    const struct iovec *pieces;
    struct sv_layout layout;
    uint32_t header_bytes;
    uint32_t segment_bytes;         /* payload of each segment but the last */
    uint32_t payload_bytes;
    uint32_t segmented_bytes;
    uint32_t number;
    uint32_t piece;                 /* the next payload begins in this piece, */
    uint32_t offset;                /* at this offset */
    uint8_t header[SV_GSO_HEADER_BUFFER_BYTES];
};

/* Holds the headers of one segment of a GSO frame. */
struct sv_gso_slot {
    struct sv_frame_rest rest;          /* must be first: frame->rest is cast to the slot */
    uint8_t header[SV_GSO_HEADER_BUFFER_BYTES];
};

/* What the bytes of a GSO frame do not contain. The caller knows them from the device or the kernel. */
struct sv_gso_info {
    uint32_t mtu;
    /*
     * Payload of each segment. 0: unknown; TCP is then segmented to the MTU, and UDP is rejected (SV_GSO_UNSUPPORTED).
     */
    uint32_t segment_bytes;
    bool partial_checksum;          /* the checksum field may hold only the sum of the pseudo header */
    bool verified;                  /* a card has verified the merged frames (LRO): the checksum is not checked again */
};

/*
 * Checks a GSO frame and prepares its segmentation. Checks all lengths in the headers. The caller keeps the pieces
 * until the last segment has been delivered.
 */
enum sv_gso_verdict sv_gso_begin(struct sv_gso_segmenter *gso, const struct iovec *pieces, uint32_t count,
                                 const struct sv_gso_info *info);
/*
 * Returns true if the sender left out the TCP or UDP checksum: the field holds the sum of the pseudo header. Requires a
 * frame that sv_gso_begin() has accepted.
 */
bool sv_gso_has_partial_checksum(const struct sv_gso_segmenter *gso);
/*
 * Creates the next segment as a frame. Returns false if none is left. The caller keeps the slot until the frame has
 * been delivered. The checksum of a TCP segment is not computed before sv_frame_copy(); that of a datagram is.
 */
bool sv_gso_next(struct sv_gso_segmenter *gso, struct sv_gso_slot *slot, struct sv_frame *frame);

/* Copies a part of a frame, contiguous or not. Computes the TCP checksum first if it is missing. */
void sv_frame_copy(uint8_t *to, const struct sv_frame *frame, uint32_t offset, uint32_t length);
/* Copies a part of the bytes after a frame's head: `length` bytes from offset `offset` of the pieces. */
void sv_pieces_copy(uint8_t *to, const struct iovec *pieces, uint32_t offset, uint32_t length);
/* Returns the sum of these bytes, as sv_checksum_sum() does. */
uint64_t sv_pieces_sum(const struct iovec *pieces, uint32_t offset, uint32_t length, uint64_t sum);

#endif
