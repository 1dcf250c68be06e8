/* SPDX-License-Identifier: Apache-2.0 */
/* See connections.h. */
#include "connections.h"

#include "objects.h"
#include "steering_hash.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <time.h>

enum { ETHERNET = 14, TAG = 4, IPV4 = 20, IPV6 = 40, TCP = 20 };
enum { FLAG_SYN = 2, FLAG_RST = 4, FLAG_ACK = 16, SEQUENCE_AT = 4, ACKNOWLEDGEMENT_AT = 8, FLAGS_AT = 13 };
enum { TYPE_IPV4 = 0x0800, TYPE_IPV6 = 0x86dd, TYPE_VLAN = 0x8100, TYPE_QINQ = 0x88a8, FRAGMENT_BITS = 0x3fff };

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

/* The ports as in a segment of the other direction, which begins with the peer's. */
static inline uint32_t swapped(uint32_t ports)
{
    return ports << 16 | ports >> 16;
}

/* Where the TCP header of a frame that is sent begins; 0: there is none. */
static inline uint32_t find_tcp(const uint8_t *data, uint32_t length, uint32_t *ip)
{
    *ip = ETHERNET;
    if (SV_UNLIKELY(length < ETHERNET + IPV4 + TCP))
        return 0;
    uint32_t type = be16(data + 12);
    if (SV_UNLIKELY(type == TYPE_VLAN || type == TYPE_QINQ)) {
        *ip += TAG;
        type = be16(data + 16);
    }
    if (type == TYPE_IPV4) {
        const uint8_t *header = data + *ip;
        uint32_t tcp = *ip + (header[0] & 15) * 4u;
        bool plain = header[9] == IPPROTO_TCP && (be16(header + 6) & FRAGMENT_BITS) == 0 && (header[0] & 15) >= 5;
        return plain && tcp + TCP <= length ? tcp : 0;
    }
    bool ipv6 = type == TYPE_IPV6 && *ip + IPV6 + TCP <= length && data[*ip + 6] == IPPROTO_TCP;
    return ipv6 ? *ip + IPV6 : 0;
}

struct names {
    uint64_t connection;
    uint64_t endpoint;
};

/* `received`: our own address is the destination. */
static inline struct names names_of(uint64_t secret, const uint8_t *ip, uint32_t ports, bool received)
{
    bool ipv4 = ip[0] >> 4 == 4;
    int bytes = ipv4 ? 4 : 16;
    const uint8_t *source = ip + (ipv4 ? 12 : 8);
    const uint8_t *ours = received ? source + bytes : source;
    const uint8_t *peer = received ? source : source + bytes;
    uint64_t local = secret;
    for (int i = 0; i < bytes; i += 4)
        local = sv_steer_mix(local, word_at(ours + i));
    uint64_t hash = local;
    for (int i = 0; i < bytes; i += 4)
        hash = sv_steer_mix(hash, word_at(peer + i));
    return (struct names){sv_steer_connection(hash, ports), sv_steer_endpoint(local, ports)};
}

/* Marks are read by the program and written by others beside us: each by one access. */
static inline uint32_t mark_of(const struct sv_steer_marks *place, int i)
{
    return __atomic_load_n(&place->mark[i], __ATOMIC_RELAXED);
}

static void set_mark(struct sv_steer_marks *place, int i, uint32_t mark)
{
    __atomic_store_n(&place->mark[i], mark, __ATOMIC_RELAXED);
}

/* Where `mark` is, whatever its time; -1: nowhere. */
static inline int find_mark(const struct sv_steer_marks *place, uint32_t mark)
{
    for (int i = 0; i < SV_STEER_MARKS; i++)
        if (((mark_of(place, i) ^ mark) & ~SV_STEER_MARK_TIMES) == 0)
            return i;
    return -1;
}

static int oldest_mark(const struct sv_steer_marks *place, uint32_t time)
{
    uint32_t most = 0;
    int oldest = 0;
    for (int i = 0; i < SV_STEER_MARKS; i++) {
        uint32_t mark = mark_of(place, i);
        uint32_t age = mark == 0 ? SV_STEER_MARK_TIMES + 1 : (time - mark) & SV_STEER_MARK_TIMES;
        if (age > most) {
            most = age;
            oldest = i;
        }
    }
    return oldest;
}

