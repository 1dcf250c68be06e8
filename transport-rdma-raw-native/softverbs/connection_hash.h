/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_CONNECTION_HASH_H
#define SV_CONNECTION_HASH_H

/*
 * Hashes of connections and local endpoints, by which the filters against floods find their entries. The library and
 * the eBPF programs must compute the same values.
 *
 * To hash a connection, start with `secret` of struct sv_bpf_traffic and call sv_hash_mix() with each 32-bit word of
 * the local address, then with those of the peer's address, and then call sv_hash_connection(). For a local endpoint,
 * stop after the local address and call sv_hash_endpoint(). Words are loaded from the packet without conversion, on a
 * little-endian processor. Senders do not know the secret, so they cannot choose addresses and ports whose hashes
 * collide. The hash is not cryptographic.
 */
#include "bpf_layout.h"

/* Adds one word to a hash. */
static inline __attribute__((always_inline)) unsigned long long sv_hash_mix(unsigned long long hash, unsigned int word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 32;
}

/*
 * Completes the hash of a connection. `addresses` is the hash of both addresses, see above. `ports` is the first word
 * of the TCP header of a received segment: the peer's port, then the local port.
 */
static inline __attribute__((always_inline)) unsigned long long sv_hash_connection(unsigned long long addresses,
                                                                                   unsigned int ports)
{
    return sv_hash_mix(addresses, ports);
}

/*
 * Hashes a connection together with the acknowledgment number of its peer's first segment, in network byte order. A
 * segment whose number gives the stored hash proves that its sender has received our SYN; others have to guess the
 * number.
 */
static inline __attribute__((always_inline)) unsigned long long sv_hash_proof(unsigned long long connection,
                                                                              unsigned int acknowledgement)
{
    return sv_hash_mix(connection ^ SV_HASH_PROOF, acknowledgement);
}

/* Completes the hash of a local endpoint. `address` is the hash of the local address; `ports` is the same as above. */
static inline __attribute__((always_inline)) unsigned long long sv_hash_endpoint(unsigned long long address,
                                                                                 unsigned int ports)
{
    return sv_hash_mix(sv_hash_mix(address, SV_HASH_ENDPOINT), ports >> 16);
}

/* Returns the bucket of a hash. `buckets` is a power of two. */
static inline __attribute__((always_inline)) unsigned int sv_hash_bucket(unsigned long long hash, unsigned int buckets)
{
    return (unsigned int)hash & (buckets - 1);
}

/*
 * Returns the mark under which a table stores a hash: 32 upper bits of the hash, of which those of
 * SV_BPF_MARK_TIME_MASK are 0 and make room for a time. Different hashes can have the same mark. A mark is never 0,
 * which is the value of an empty entry.
 */
static inline __attribute__((always_inline)) unsigned int sv_hash_mark(unsigned long long hash)
{
    return ((unsigned int)(hash >> 32) | 1u << 31) & ~(unsigned int)SV_BPF_MARK_TIME_MASK;
}

#endif
