/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which way a frame of ours goes when more comes than is looked at: SYNs, segments of connections, and those of strangers
 * (docs/security.md). The part of steer.bpf.c that place_xdp is made of; it has what this uses.
 */
/*
 * Keeps clang from making one piece of code of two that do the same at different places: a place that is no constant is
 * more than the verifier allows to who lacks CAP_PERFMON. The names only have to differ.
 */
#define APART_FROM_OTHERS(name) asm volatile("# " name)

INLINE u32 word_at(const u8 *at)
{
    return *(volatile const u32 *)at;
}

/* What place_xdp wants to know of a TCP segment. Hashes are those of steering_hash.h. */
struct segment {
    u64 connection;
    u64 endpoint;       /* our own end of it */
    u32 number;
    u32 acknowledgement;
    int is_syn;
};

INLINE int is_syn(u32 flags)
{
    return (flags & (FLAG_SYN | FLAG_RST | FLAG_ACK)) == FLAG_SYN;
}

/* `ip` and `tcp`: the headers. Each place in them is a constant, as the verifier wants that of who lacks CAP_PERFMON. */
INLINE void name_segment(const u8 *ip, int is_ipv6, const u8 *tcp, u64 secret, struct segment *segment)
{
    u64 local = secret;
    u64 hash;
    u32 ports = word_at(tcp);
    if (is_ipv6) {
        local = sv_steer_mix(sv_steer_mix(local, word_at(ip + 24)), word_at(ip + 28));
        local = sv_steer_mix(sv_steer_mix(local, word_at(ip + 32)), word_at(ip + 36));
        hash = sv_steer_mix(sv_steer_mix(local, word_at(ip + 8)), word_at(ip + 12));
        hash = sv_steer_mix(sv_steer_mix(hash, word_at(ip + 16)), word_at(ip + 20));
    } else {
        local = sv_steer_mix(local, word_at(ip + 16));
        hash = sv_steer_mix(local, word_at(ip + 12));
    }
    segment->connection = sv_steer_connection(hash, ports);
    segment->endpoint = sv_steer_endpoint(local, ports);
    segment->number = word_at(tcp + 4);
    segment->acknowledgement = word_at(tcp + 8);
    segment->is_syn = is_syn(*(volatile const u8 *)(tcp + TCP_FLAGS));
}

/*
 * Segments are read where most are: in ordinary frames, and in IPv6 without extensions. Returns FOUND, NO_SEGMENT, or
 * UNUSUAL: perhaps one behind a VLAN tag or options of IPv4. Of segments but SYNs nothing is said unless `all`.
 */
INLINE int find_segment(const u8 *head, const u8 *head_end, u64 secret, int all, struct segment *segment)
{
    if (head + ETHERNET_IPV4_TCP > head_end)
        return NO_SEGMENT;
    if (head[12] == 0x08 && head[13] == 0) {
        if (head[23] != TCP)
            return NO_SEGMENT;
        if (head[14] != 0x45)
            return UNUSUAL;
        if ((head[20] & 0x3f) != 0 || head[21] != 0 || (!all && !is_syn(head[34 + TCP_FLAGS])))
            return NO_SEGMENT;
        name_segment(head + 14, 0, head + 34, secret, segment);
        APART_FROM_OTHERS("IPv4");
        return FOUND;
    }
    if (head[12] == 0x86 && head[13] == 0xdd) {
        if (head + ETHERNET_IPV6_TCP > head_end || head[20] != TCP || (!all && !is_syn(head[54 + TCP_FLAGS])))
            return NO_SEGMENT;
        name_segment(head + 14, 1, head + 54, secret, segment);
        APART_FROM_OTHERS("IPv6");
        return FOUND;
    }
    return (head[12] == 0x81 && head[13] == 0) || (head[12] == 0x88 && head[13] == 0xa8) ? UNUSUAL : NO_SEGMENT;
}

