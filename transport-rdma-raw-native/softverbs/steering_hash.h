/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_STEERING_HASH_H
#define SV_STEERING_HASH_H

/*
 * Hashes that the library and the eBPF programs must agree on. Callers start each hash with the secret of struct
 * sv_steer_traffic, so that senders cannot predict collisions. Words are in network byte order. The local address comes
 * before the peer's.
 */
#include "steering_maps.h"

static inline __attribute__((always_inline)) unsigned long long sv_steer_mix(unsigned long long hash, unsigned int word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 32;
}

/*
 * Hashes a connection. `addresses` mixes the local address and the peer's. `ports` are those of a received segment, the
 * peer's first.
 */
static inline __attribute__((always_inline)) unsigned long long sv_steer_connection(unsigned long long addresses,
                                                                                    unsigned int ports)
{
    return sv_steer_mix(addresses, ports);
}

/*
 * Hashes a connection together with an acknowledgment number, in network byte order. Only the receiver of our SYN knows
 * the number that acknowledges it; others have to guess it.
 */
static inline __attribute__((always_inline)) unsigned long long sv_steer_proof(unsigned long long connection,
                                                                               unsigned int acknowledgement)
{
    return sv_steer_mix(connection ^ SV_STEER_PROOF, acknowledgement);
}

/* Hashes a local endpoint. `address` mixes the local address. */
static inline __attribute__((always_inline)) unsigned long long sv_steer_endpoint(unsigned long long address,
                                                                                  unsigned int ports)
{
    return sv_steer_mix(sv_steer_mix(address, SV_STEER_ENDPOINT), ports >> 16);
}

/* Returns the bucket of a hash. `buckets` is a power of two. */
static inline __attribute__((always_inline)) unsigned int sv_steer_bucket(unsigned long long hash, unsigned int buckets)
{
    return (unsigned int)hash & (buckets - 1);
}

/*
 * Returns the mark under which a table stores a hash: its upper bits, with room for the time in the lowest bits. It is
 * never 0, the value of an empty entry.
 */
static inline __attribute__((always_inline)) unsigned int sv_steer_mark(unsigned long long hash)
{
    return ((unsigned int)(hash >> 32) | 1u << 31) & ~(unsigned int)SV_STEER_MARK_TIMES;
}

#endif
