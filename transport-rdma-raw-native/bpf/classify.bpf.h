/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classifies frames under overload: SYNs, segments of connections, unsolicited ones (docs/reference/security.md).
 * programs.bpf.c includes this file for its program xdp_classify.
 */
/*
 * Prevents clang from merging identical code for different constant offsets. The verifier needs constant offsets if the
 * process lacks CAP_PERFMON. Each use has another name.
 */
#define KEEP_SEPARATE(name) asm volatile("# " name)

INLINE u32 word_at(const u8 *at)
{
    return *(volatile const u32 *)at;
}

/* The parts of a TCP segment that xdp_classify uses. The hashes are those of connection_hash.h. */
struct segment {
    u64 connection;
    u64 endpoint;       /* the local address and port */
    u32 number;
    u32 acknowledgement;
    int is_syn;
};

INLINE int is_syn(u32 flags)
{
    return (flags & (SV_TCP_SYN | SV_TCP_RST | SV_TCP_ACK)) == SV_TCP_SYN;
}

/*
 * `ip` and `tcp` point to the headers. All offsets into them are constant, as the verifier requires without
 * CAP_PERFMON.
 */
INLINE void hash_segment(const u8 *ip, int is_ipv6, const u8 *tcp, u64 secret, struct segment *segment)
{
    u64 local = secret;
    u64 hash;
    u32 ports = word_at(tcp);
    if (is_ipv6) {
        const u8 *src = ip + SV_IPV6_SOURCE_AT;
        const u8 *dst = ip + SV_IPV6_DESTINATION_AT;
        local = sv_hash_mix(sv_hash_mix(local, word_at(dst)), word_at(dst + 4));
        local = sv_hash_mix(sv_hash_mix(local, word_at(dst + 8)), word_at(dst + 12));
        hash = sv_hash_mix(sv_hash_mix(local, word_at(src)), word_at(src + 4));
        hash = sv_hash_mix(sv_hash_mix(hash, word_at(src + 8)), word_at(src + 12));
    } else {
        local = sv_hash_mix(local, word_at(ip + SV_IPV4_DESTINATION_AT));
        hash = sv_hash_mix(local, word_at(ip + SV_IPV4_SOURCE_AT));
    }
    segment->connection = sv_hash_connection(hash, ports);
    segment->endpoint = sv_hash_endpoint(local, ports);
    segment->number = word_at(tcp + SV_TCP_SEQUENCE_AT);
    segment->acknowledgement = word_at(tcp + SV_TCP_ACKNOWLEDGMENT_AT);
    segment->is_syn = is_syn(*(volatile const u8 *)(tcp + SV_TCP_FLAGS_AT));
}

/*
 * Reads the segment in place: IPv4 without options or IPv6 without extension headers, untagged. Returns FOUND,
 * NO_SEGMENT, or NEEDS_COPY for a frame with a VLAN tag or IPv4 options. Finds only SYNs unless `all` is set.
 */
INLINE int find_segment(const u8 *head, const u8 *head_end, u64 secret, int all, struct segment *segment)
{
    if (head + ETHERNET_IPV4_TCP > head_end)
        return NO_SEGMENT;
    if (HAS_ETHER_TYPE(head, ETH_P_IP)) {
        const u8 *ip = head + ETH_HLEN;
        const u8 *tcp = ip + SV_IPV4_HLEN;
        if (ip[SV_IPV4_PROTOCOL_AT] != IPPROTO_TCP)
            return NO_SEGMENT;
        if (ip[0] != SV_IPV4_NO_OPTIONS)
            return NEEDS_COPY;
        if (is_fragment(ip) || (!all && !is_syn(tcp[SV_TCP_FLAGS_AT])))
            return NO_SEGMENT;
        hash_segment(ip, 0, tcp, secret, segment);
        KEEP_SEPARATE("IPv4");
        return FOUND;
    }
    if (HAS_ETHER_TYPE(head, ETH_P_IPV6)) {
        const u8 *ip = head + ETH_HLEN;
        const u8 *tcp = ip + SV_IPV6_HLEN;
        if (head + ETHERNET_IPV6_TCP > head_end || ip[SV_IPV6_NEXT_HEADER_AT] != IPPROTO_TCP ||
            (!all && !is_syn(tcp[SV_TCP_FLAGS_AT])))
            return NO_SEGMENT;
        hash_segment(ip, 1, tcp, secret, segment);
        KEEP_SEPARATE("IPv6");
        return FOUND;
    }
    return HAS_ETHER_TYPE(head, ETH_P_8021Q) || HAS_ETHER_TYPE(head, ETH_P_8021AD) ? NEEDS_COPY : NO_SEGMENT;
}

