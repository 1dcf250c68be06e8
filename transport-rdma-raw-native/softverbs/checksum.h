/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_CHECKSUM_H
#define SV_CHECKSUM_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "frame.h"
#include "wire_defs.h"

/* Adds the words of the data to a sum of RFC 1071, which sv_checksum_sum_fold() reduces to 16 bits. */
uint64_t sv_checksum_sum(const uint8_t *data, uint32_t length, uint64_t sum);
/* Copies bytes between areas that do not overlap, and returns their sum. */
uint64_t sv_checksum_sum_copy(uint8_t *restrict to, const uint8_t *restrict from, uint32_t length, uint64_t sum);
uint16_t sv_checksum_sum_fold(uint64_t sum);
/* Returns the sum of the pseudo header (RFC 9293 section 3.1, RFC 8200 section 8.1). */
uint64_t sv_checksum_pseudo_sum(const uint8_t *ip, struct sv_layout layout, uint32_t l4_bytes);
/* Returns the checksum field of TCP or UDP for a sum over pseudo header, header and payload. */
uint16_t sv_checksum_from_sum(uint64_t sum, struct sv_layout layout);

/* Returns the offset of the checksum in a TCP or UDP header. */
static inline uint32_t sv_checksum_offset(struct sv_layout layout)
{
    return layout.l4 == IPPROTO_TCP ? SV_TCP_CHECKSUM_AT : SV_UDP_CHECKSUM_AT;
}

bool sv_checksum_ipv4_header_ok(const uint8_t *ip);
bool sv_checksum_l4_ok(const struct sv_frame *frame);

/*
 * Returns true if the IPv4 header checksum and the TCP or UDP checksum of a received frame are correct. As on mlx5,
 * other frames (IPv6, fragments, other protocols) are never reported as verified. An IPv4 header without options is
 * read by three loads.
 */
static inline bool sv_checksum_verify(const struct sv_frame *frame)
{
    if (frame->layout.l3 != 4 || frame->layout.l4 == 0)
        return false;
    const uint8_t *ip = frame->data + frame->layout.l3_offset;
    if (ip[0] != SV_IPV4_NO_OPTIONS)
        return sv_checksum_ipv4_header_ok(ip) && sv_checksum_l4_ok(frame);
    uint64_t first, second;
    uint32_t third;
    memcpy(&first, ip, 8);
    memcpy(&second, ip + 8, 8);
    memcpy(&third, ip + 16, 4);
    /* 2^32 is 1 modulo 0xffff, so whole words may be added. Five of them do not overflow 64 bits. */
    uint64_t sum = (first & 0xffffffff) + (first >> 32) + (second & 0xffffffff) + (second >> 32) + third;
    return sum % 0xffff == 0 && sv_checksum_l4_ok(frame);
}

/* Writes the IPv4 header checksum and the TCP or UDP checksum (IPv4 and IPv6) into a frame to be sent. */
void sv_checksum_fill(uint8_t *data, uint32_t length, struct sv_layout layout);
void sv_checksum_fill_ipv4_header(uint8_t *ip);
/*
 * Fills in the TCP or UDP checksum of a received frame if the field holds only the sum of the pseudo header, because
 * the sender left the rest to hardware. Returns true if the checksum was filled in, and in IPv4 the header checksum is
 * correct. The caller then need not verify the frame.
 */
bool sv_checksum_fill_partial(uint8_t *data, uint32_t length, struct sv_layout layout);

#endif
