/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_COPY_H
#define SV_COPY_H

#include <stdint.h>
#include <string.h>

/* Fetches a line to write to it. As an instruction, because the builtin only fetches for reading without -mprfchw. */
static inline void sv_prefetch_write(const void *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

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