/* Returns whether anything was written: the mark was not there, or is from an earlier second. */
static inline bool remember(struct sv_steer_marks *place, uint64_t hash, uint32_t time)
{
    uint32_t mark = sv_steer_mark(hash) | time;
    int at = find_mark(place, mark);
    if (SV_LIKELY(at >= 0 && mark_of(place, at) == mark))
        return false;
    set_mark(place, at >= 0 ? at : oldest_mark(place, time), mark);
    return true;
}

static void forget(struct sv_steer_marks *place, uint64_t hash)
{
    int at = find_mark(place, sv_steer_mark(hash));
    if (at >= 0)
        set_mark(place, at, 0);
}

static uint32_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    uint64_t nanos = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return (uint32_t)(nanos >> SV_STEER_MARK_TIME_SHIFT) & SV_STEER_MARK_TIMES;
}

static struct sv_steer_marks *known_place(const struct sv_connections *connections, uint64_t hash)
{
    return &connections->known[sv_steer_place(hash, SV_STEER_KNOWN_PLACES)];
}

static struct sv_steer_marks *opening_place(const struct sv_connections *connections, uint64_t hash)
{
    return &connections->opening[sv_steer_place(hash, SV_STEER_OPENING_PLACES)];
}

/* The acknowledgement of a SYN proves that its peer is there, however late it comes. */
static void remember_syn(const struct sv_connections *connections, uint64_t connection, const uint8_t *tcp,
                         uint32_t time)
{
    uint64_t proof = sv_steer_proof(connection, htonl(ntohl(word_at(tcp + SEQUENCE_AT)) + 1));
    remember(opening_place(connections, connection), connection, time);
    remember(opening_place(connections, proof), proof, time);
}

static inline void learn(const struct sv_connections *connections, const uint8_t *ip, const uint8_t *tcp, uint32_t time)
{
    struct names names = names_of(connections->secret, ip, swapped(word_at(tcp)), false);
    struct sv_steer_marks *known = known_place(connections, names.connection);
    uint32_t flags = tcp[FLAGS_AT];
    if (SV_UNLIKELY(flags & FLAG_RST)) {
        forget(known, names.connection);
        return;
    }
    if (SV_UNLIKELY(flags & FLAG_SYN))
        remember_syn(connections, names.connection, tcp, time);
    else if (!(flags & FLAG_ACK) || SV_LIKELY(!remember(known, names.connection, time)))
        return;
    remember(known_place(connections, names.endpoint), names.endpoint, time);
}

SV_HOT void sv_connections_learn(const struct sv_connections *connections, const struct sv_frame *frames,
                                 unsigned count)
{
    uint32_t time = SV_STEER_MARK_TIMES + 1;    /* not asked yet: once for the burst, if there is a segment in it */
    for (unsigned i = 0; i < count; i++) {
        uint32_t ip;
        uint32_t tcp = find_tcp(frames[i].data, frames[i].length, &ip);
        if (tcp == 0)
            continue;
        if (time > SV_STEER_MARK_TIMES)
            time = seconds_now();
        learn(connections, frames[i].data + ip, frames[i].data + tcp, time);
    }
}

static bool has_mark(const struct sv_steer_marks *place, uint64_t hash)
{
    return find_mark(place, sv_steer_mark(hash)) >= 0;
}

bool sv_connections_is_stranger(const struct sv_connections *connections, const struct sv_frame *frame)
{
    uint32_t ip;
    uint32_t at = find_tcp(frame->data, frame->length, &ip);
    const uint8_t *tcp = frame->data + at;
    if (at == 0 || (tcp[FLAGS_AT] & (FLAG_SYN | FLAG_RST | FLAG_ACK)) == FLAG_SYN)
        return false;
    struct names names = names_of(connections->secret, frame->data + ip, word_at(tcp), true);
    uint64_t proof = sv_steer_proof(names.connection, word_at(tcp + ACKNOWLEDGEMENT_AT));
    return !has_mark(known_place(connections, names.connection), names.connection) &&
           has_mark(known_place(connections, names.endpoint), names.endpoint) &&
           !has_mark(opening_place(connections, names.connection), names.connection) &&
           !has_mark(opening_place(connections, proof), proof);
}
