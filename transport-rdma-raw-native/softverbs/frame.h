/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_FRAME_H
#define SV_FRAME_H

#include <stdint.h>
#include <sys/uio.h>

/* Where the headers of a frame lie; 0 for a layer that is not there (or is cut short, or a fragment's L4). */
struct sv_layout {
    uint8_t l3;          /* 4, 6 or 0 */
    uint8_t l3_offset;
    uint8_t l4;          /* IPPROTO_TCP, IPPROTO_UDP or 0 */
    uint8_t l4_offset;
};

/*
 * The rest of a frame whose bytes are in several places. The checksums of such a frame have been verified or computed,
 * or are when it is copied, so delivery does not verify them again.
 */
struct sv_frame_rest {
    /* So many bytes are at the frame's `data`: at least its headers, and those of a tunnel. */
    uint32_t head_bytes;
    uint32_t offset;                /* in the first of the pieces, where the frame goes on */
    const struct iovec *pieces;
    /*
     * Not 0: where TCP has its checksum, which is made when the frame is copied, since the bytes pass by then anyway.
     * Until then it is 0. It is of this sum, that of the headers, and of the pieces.
     */
    uint32_t checksum_at;
    uint64_t headers_sum;
};

struct sv_frame {
    const uint8_t *data;
    uint32_t length;
    struct sv_layout layout;
    const struct sv_frame_rest *rest;   /* NULL: the frame is in one piece, and its checksums may be wrong */
};

#endif
