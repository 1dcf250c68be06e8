/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_STEERING_HASH_H
#define SV_STEERING_HASH_H

/*
 * Hashes that the library and the eBPF programs must agree on. They begin with a secret, so that who sends cannot know
 * what collides. Words are as they lie in frames; addresses first those of our own end.
 */
#include "steering_maps.h"

static inline __attribute__((always_inline)) unsigned long long sv_steer_mix(unsigned long long hash, unsigned int word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 32;
}

/* `addresses`: the mix of our address and the peer's; `ports`: as in segments that we receive, the peer's first. */
static inline __attribute__((always_inline)) unsigned long long sv_steer_connection(unsigned long long addresses,
                                                                                    unsigned int ports)
{
    return sv_steer_mix(addresses, ports);
}

/* A segment of a connection that acknowledges this number, as it is in headers. */
static inline __attribute__((always_inline)) unsigned long long sv_steer_proof(unsigned long long connection,
                                                                               unsigned int acknowledgement)
{
    return sv_steer_mix(connection ^ SV_STEER_PROOF, acknowledgement);
}

/* Our own end alone. `address`: the mix of our address. */
static inline __attribute__((always_inline)) unsigned long long sv_steer_endpoint(unsigned long long address,
                                                                                  unsigned int ports)
{
    return sv_steer_mix(sv_steer_mix(address, SV_STEER_ENDPOINT), ports >> 16);
}

/* Where marks of such a hash are. `places`: a power of two. */
static inline __attribute__((always_inline)) unsigned int sv_steer_place(unsigned long long hash, unsigned int places)
{
    return (unsigned int)hash & (places - 1);
}

/* With room for the time in the lowest bits; never 0, which is an empty place. */
static inline __attribute__((always_inline)) unsigned int sv_steer_mark(unsigned long long hash)
{
    return ((unsigned int)(hash >> 32) | 1u << 31) & ~(unsigned int)SV_STEER_MARK_TIMES;
}

#endif
