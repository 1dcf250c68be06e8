/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_CHECKSUM_H
#define SV_CHECKSUM_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"

/* RFC 1071 */
uint64_t sv_sum(const uint8_t *data, uint32_t length, uint64_t sum);
uint16_t sv_sum_fold(uint64_t sum);

/*
 * Whether the IPv4 header checksum and the TCP or UDP checksum of a received frame are right. As on mlx5, frames of any
 * other kind (IPv6, fragments, other protocols) are never reported as verified.
 */
bool sv_checksum_verify(const struct sv_frame *frame);

/* Writes the IPv4 header checksum and the TCP or UDP checksum (IPv4 and IPv6) into a frame to be sent. */
void sv_checksum_fill(uint8_t *data, uint32_t length, struct sv_layout layout);

#endif