INLINE int load_ipv4_segment(struct xdp_md *xdp, u32 offset, u64 secret, struct segment *segment)
{
    u8 ip[SV_IPV4_HLEN];
    u8 tcp[SV_TCP_FLAGS_AT + 1];
    if (xdp_load(xdp, offset, ip, sizeof ip) < 0 || ip[0] >> 4 != 4 || ip[SV_IPV4_PROTOCOL_AT] != IPPROTO_TCP)
        return NO_SEGMENT;
    u32 header = (ip[0] & 15) * 4;
    if (header < SV_IPV4_HLEN || is_fragment(ip) || xdp_load(xdp, offset + header, tcp, sizeof tcp) < 0)
        return NO_SEGMENT;
    hash_segment(ip, 0, tcp, secret, segment);
    KEEP_SEPARATE("loaded IPv4");
    return FOUND;
}

INLINE int load_ipv6_segment(struct xdp_md *xdp, u32 offset, u64 secret, struct segment *segment)
{
    u8 headers[SV_IPV6_HLEN + SV_TCP_FLAGS_AT + 1];
    if (xdp_load(xdp, offset, headers, sizeof headers) < 0 || headers[0] >> 4 != 6 ||
        headers[SV_IPV6_NEXT_HEADER_AT] != IPPROTO_TCP)
        return NO_SEGMENT;
    hash_segment(headers, 1, headers + SV_IPV6_HLEN, secret, segment);
    KEEP_SEPARATE("loaded IPv6");
    return FOUND;
}

/* Reads the segment of any other frame from copies of its headers. */
INLINE int load_segment(struct xdp_md *xdp, u64 secret, struct segment *segment)
{
    u8 type[SV_VLAN_HLEN + 2];
    u32 offset = ETH_HLEN;
    if (xdp_load(xdp, SV_ETHERTYPE_AT, type, sizeof type) < 0)
        return NO_SEGMENT;
    if (type[0] == ETH_P_8021Q >> 8 || type[0] == ETH_P_8021AD >> 8) {
        offset += SV_VLAN_HLEN;
        type[0] = type[SV_VLAN_HLEN];
        type[1] = type[SV_VLAN_HLEN + 1];
    }
    if (type[0] == ETH_P_IP >> 8 && type[1] == (ETH_P_IP & 0xff))
        return load_ipv4_segment(xdp, offset, secret, segment);
    if (type[0] == ETH_P_IPV6 >> 8 && type[1] == (ETH_P_IPV6 & 0xff))
        return load_ipv6_segment(xdp, offset, secret, segment);
    return NO_SEGMENT;
}

/*
 * Returns true for a retransmission: the same segment arrived a plausible time ago (see SV_BPF_SEEN_ENTRIES), not just
 * now. Stores the segment as seen.
 */
INLINE int is_repeated(const struct segment *segment, u64 now)
{
    u64 hash = sv_hash_mix(segment->connection, segment->number);
    u32 time = (u32)(now >> SV_BPF_SEEN_TIME_SHIFT) & SV_BPF_SEEN_TIME_MASK;
    u32 index = (u32)(hash >> 8) % (SV_BPF_SEEN_ENTRIES / 2);
    u32 *pair = map_lookup(&sv_map_seen, &index);   /* the kernel rounds values up to 8 bytes, so one holds two */
    if (pair == 0)
        return 0;
    u32 *known = pair + (hash & 1);
    u32 mark = (u32)(hash >> 32) & ~SV_BPF_SEEN_TIME_MASK;
    u32 before = *known;
    u32 age = (time - before) & SV_BPF_SEEN_TIME_MASK;
    *known = mark | time;
    return (before & ~SV_BPF_SEEN_TIME_MASK) == mark && age >= SV_BPF_SEEN_MIN_AGE && age <= SV_BPF_SEEN_MAX_AGE;
}

/* Resets the counts of admitted segments each millisecond. */
INLINE void update_window(struct sv_bpf_scratch *scratch, u64 now)
{
    u32 window = (u32)(now >> SV_BPF_WINDOW_SHIFT);
    if (scratch->window == window)
        return;
    scratch->window = window;
    scratch->repeated = 0;
    scratch->first_syns = 0;
    scratch->opening = 0;
    scratch->unsolicited = 0;
}

/* Admits retransmissions up to a limit, because a sender can forge them. */
INLINE int admit_repeated(const struct segment *segment, struct sv_bpf_scratch *scratch, u64 now)
{
    if (!is_repeated(segment, now) || scratch->repeated >= SV_BPF_UNKNOWN_PER_WINDOW)
        return 0;
    scratch->repeated++;
    return 1;
}

/*
 * Classifies a SYN, which may arrive in any number. A SYN longer than the interface's frames comes from a peer on this
 * host that relies on segmentation offload. It cannot open a connection.
 */
