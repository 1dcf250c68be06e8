/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_COPY_H
#define SV_COPY_H

#include <stdint.h>
#include <string.h>

/* memcpy for frames: the short ones as a few overlapping block moves, without a call. */
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

#endif
