/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_SEGMENT_H
#define SV_SEGMENT_H

/* Cutting a large TCP send into segments. */

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"

/* Whether the bytes are Ethernet, IP and TCP headers and nothing else. */
bool sv_segment_parse(const uint8_t *header, uint32_t length, struct sv_layout *layout);
/*
 * Adapts the header copy of segment `number`, whose payload starts at `offset`, but for its checksums. UDP: the header
 * copy of a datagram.
 */
void sv_segment_patch_header(uint8_t *segment, struct sv_layout layout, uint32_t length, uint32_t number,
                             uint32_t offset, bool last);
/* Adapts the header and computes the checksums of a whole TCP segment. */
void sv_segment_patch(uint8_t *segment, struct sv_layout layout, uint32_t length, uint32_t number, uint32_t offset,
                      bool last);

#endif
