/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_FRAME_H
#define SV_FRAME_H

#include "wire_defs.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

/* Offsets of a frame's headers. A layer is 0 if it is missing, truncated or, for L4, in a fragment. */
struct sv_layout {
    uint8_t l3;          /* 4, 6 or 0 */
    uint8_t l3_offset;
    uint8_t l4;          /* IPPROTO_TCP, IPPROTO_UDP or 0 */
    uint8_t l4_offset;
};

/* The part of a frame that is in several places: a segment of a GSO frame (gso_frame.h). */
struct sv_frame_rest {
    /* Number of bytes at the frame's `data`: at least its headers, including those of a tunnel. */
    uint32_t head_bytes;
    uint32_t offset;                /* offset in the first piece at which the frame continues */
    const struct iovec *pieces;
    /*
     * Offset of the TCP checksum, or 0. If not 0, the field is 0 until the copy computes the checksum over headers_sum
     * and the pieces: the bytes pass through the cache then anyway.
     */
    uint32_t checksum_offset;
    uint64_t headers_sum;
};

struct sv_frame {
    const uint8_t *data;
    uint32_t length;
    struct sv_layout layout;
    const struct sv_frame_rest *rest;   /* NULL: the frame is contiguous */
    bool checksums_done;        /* verified or computed before delivery, or computed by the copy: not verified again */
};

/* ---- length ---- */

/*
 * The maximum length of a frame in softverbs and in the emulated ConnectX, without the frame check sequence.
 *
 * The rule is that of Linux's packet sockets (packet_extra_vlan_len_allowed() in net/packet/af_packet.c): the MTU
 * counts the bytes after the Ethernet header, and a frame with an 802.1Q tag may be four bytes longer. Other tags add
 * no room. A ConnectX accepts four more bytes for every frame (MLX5E_ETH_HARD_MTU in the mlx5 driver), which the
 * transport does not use. Java implements the same rule in io.rdmaraw.wire.FrameLength.
 */

/* Number of bytes by which the longest frame exceeds the MTU. */
enum { SV_MAX_OVERHEAD = ETH_HLEN + SV_VLAN_HLEN };

/* `frame` has at least an Ethernet header. */
static inline bool sv_frame_fits(uint32_t mtu, const uint8_t *frame, uint32_t length)
{
    if (__builtin_expect(length <= mtu + ETH_HLEN, 1))
        return true;
    return length <= mtu + SV_MAX_OVERHEAD && frame[SV_ETHERTYPE_AT] == ETH_P_8021Q >> 8 &&
           frame[SV_ETHERTYPE_AT + 1] == (ETH_P_8021Q & 0xff);
}

/* ---- copying ---- */

/*
 * Prefetches a cache line for writing. An instruction, because the builtin only prefetches for reading without
 * -mprfchw.
 */
static inline void sv_prefetch_write(const void *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Copies a frame. Short frames take a few overlapping block moves and no call. */
static inline void sv_copy(uint8_t *restrict to, const uint8_t *restrict from, uint32_t length)
{
    if (length >= 32 && length <= 64) {
        memcpy(to, from, 32);
        memcpy(to + length - 32, from + length - 32, 32);
    } else if (length > 64 && length <= 128) {
        memcpy(to, from, 64);
        memcpy(to + length - 64, from + length - 64, 64);
    } else {
        memcpy(to, from, length);
    }
}

/* ---- segment.c: segmentation of a large TCP send ---- */

/* Returns true if the bytes are Ethernet, IP and TCP headers and nothing else. */
bool sv_segment_parse(const uint8_t *header, uint32_t length, struct sv_layout *layout);
/*
 * Adapts the header copy of segment `number`, with the payload from `offset` on. Leaves out the checksums. With UDP the
 * header copy belongs to a datagram.
 */
void sv_segment_patch_header(uint8_t *segment, struct sv_layout layout, uint32_t length, uint32_t number,
                             uint32_t offset, bool last);
/* Adapts the header and computes the checksums of a complete TCP segment. */
void sv_segment_patch(uint8_t *segment, struct sv_layout layout, uint32_t length, uint32_t number, uint32_t offset,
                      bool last);

#endif
