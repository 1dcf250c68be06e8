/* SPDX-License-Identifier: Apache-2.0 */
/* See kernel_steering.h. */
#include "kernel_steering.h"

#include "objects.h"
#include "connection_hash.h"
#include "wire_defs.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <time.h>

static inline uint32_t be16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static inline uint32_t word_at(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Returns the ports of the opposite direction. */
static inline uint32_t swap_ports(uint32_t ports)
{
    return ports << 16 | ports >> 16;
}

/* Returns the offset of the TCP header, or 0. */
static inline uint32_t find_tcp(const uint8_t *data, uint32_t length, uint32_t *ip)
{
    *ip = ETH_HLEN;
    if (SV_UNLIKELY(length < ETH_HLEN + SV_IPV4_HLEN + SV_TCP_HLEN))
        return 0;
    uint32_t type = be16(data + SV_ETHERTYPE_AT);
    if (SV_UNLIKELY(type == ETH_P_8021Q || type == ETH_P_8021AD)) {
        *ip += SV_VLAN_HLEN;
        type = be16(data + SV_VLAN_ETHERTYPE_AT);
    }
    if (type == ETH_P_IP) {
        const uint8_t *header = data + *ip;
        uint32_t tcp = *ip + (header[0] & 15) * 4u;
        bool plain = header[SV_IPV4_PROTOCOL_AT] == IPPROTO_TCP && (header[0] & 15) >= 5 &&
                     (be16(header + SV_IPV4_FRAGMENT_AT) & SV_IPV4_FRAGMENT_BITS) == 0;
        return plain && tcp + SV_TCP_HLEN <= length ? tcp : 0;
    }
    bool ipv6 = type == ETH_P_IPV6 && *ip + SV_IPV6_HLEN + SV_TCP_HLEN <= length &&
                data[*ip + SV_IPV6_NEXT_HEADER_AT] == IPPROTO_TCP;
    return ipv6 ? *ip + SV_IPV6_HLEN : 0;
}

struct flow_hashes {
    uint64_t connection;
    uint64_t endpoint;
};

/* If `received` is set, the local address is the destination. `ports` are always in the order of received segments. */
static inline struct flow_hashes hash_flow(uint64_t secret, const uint8_t *ip, uint32_t ports, bool received)
{
    bool ipv4 = ip[0] >> 4 == 4;
    int bytes = ipv4 ? 4 : 16;
    const uint8_t *source = ip + (ipv4 ? SV_IPV4_SOURCE_AT : SV_IPV6_SOURCE_AT);
    const uint8_t *ours = received ? source + bytes : source;
    const uint8_t *peer = received ? source : source + bytes;
    uint64_t local = secret;
    for (int i = 0; i < bytes; i += 4)
        local = sv_hash_mix(local, word_at(ours + i));
    uint64_t hash = local;
    for (int i = 0; i < bytes; i += 4)
        hash = sv_hash_mix(hash, word_at(peer + i));
    return (struct flow_hashes){sv_hash_connection(hash, ports), sv_hash_endpoint(local, ports)};
}

/* The XDP program and other threads access marks concurrently, so each access is atomic. */
static inline uint32_t mark_of(const struct sv_bpf_marks *bucket, int i)
{
    return __atomic_load_n(&bucket->mark[i], __ATOMIC_RELAXED);
}

static void set_mark(struct sv_bpf_marks *bucket, int i, uint32_t mark)
{
    __atomic_store_n(&bucket->mark[i], mark, __ATOMIC_RELAXED);
}

/* Returns the index of `mark`, ignoring its time, or -1. */
static inline int find_mark(const struct sv_bpf_marks *bucket, uint32_t mark)
{
    for (int i = 0; i < SV_BPF_MARKS_PER_BUCKET; i++)
        if (((mark_of(bucket, i) ^ mark) & ~SV_BPF_MARK_TIME_MASK) == 0)
            return i;
    return -1;
}

static int oldest_mark(const struct sv_bpf_marks *bucket, uint32_t time)
{
    uint32_t max_age = 0;
    int oldest = 0;
    for (int i = 0; i < SV_BPF_MARKS_PER_BUCKET; i++) {
        uint32_t mark = mark_of(bucket, i);
        uint32_t age = mark == 0 ? SV_BPF_MARK_TIME_MASK + 1 : (time - mark) & SV_BPF_MARK_TIME_MASK;
        if (age > max_age) {
            max_age = age;
            oldest = i;
        }
    }
    return oldest;
}

/* Returns true if it wrote the mark, which was missing or from an earlier second. */
static inline bool insert_mark(struct sv_bpf_marks *bucket, uint64_t hash, uint32_t time)
{
    uint32_t mark = sv_hash_mark(hash) | time;
    int at = find_mark(bucket, mark);
    if (SV_LIKELY(at >= 0 && mark_of(bucket, at) == mark))
        return false;
    set_mark(bucket, at >= 0 ? at : oldest_mark(bucket, time), mark);
    return true;
}

static void remove_mark(struct sv_bpf_marks *bucket, uint64_t hash)
{
    int at = find_mark(bucket, sv_hash_mark(hash));
    if (at >= 0)
        set_mark(bucket, at, 0);
}

static uint32_t mark_time_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    uint64_t nanos = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return (uint32_t)(nanos >> SV_BPF_MARK_TIME_SHIFT) & SV_BPF_MARK_TIME_MASK;
}

