/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_STEERING_HASH_H
#define SV_STEERING_HASH_H

/*
 * Hashes that the library and the eBPF programs must agree on. They start with a secret, so that senders cannot predict
 * collisions. Words are in network byte order. The local address comes before the peer's.
 */
#include "steering_maps.h"

static inline __attribute__((always_inline)) unsigned long long sv_steer_mix(unsigned long long hash, unsigned int word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 32;
}

/* `addresses`: the mix of the local address and the peer's. `ports`: as in received segments, the peer's first. */
static inline __attribute__((always_inline)) unsigned long long sv_steer_connection(unsigned long long addresses,
                                                                                    unsigned int ports)
{
    return sv_steer_mix(addresses, ports);
}

/* A segment of a connection that acknowledges this number, in network byte order. */
static inline __attribute__((always_inline)) unsigned long long sv_steer_proof(unsigned long long connection,
                                                                               unsigned int acknowledgement)
{
    return sv_steer_mix(connection ^ SV_STEER_PROOF, acknowledgement);
}

/* The local endpoint alone. `address`: the mix of the local address. */
static inline __attribute__((always_inline)) unsigned long long sv_steer_endpoint(unsigned long long address,
                                                                                  unsigned int ports)
{
    return sv_steer_mix(sv_steer_mix(address, SV_STEER_ENDPOINT), ports >> 16);
}

/* The bucket of a hash. `buckets`: a power of two. */
static inline __attribute__((always_inline)) unsigned int sv_steer_bucket(unsigned long long hash, unsigned int buckets)
{
    return (unsigned int)hash & (buckets - 1);
}

/* A mark with room for the time in the lowest bits. Never 0, which is an empty entry. */
static inline __attribute__((always_inline)) unsigned int sv_steer_mark(unsigned long long hash)
{
    return ((unsigned int)(hash >> 32) | 1u << 31) & ~(unsigned int)SV_STEER_MARK_TIMES;
}

#endif
