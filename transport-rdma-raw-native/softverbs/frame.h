/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_FRAME_H
#define SV_FRAME_H

#include <stdint.h>

/* Where the headers of a frame lie; 0 for a layer that is not there (or is cut short, or a fragment's L4). */
struct sv_layout {
    uint8_t l3;          /* 4, 6 or 0 */
    uint8_t l3_offset;
    uint8_t l4;          /* IPPROTO_TCP, IPPROTO_UDP or 0 */
    uint8_t l4_offset;
};

struct sv_frame {
    const uint8_t *data;
    uint32_t length;
    struct sv_layout layout;
};

#endif