INLINE int load_ipv4_segment(struct xdp_md *xdp, u32 offset, u64 secret, struct segment *segment)
{
    u8 ip[20];
    u8 tcp[TCP_FLAGS + 1];
    if (xdp_load(xdp, offset, ip, sizeof ip) < 0 || ip[0] >> 4 != 4 || ip[9] != TCP)
        return NO_SEGMENT;
    u32 header = (ip[0] & 15) * 4;
    if (header < 20 || (ip[6] & 0x3f) != 0 || ip[7] != 0 || xdp_load(xdp, offset + header, tcp, sizeof tcp) < 0)
        return NO_SEGMENT;
    name_segment(ip, 0, tcp, secret, segment);
    APART_FROM_OTHERS("loaded IPv4");
    return FOUND;
}

INLINE int load_ipv6_segment(struct xdp_md *xdp, u32 offset, u64 secret, struct segment *segment)
{
    u8 headers[40 + TCP_FLAGS + 1];
    if (xdp_load(xdp, offset, headers, sizeof headers) < 0 || headers[0] >> 4 != 6 || headers[6] != TCP)
        return NO_SEGMENT;
    name_segment(headers, 1, headers + 40, secret, segment);
    APART_FROM_OTHERS("loaded IPv6");
    return FOUND;
}

/* The same for the rest, by copies of the headers. */
INLINE int load_segment(struct xdp_md *xdp, u64 secret, struct segment *segment)
{
    u8 type[6];
    u32 offset = 14;
    if (xdp_load(xdp, 12, type, sizeof type) < 0)
        return NO_SEGMENT;
    if (type[0] == 0x81 || type[0] == 0x88) {
        offset += 4;
        type[0] = type[4];
        type[1] = type[5];
    }
    if (type[0] == 0x08 && type[1] == 0)
        return load_ipv4_segment(xdp, offset, secret, segment);
    return type[0] == 0x86 && type[1] == 0xdd ? load_ipv6_segment(xdp, offset, secret, segment) : NO_SEGMENT;
}

/* Whether the same was asked some time ago, as who got no answer does: see SV_STEER_SYNS. Too soon is no sign of that. */
INLINE int asks_again(const struct segment *segment, u64 now)
{
    u64 hash = sv_steer_mix(segment->connection, segment->number);
    u32 time = (u32)(now >> SV_STEER_SYN_AGE_SHIFT) & SV_STEER_SYN_AGES;
    u32 index = (u32)(hash >> 8) % (SV_STEER_SYNS / 2);
    u32 *pair = map_lookup(&sv_map_syns, &index);   /* as the kernel gives each value 8 bytes at least */
    if (pair == 0)
        return 0;
    u32 *known = pair + (hash & 1);
    u32 mark = (u32)(hash >> 32) & ~SV_STEER_SYN_AGES;
    u32 before = *known;
    u32 age = (time - before) & SV_STEER_SYN_AGES;
    *known = mark | time;
    return (before & ~SV_STEER_SYN_AGES) == mark && age >= SV_STEER_SYN_LEAST_AGE && age <= SV_STEER_SYN_LAST_AGE;
}

/* Counts of what is let through are for a millisecond. */
INLINE void new_window(struct sv_steer_scratch *scratch, u64 now)
{
    u32 window = (u32)(now >> SV_STEER_SYN_WINDOW_SHIFT);
    if (scratch->syn_window == window)
        return;
    scratch->syn_window = window;
    scratch->syns_again = 0;
    scratch->syns_first = 0;
    scratch->opening = 0;
    scratch->strangers = 0;
}

/* Anybody can send what looks as if repeated, so there is a bound to it. */
INLINE int may_come_again(const struct segment *segment, struct sv_steer_scratch *scratch, u64 now)
{
    if (!asks_again(segment, now) || scratch->syns_again >= SV_STEER_SYNS_PER_WINDOW)
        return 0;
    scratch->syns_again++;
    return 1;
}

/*
 * Which way a SYN goes: anybody can send any number. One that is longer than the interface's frames comes from a peer on
 * this host that leaves cutting to others, and is no connection's beginning.
 */
INLINE int way_of_syn(struct xdp_md *xdp, const struct segment *segment, struct sv_steer_directory *directory,
                      struct sv_steer_scratch *scratch)
{
    u64 now = ktime();
    if (xdp_length(xdp) > *(volatile u32 *)&directory->longest_syn) {
        __sync_fetch_and_add(&directory->syns_too_long, 1);
        return NOWHERE;
    }
    new_window(scratch, now);
    if (may_come_again(segment, scratch, now))
        return MAIN;
    if (now < *(volatile u64 *)&directory->syns_limited_until_nanos &&
        scratch->syns_first++ >= SV_STEER_SYNS_PER_WINDOW) {
        __sync_fetch_and_add(&directory->syns_dropped, 1);
        return NOWHERE;
    }
    return APART;
}