static struct sv_bpf_marks *known_bucket(const struct sv_connections *connections, uint64_t hash)
{
    return &connections->known[sv_hash_bucket(hash, SV_BPF_KNOWN_BUCKETS)];
}

static struct sv_bpf_marks *opening_bucket(const struct sv_connections *connections, uint64_t hash)
{
    return &connections->opening[sv_hash_bucket(hash, SV_BPF_OPENING_BUCKETS)];
}

/*
 * Adds two marks of a sent SYN. The first one is the hash of the connection. The XDP program ignores this mark
 * after a few seconds. The second one is the proof: a hash of the connection and of the number that acknowledges the
 * SYN. Its age does not matter, because only a peer that has received the SYN knows the number.
 */
static void insert_opening_marks(const struct sv_connections *connections, uint64_t connection, const uint8_t *tcp,
                                 uint32_t time)
{
    uint64_t proof = sv_hash_proof(connection, htonl(ntohl(word_at(tcp + SV_TCP_SEQUENCE_AT)) + 1));
    insert_mark(opening_bucket(connections, connection), connection, time);
    insert_mark(opening_bucket(connections, proof), proof, time);
}

static inline void track_segment(const struct sv_connections *connections, const uint8_t *ip, const uint8_t *tcp,
                                 uint32_t time)
{
    struct flow_hashes hashes = hash_flow(connections->secret, ip, swap_ports(word_at(tcp)), false);
    struct sv_bpf_marks *known = known_bucket(connections, hashes.connection);
    uint32_t flags = tcp[SV_TCP_FLAGS_AT];
    if (SV_UNLIKELY(flags & SV_TCP_RST)) {
        remove_mark(known, hashes.connection);
        return;
    }
    if (SV_UNLIKELY(flags & SV_TCP_SYN))
        insert_opening_marks(connections, hashes.connection, tcp, time);
    else if (!(flags & SV_TCP_ACK) || SV_LIKELY(!insert_mark(known, hashes.connection, time)))
        return;
    insert_mark(known_bucket(connections, hashes.endpoint), hashes.endpoint, time);
}

SV_HOT void sv_connections_track(const struct sv_connections *connections, const struct sv_frame *frames,
                                 unsigned count)
{
    uint32_t time = SV_BPF_MARK_TIME_MASK + 1;      /* unset; read once per burst, at its first segment */
    for (unsigned i = 0; i < count; i++) {
        uint32_t ip;
        uint32_t tcp = find_tcp(frames[i].data, frames[i].length, &ip);
        if (tcp == 0)
            continue;
        if (time > SV_BPF_MARK_TIME_MASK)
            time = mark_time_now();
        track_segment(connections, frames[i].data + ip, frames[i].data + tcp, time);
    }
}

static bool has_mark(const struct sv_bpf_marks *bucket, uint64_t hash)
{
    return find_mark(bucket, sv_hash_mark(hash)) >= 0;
}

bool sv_connections_is_unsolicited(const struct sv_connections *connections, const struct sv_frame *frame)
{
    uint32_t ip;
    uint32_t at = find_tcp(frame->data, frame->length, &ip);
    const uint8_t *tcp = frame->data + at;
    if (at == 0 || (tcp[SV_TCP_FLAGS_AT] & (SV_TCP_SYN | SV_TCP_RST | SV_TCP_ACK)) == SV_TCP_SYN)
        return false;
    struct flow_hashes hashes = hash_flow(connections->secret, frame->data + ip, word_at(tcp), true);
    uint64_t proof = sv_hash_proof(hashes.connection, word_at(tcp + SV_TCP_ACKNOWLEDGMENT_AT));
    return !has_mark(known_bucket(connections, hashes.connection), hashes.connection) &&
           has_mark(known_bucket(connections, hashes.endpoint), hashes.endpoint) &&
           !has_mark(opening_bucket(connections, hashes.connection), hashes.connection) &&
           !has_mark(opening_bucket(connections, proof), proof);
}