INLINE int classify_syn(struct xdp_md *xdp, const struct segment *segment, struct sv_bpf_traffic *traffic,
                        struct sv_bpf_scratch *scratch)
{
    u64 now = ktime();
    if (xdp_length(xdp) > *(volatile u32 *)&traffic->max_syn_bytes) {
        __sync_fetch_and_add(&traffic->long_syns_dropped, 1);
        return RXC_DROP;
    }
    update_window(scratch, now);
    if (admit_repeated(segment, scratch, now))
        return RXC_MAIN;
    if (now < *(volatile u64 *)&traffic->syns_limited_until_nanos &&
        scratch->first_syns++ >= SV_BPF_UNKNOWN_PER_WINDOW) {
        __sync_fetch_and_add(&traffic->syns_dropped, 1);
        return RXC_DROP;
    }
    return RXC_SYN;
}

/* Returns the age of a mark, or -1 if the table does not have it. */
INLINE int age_of_mark(void *map, u32 buckets, u64 hash, u64 now)
{
    u32 index = sv_hash_bucket(hash, buckets);
    u32 mark = sv_hash_mark(hash);
    const struct sv_bpf_marks *bucket = map_lookup(map, &index);
    u32 found = 0;
    if (bucket == 0)
        return -1;
#pragma unroll
    for (int i = 0; i < SV_BPF_MARKS_PER_BUCKET; i++) {
        u32 there = *(volatile const u32 *)&bucket->mark[i];
        if (((there ^ mark) & ~SV_BPF_MARK_TIME_MASK) == 0)
            found = there;
    }
    if (found == 0)
        return -1;
    return (int)(((u32)(now >> SV_BPF_MARK_TIME_SHIFT) - found) & SV_BPF_MARK_TIME_MASK);
}

/*
 * Only a peer that received our SYN knows its sequence number, so an acknowledgment of it proves that the peer is
 * genuine.
 */
INLINE int acknowledges_our_syn(const struct segment *segment, u64 now)
{
    u64 proof = sv_hash_proof(segment->connection, segment->acknowledgement);
    return age_of_mark(&sv_map_opening, SV_BPF_OPENING_BUCKETS, proof, now) >= 0;
}

/*
 * Classifies a segment other than a SYN while unsolicited segments are limited. Admits all segments of connections and
 * few others. A local endpoint without any connection receives all segments, because its answers may leave through
 * another interface.
 */
INLINE int classify_other(const struct segment *segment, struct sv_bpf_traffic *traffic,
                          struct sv_bpf_scratch *scratch)
{
    u64 now = ktime();
    if (now >= *(volatile u64 *)&traffic->unsolicited_limited_until_nanos) {
        *(volatile u64 *)&traffic->unsolicited_limited_until_nanos = 0;
        return RXC_MAIN;
    }
    if (age_of_mark(&sv_map_known, SV_BPF_KNOWN_BUCKETS, segment->connection, now) >= 0 ||
        age_of_mark(&sv_map_known, SV_BPF_KNOWN_BUCKETS, segment->endpoint, now) < 0 ||
        acknowledges_our_syn(segment, now))
        return RXC_MAIN;
    update_window(scratch, now);
    int age = age_of_mark(&sv_map_opening, SV_BPF_OPENING_BUCKETS, segment->connection, now);
    if (age >= 0 && age <= SV_BPF_OPENING_MAX_AGE && scratch->opening < SV_BPF_OPENING_PER_WINDOW) {
        scratch->opening++;
        return RXC_MAIN;
    }
    if (admit_repeated(segment, scratch, now))
        return RXC_MAIN;
    if (scratch->unsolicited++ == 0 && scratch->window % SV_BPF_UNSOLICITED_WINDOWS == 0)
        return RXC_MAIN;
    /* Extends the limit here. Otherwise a flood would pass once a second until the library sees its ring fill again. */
    if (scratch->unsolicited == SV_BPF_UNSOLICITED_FLOOD)
        *(volatile u64 *)&traffic->unsolicited_limited_until_nanos = now + SV_BPF_LIMITED_NANOS;
    __sync_fetch_and_add(&traffic->unsolicited_dropped, 1);
    KEEP_SEPARATE("unsolicited");
    return RXC_DROP;
}

INLINE int classify_frame(struct xdp_md *xdp, struct sv_bpf_traffic *traffic)
{
    u32 zero = 0;
    struct segment segment;
    int limited = *(volatile u64 *)&traffic->unsolicited_limited_until_nanos != 0;
    int found = find_segment((const u8 *)(long)xdp->data, (const u8 *)(long)xdp->data_end, traffic->secret, limited,
                             &segment);
    if (found == NEEDS_COPY)
        found = load_segment(xdp, traffic->secret, &segment);
    if (found != FOUND)
        return RXC_MAIN;
    struct sv_bpf_scratch *scratch = map_lookup(&sv_map_scratch, &zero);
    if (scratch == 0)
        return RXC_MAIN;
    if (segment.is_syn)
        return classify_syn(xdp, &segment, traffic, scratch);
    return limited ? classify_other(&segment, traffic, scratch) : RXC_MAIN;
}