/* Whether there is such a mark, and how old it is: -1 when there is none. */
INLINE int age_of_mark(void *map, u32 places, u64 hash, u64 now)
{
    u32 index = sv_steer_place(hash, places);
    u32 mark = sv_steer_mark(hash);
    const struct sv_steer_marks *place = map_lookup(map, &index);
    u32 found = 0;
    if (place == 0)
        return -1;
#pragma unroll
    for (int i = 0; i < SV_STEER_MARKS; i++) {
        u32 there = *(volatile const u32 *)&place->mark[i];
        if (((there ^ mark) & ~SV_STEER_MARK_TIMES) == 0)
            found = there;
    }
    if (found == 0)
        return -1;
    return (int)(((u32)(now >> SV_STEER_MARK_TIME_SHIFT) - found) & SV_STEER_MARK_TIMES);
}

/* Who acknowledges our SYN has had it, however long ago: nobody guesses its number. */
INLINE int has_proof(const struct segment *segment, u64 now)
{
    u64 proof = sv_steer_proof(segment->connection, segment->acknowledgement);
    return age_of_mark(&sv_map_opening, SV_STEER_OPENING_PLACES, proof, now) >= 0;
}

/*
 * Which way another segment goes while strangers are limited: those of connections all go, and few of what is left.
 * Where our own end has none, nobody is a stranger: perhaps the answers leave by another interface, or there are none.
 */
INLINE int way_of_other(const struct segment *segment, struct sv_steer_directory *directory,
                        struct sv_steer_scratch *scratch)
{
    u64 now = ktime();
    if (now >= *(volatile u64 *)&directory->strangers_limited_until_nanos) {
        *(volatile u64 *)&directory->strangers_limited_until_nanos = 0;
        return MAIN;
    }
    if (age_of_mark(&sv_map_known, SV_STEER_KNOWN_PLACES, segment->connection, now) >= 0 ||
        age_of_mark(&sv_map_known, SV_STEER_KNOWN_PLACES, segment->endpoint, now) < 0 || has_proof(segment, now))
        return MAIN;
    new_window(scratch, now);
    int age = age_of_mark(&sv_map_opening, SV_STEER_OPENING_PLACES, segment->connection, now);
    if (age >= 0 && age <= SV_STEER_OPENING_LAST_AGE && scratch->opening < SV_STEER_OPENING_PER_WINDOW) {
        scratch->opening++;
        return MAIN;
    }
    if (may_come_again(segment, scratch, now))
        return MAIN;
    if (scratch->strangers++ == 0 && scratch->syn_window % SV_STEER_STRANGER_WINDOWS == 0)
        return MAIN;
    /* Else each second some would come through until the library sees that its ring fills again. */
    if (scratch->strangers == SV_STEER_STRANGERS_FLOOD)
        *(volatile u64 *)&directory->strangers_limited_until_nanos = now + SV_STEER_LIMITED_NANOS;
    __sync_fetch_and_add(&directory->strangers_dropped, 1);
    APART_FROM_OTHERS("a stranger");
    return NOWHERE;
}

INLINE int way_of(struct xdp_md *xdp, struct sv_steer_directory *directory)
{
    u32 zero = 0;
    struct segment segment;
    int limited = *(volatile u64 *)&directory->strangers_limited_until_nanos != 0;
    int found = find_segment((const u8 *)(long)xdp->data, (const u8 *)(long)xdp->data_end, directory->secret, limited,
                             &segment);
    if (found == UNUSUAL)
        found = load_segment(xdp, directory->secret, &segment);
    if (found != FOUND)
        return MAIN;
    struct sv_steer_scratch *scratch = map_lookup(&sv_map_scratch, &zero);
    if (scratch == 0)
        return MAIN;
    if (segment.is_syn)
        return way_of_syn(xdp, &segment, directory, scratch);
    return limited ? way_of_other(&segment, directory, scratch) : MAIN;
}
