/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides for each received frame whether a flow rule of this process takes it or the kernel keeps it. The library's
 * own search (flow_search.c) selects the queue pair and the tag. The programs, by their hook in the kernel:
 *   xdp_redirect    redirects frames that rules take to an AF_XDP socket of the receive queue; calls xdp_classify
 *   xdp_classify    selects the socket of the receive queue: the main one, the one for SYNs, or none
 *   tc_redirect     at ingress, redirects frames that rules take to a TAP interface, on which xdp_classify runs
 *   tc_drop         at ingress, drops frames that rules take, after an AF_PACKET ring has copied them
 *   socket_matches  selects the frames for an AF_PACKET ring: those that match a rule
 *   socket_copies   the same for an AF_PACKET ring beside AF_XDP sockets: those that the kernel receives too
 *
 * bpf/build.py compiles this file into softverbs/bpf_programs.h.
 */
#include <linux/bpf.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>

#include "../softverbs/bpf_layout.h"
#include "../softverbs/connection_hash.h"
#include "../softverbs/wire_defs.h"

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define HAS_ETHER_TYPE(head, type) \
    ((head)[SV_ETHERTYPE_AT] == (type) >> 8 && (head)[SV_ETHERTYPE_AT + 1] == ((type) & 0xff))
#define BE16(x) ((unsigned short)__builtin_bswap16(x))

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

/* build.py replaces references to these symbols by map numbers. */
struct map_reference {
    int unused;
};
struct map_reference sv_map_directory SECTION("maps");
struct map_reference sv_map_rules SECTION("maps");
struct map_reference sv_map_deep_rules SECTION("maps");
struct map_reference sv_map_scratch SECTION("maps");
struct map_reference sv_map_sockets SECTION("maps");
struct map_reference sv_map_key_verdicts SECTION("maps");
struct map_reference sv_map_frame_verdicts SECTION("maps");
struct map_reference sv_map_seen SECTION("maps");
struct map_reference sv_map_known SECTION("maps");
struct map_reference sv_map_opening SECTION("maps");
struct map_reference sv_map_programs SECTION("maps");
struct map_reference sv_map_traffic SECTION("maps");

static void *(*map_lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*tail_call)(void *context, void *map, u32 index) = (void *)BPF_FUNC_tail_call;
static long (*redirect_map)(void *map, u64 key, u64 flags) = (void *)BPF_FUNC_redirect_map;
static long (*skb_load)(const void *skb, u32 offset, void *to, u32 length) = (void *)BPF_FUNC_skb_load_bytes;
static long (*xdp_load)(void *xdp, u32 offset, void *to, u32 length) = (void *)BPF_FUNC_xdp_load_bytes;
static long (*redirect)(u32 interface, u64 flags) = (void *)BPF_FUNC_redirect;
static long (*skb_store)(void *skb, u32 offset, const void *from, u32 length, u64 flags) =
    (void *)BPF_FUNC_skb_store_bytes;
static long (*skb_change_head)(void *skb, u32 length, u64 flags) = (void *)BPF_FUNC_skb_change_head;
static u64 (*ktime)(void) = (void *)BPF_FUNC_ktime_get_ns;
static u64 (*xdp_length)(void *xdp) = (void *)BPF_FUNC_xdp_get_buff_len;

enum {
    ETHERNET_IPV4_TCP = ETH_HLEN + SV_IPV4_HLEN + SV_TCP_HLEN,
    ETHERNET_IPV6_TCP = ETH_HLEN + SV_IPV6_HLEN + SV_TCP_HLEN,
};
enum verdict { PASS, REDIRECT, CLONE };           /* to the kernel; to the library; to both */
enum rx_class { RXC_MAIN, RXC_SYN, RXC_DROP };    /* the queue's main socket; its socket for SYNs; none */
enum { NO_SEGMENT, FOUND, NEEDS_COPY };
enum { WHOLE_FRAME = -1 };                         /* a socket filter returns the number of bytes to keep */
enum { PORTS_BYTES = 4, IPV4_AND_PORTS = SV_IPV4_HLEN + PORTS_BYTES };

#include "parse.bpf.h"

INLINE int default_verdict(const struct sv_bpf_half *half, const struct sv_bpf_scratch *scratch)
{
    const u8 *mac = scratch->outer.dst_mac;
    if (half->flags & SV_BPF_SNIFFER)
        return CLONE;
    if (mac[0] & 1)
        return half->flags & (SV_BPF_ALL_DEFAULT | SV_BPF_MULTICAST_DEFAULT) ? CLONE : PASS;
    if (!(half->flags & SV_BPF_ALL_DEFAULT))
        return PASS;
    /* Default rules take the frames that the kernel does not need. It needs those to the interface's own address. */
    int own = 1;
    for (int i = 0; i < ETH_ALEN; i++)
        own &= mac[i] == half->mac[i];
    return own ? PASS : REDIRECT;
}

/* `copies` is in the scratch area. In a register it would double the states that the verifier follows. */
INLINE int search_rules(const struct sv_bpf_half *half, struct sv_bpf_scratch *scratch)
{
    const u64 *key = (const u64 *)&scratch->outer;
    u32 subtable_count = half->subtable_count;
    scratch->copies = 0;
    for (u32 i = 0; i < SV_BPF_MAX_SUBTABLES && i < subtable_count; i++) {
        const struct sv_bpf_subtable *subtable = &half->subtable[i];
        const struct sv_bpf_rule *rule;
        scratch->probe.subtable_id = subtable->id;
#pragma unroll
        for (int w = 0; w < SV_BPF_PLAIN_WORDS; w++)
            scratch->probe.words[w] = key[w] & subtable->mask[w];
        if (subtable->deep) {
#pragma unroll
            for (int w = SV_BPF_PLAIN_WORDS; w < SV_BPF_KEY_WORDS; w++)
                scratch->probe.words[w] = key[w] & subtable->mask[w];
            rule = map_lookup(&sv_map_deep_rules, &scratch->probe);
        } else {
            rule = map_lookup(&sv_map_rules, &scratch->probe);
        }
        if (rule == 0)
            continue;
        if (rule->trap_rules > 0)
            return REDIRECT;
        scratch->copies |= rule->dont_trap_rules;
    }
    int rest = default_verdict(half, scratch);
    return rest == PASS && scratch->copies != 0 ? CLONE : rest;
}

INLINE u32 sequence_of(const struct sv_bpf_directory *directory)
{
    return *(const volatile u32 *)&directory->sequence;
}

/*
 * Returns the offset 0 for sequence_after() if nothing differs. It is computed before the difference is tested, and in
 * assembler: otherwise the compiler or the verifier would know that it is 0 and replace it by a constant.
 */
INLINE u64 offset_of(u64 difference)
{
    asm volatile("%0 &= 4" : "+r"(difference));
    return difference;
}

/*
 * Loads the sequence number after the loads from which the offset was computed. The address of this load depends on
 * them, which orders them on processors that reorder loads (memory-barriers.txt), without a barrier per frame.
 */
INLINE u32 sequence_after(const struct sv_bpf_directory *directory, u64 offset)
{
    return *(const volatile u32 *)((const u8 *)&directory->sequence + offset);
}

/* Returns the cache slot for these headers, and stores in the scratch area the bits on which the verdict depends. */
INLINE const struct sv_bpf_key_verdict *key_verdict_slot(const struct sv_bpf_half *half,
                                                         struct sv_bpf_scratch *scratch)
{
    const u64 *key = (const u64 *)&scratch->outer;
    u64 mixed = 0;
#pragma unroll
    for (int w = 0; w < SV_BPF_PLAIN_WORDS; w++) {
        u64 word = key[w] & half->key_mask[w];
        scratch->key_words[w] = word;
        mixed = (mixed << 9 | mixed >> 55) ^ word;
    }
    u32 index = (u32)(mixed * 0x9e3779b97f4a7c15ull >> 40) % SV_BPF_VERDICT_ENTRIES;
    scratch->key_index = index;
    return map_lookup(&sv_map_key_verdicts, &index);
}

/* Returns 0 if the entry belongs to these headers and rules. */
INLINE u64 key_verdict_difference(const struct sv_bpf_key_verdict *entry, const struct sv_bpf_scratch *scratch,
                                  u32 generation)
{
    u64 difference = entry->generation ^ generation;
#pragma unroll
    for (int w = 0; w < SV_BPF_PLAIN_WORDS; w++)
        difference |= entry->words[w] ^ scratch->key_words[w];
    return difference;
}

INLINE void store_key_verdict(const struct sv_bpf_scratch *scratch, u32 generation, int verdict)
{
    u32 index = scratch->key_index;
    struct sv_bpf_key_verdict *entry = map_lookup(&sv_map_key_verdicts, &index);
    if (entry == 0)
        return;
#pragma unroll
    for (int w = 0; w < SV_BPF_PLAIN_WORDS; w++)
        entry->words[w] = scratch->key_words[w];
    entry->generation = generation;
    entry->verdict = (u32)verdict;
}

/* Returns true if a frame's first words determine the verdict. half->frame_mask always has the bits tested here. */
INLINE int is_ordinary(const u64 *words)
{
    const u8 *head = (const u8 *)words;
    const u8 *ip = head + ETH_HLEN;
    return HAS_ETHER_TYPE(head, ETH_P_IP) && ip[0] == SV_IPV4_NO_OPTIONS && !is_fragment(ip) &&
           (ip[SV_IPV4_PROTOCOL_AT] == IPPROTO_TCP || ip[SV_IPV4_PROTOCOL_AT] == IPPROTO_UDP);
}

/*
 * Returns the cached verdict on an ordinary frame, or -1, with the words of a new entry in the scratch area. On the
 * stack, these words would make the verifier follow each path through the parser once for each of their states.
 * `offset` is for sequence_after().
 */
INLINE int lookup_frame_verdict(const struct frame *frame, const struct sv_bpf_half *half, u32 generation,
                                struct sv_bpf_scratch *scratch, u64 *offset)
{
    u64 words[SV_BPF_FRAME_WORDS];
    u64 mixed = 0;
    scratch->is_ordinary = 0;
    if (frame->head + SV_BPF_MIN_FRAME_BYTES > frame->head_end)
        return -1;
#pragma unroll
    for (int w = 0; w < SV_BPF_FRAME_WORDS; w++) {
        words[w] = *(const u64 *)(frame->head + w * 8) & half->frame_mask[w];
        mixed = (mixed << 9 | mixed >> 55) ^ words[w];
    }
    u32 index = (u32)(mixed * 0x9e3779b97f4a7c15ull >> 40) % SV_BPF_VERDICT_ENTRIES;
    const struct sv_bpf_frame_verdict *known = map_lookup(&sv_map_frame_verdicts, &index);
    if (known == 0)
        return -1;
    u64 difference = known->generation ^ generation;
#pragma unroll
    for (int w = 0; w < SV_BPF_FRAME_WORDS; w++)
        difference |= known->words[w] ^ words[w];
    *offset = offset_of(difference);
    if (difference == 0)
        return (int)(known->verdict & 3);
    __builtin_memcpy(scratch->frame_words, words, sizeof words);
    scratch->frame_index = index;
    scratch->is_ordinary = (u32)is_ordinary(words);
    return -1;
}

INLINE void store_frame_verdict(const struct sv_bpf_scratch *scratch, u32 generation, int verdict)
{
    u32 index = scratch->frame_index;
    struct sv_bpf_frame_verdict *entry = map_lookup(&sv_map_frame_verdicts, &index);
    if (entry == 0)
        return;
#pragma unroll
    for (int w = 0; w < SV_BPF_FRAME_WORDS; w++)
        entry->words[w] = scratch->frame_words[w];
    entry->generation = generation;
    entry->verdict = (u32)verdict;
}

/*
 * Orders the loads of the shared maps before this call before those after it, on processors that reorder loads. An
 * atomic operation that returns a value is a full barrier (the kernel's bpf_design_QA.rst and memory-barriers.txt).
 */
INLINE void order_loads(const struct sv_bpf_directory *directory, struct sv_bpf_scratch *scratch)
{
    if (directory->loads_reorder)
        scratch->barrier = __sync_fetch_and_add(&scratch->barrier, 1);
}

/* Returns true if the half searched under this sequence number has not been rewritten since. */
INLINE int was_stable(const struct sv_bpf_directory *directory, u32 sequence)
{
    return *(const volatile u32 *)&directory->filling - sequence <= 1;
}

INLINE int wants_inner(const struct sv_bpf_half *half)
{
    return (*(const volatile u32 *)&half->flags & SV_BPF_WANTS_INNER) != 0;
}

INLINE int find_verdict(struct frame *frame, int tag_removed, u16 tpid, u16 tci)
{
    u32 zero = 0;
    struct sv_bpf_directory *directory = map_lookup(&sv_map_directory, &zero);
    struct sv_bpf_scratch *scratch = map_lookup(&sv_map_scratch, &zero);
    if (directory == 0 || scratch == 0)
        return PASS;
    /* One load of both: a sequence number is never older than its generation. */
    u64 version = *(const volatile u64 *)&directory->sequence;
    u32 sequence = (u32)version;
    u32 generation = (u32)(version >> 32);
    const struct sv_bpf_half *half = &directory->half[sequence & 1];
    u64 offset = 0;
    if (frame->is_xdp) {
        int known = lookup_frame_verdict(frame, half, generation, scratch, &offset);
        if (known >= 0 && sequence_after(directory, offset) == sequence)
            return known;
        frame->length = (u32)xdp_length(frame->context);
    }
    __builtin_memset(&scratch->outer, 0, 2 * sizeof scratch->outer);
    u32 behind_udp = parse(frame, 0, tag_removed, tpid, tci, &scratch->outer);
    scratch->is_tunnel = 0;
    if (wants_inner(half) && behind_udp != 0 && scratch->outer.dst_port == BE16(SV_VXLAN_PORT)) {
        scratch->is_tunnel = 1;
        parse_tunnel(frame, behind_udp, scratch);
    } else {
        const struct sv_bpf_key_verdict *entry = key_verdict_slot(half, scratch);
        if (entry == 0)
            return PASS;
        u64 difference = key_verdict_difference(entry, scratch, generation);
        offset = offset_of(difference);
        if (difference == 0 && sequence_after(directory, offset) == sequence)
            return (int)entry->verdict;
    }
    /*
     * All kinds of frames share one search, with nothing in registers that distinguishes them. The verifier follows the
     * loop once for each state in which it can be entered, and opening a device waits for the verifier. For the same
     * reason the search is not repeated: a verdict from a half that has just been replaced is only a moment old. The
     * verdict is invalid only if rules changed twice during the search.
     */
    order_loads(directory, scratch);
    int verdict = search_rules(half, scratch);
    order_loads(directory, scratch);
    if (!was_stable(directory, sequence))
        return PASS;
    if (sequence_of(directory) != sequence || scratch->is_tunnel)
        return verdict;
    if (frame->is_xdp && scratch->is_ordinary)
        store_frame_verdict(scratch, generation, verdict);
    else
        store_key_verdict(scratch, generation, verdict);
    return verdict;
}

INLINE int find_skb_verdict(struct __sk_buff *skb)
{
    struct frame frame = {.context = skb, .length = skb->len, .is_xdp = 0};
    return find_verdict(&frame, skb->vlan_present != 0, (u16)skb->vlan_proto, (u16)skb->vlan_tci);
}

#include "classify.bpf.h"

/*
 * Returns true for a UDP frame of several datagrams from a sender on this host. XDP does not see their lengths, and the
 * kernel does. Such a frame has a segment size, which XDP does not see either, or a length beyond the MTU. Counts it.
 */
INLINE int is_udp_gso_frame(const struct frame *frame, u32 segment_bytes, struct sv_bpf_traffic *traffic)
{
    u8 type[SV_VLAN_HLEN + 2];
    u8 ip[SV_IPV4_PROTOCOL_AT + 1];
    u32 offset = ETH_HLEN;
    u32 longest = *(volatile u32 *)&traffic->max_udp_frame_bytes;
    if ((frame->length <= longest && segment_bytes == 0) || load(frame, SV_ETHERTYPE_AT, type, sizeof type) < 0)
        return 0;
    if ((type[0] == ETH_P_8021Q >> 8 && type[1] == (ETH_P_8021Q & 0xff)) ||
        (type[0] == ETH_P_8021AD >> 8 && type[1] == (ETH_P_8021AD & 0xff)))
        offset += SV_VLAN_HLEN;
    if (load(frame, offset, ip, sizeof ip) < 0)
        return 0;
    if ((ip[0] >> 4 == 4 ? ip[SV_IPV4_PROTOCOL_AT] : ip[SV_IPV6_NEXT_HEADER_AT]) != IPPROTO_UDP)
        return 0;
    __sync_fetch_and_add(&traffic->udp_gso_frames_passed, 1);
    return 1;
}

SECTION("program/xdp_redirect") int xdp_redirect(struct xdp_md *xdp)
{
    struct frame frame = {.context = xdp, .is_xdp = 1, .head = (const u8 *)(long)xdp->data,
                          .head_end = (const u8 *)(long)xdp->data_end};
    if (find_verdict(&frame, 0, 0, 0) != REDIRECT)
        return XDP_PASS;
    tail_call(xdp, &sv_map_programs, 0);
    return (int)redirect_map(&sv_map_sockets, xdp->rx_queue_index * SV_BPF_SOCKETS_PER_QUEUE, XDP_PASS);
}

/* Returns the state of a bond's leg, or 0 if it has no sockets. All entries are read, so their offsets are constant. */
INLINE u32 find_leg(const struct sv_bpf_traffic *traffic, u32 ifindex)
{
    u32 found = 0;
#pragma unroll
    for (int i = 0; i < SV_BPF_MAX_LEGS; i++) {
        u32 state = *(volatile const u32 *)&traffic->legs[i].state;
        if (*(volatile const u32 *)&traffic->legs[i].ifindex == ifindex)
            found = state;
    }
    return found;
}

/* A separate program: within xdp_redirect the verifier would follow it once for every path through the search. */
SECTION("program/xdp_classify") int xdp_classify(struct xdp_md *xdp)
{
    u32 zero = 0;
    u32 queue = xdp->rx_queue_index;
    u32 first = 0;
    struct sv_bpf_traffic *traffic = map_lookup(&sv_map_traffic, &zero);
    if (traffic == 0)
        return XDP_PASS;
    u32 count = *(volatile u32 *)&traffic->queue_count;
    if (traffic->has_legs != 0) {
        u32 leg = find_leg(traffic, xdp->ingress_ifindex);
        first = leg & SV_BPF_LEG_QUEUE_MASK;
        count = leg >> SV_BPF_LEG_COUNT_SHIFT & SV_BPF_LEG_QUEUE_MASK;
        /* A leg that has just joined has no sockets yet. The kernel would reset the connections of its frames. */
        if ((leg & SV_BPF_LEG_IS_SERVED) == 0) {
            __sync_fetch_and_add(&traffic->unserved_frames, 1);
            return XDP_DROP;
        }
        if ((leg & SV_BPF_LEG_RECEIVES) == 0) {
            __sync_fetch_and_add(&traffic->inactive_leg_dropped, 1);
            return XDP_DROP;
        }
    }
    /* Frames of a queue without sockets go to the kernel, as if no rule took them. */
    if (queue >= count) {
        __sync_fetch_and_add(&traffic->unserved_frames, 1);
        return XDP_PASS;
    }
    struct frame frame = {.context = xdp, .length = (u32)xdp_length(xdp), .is_xdp = 1};
    if (is_udp_gso_frame(&frame, 0, traffic))
        return XDP_PASS;
    int class = classify_frame(xdp, traffic);
    if (class == RXC_DROP)
        return XDP_DROP;
    return (int)redirect_map(&sv_map_sockets, (first + queue) * SV_BPF_SOCKETS_PER_QUEUE + (class == RXC_SYN),
                             XDP_PASS);
}

/*
 * Puts the outer VLAN tag, which the kernel has removed, back into the frame, where AF_XDP readers expect it. Returns
 * nonzero if there is no room.
 */
INLINE int restore_vlan_tag(struct __sk_buff *skb)
{
    u8 addresses[SV_ETHERTYPE_AT];
    u16 tag[2] = {(u16)skb->vlan_proto, BE16((u16)skb->vlan_tci)};
    if (skb_load(skb, 0, addresses, sizeof addresses) < 0 || skb_change_head(skb, sizeof tag, 0) < 0)
        return -1;
    if (skb_store(skb, 0, addresses, sizeof addresses, 0) < 0)
        return -1;
    return skb_store(skb, SV_ETHERTYPE_AT, tag, sizeof tag, 0) < 0 ? -1 : 0;
}

/* TC_ACT_UNSPEC is TCX_NEXT of Linux 6.6. Testing the tag before the search would double the states of the search. */
SECTION("program/tc_redirect") int tc_redirect(struct __sk_buff *skb)
{
    u32 zero = 0;
    if (find_skb_verdict(skb) != REDIRECT)
        return TC_ACT_UNSPEC;
    const struct sv_bpf_directory *directory = map_lookup(&sv_map_directory, &zero);
    struct sv_bpf_traffic *traffic = map_lookup(&sv_map_traffic, &zero);
    if (directory == 0 || traffic == 0)
        return TC_ACT_SHOT;
    struct frame frame = {.context = skb, .length = skb->len, .is_xdp = 0};
    if (is_udp_gso_frame(&frame, skb->gso_size, traffic))
        return TC_ACT_UNSPEC;
    if (skb->vlan_present && restore_vlan_tag(skb) != 0)
        return TC_ACT_SHOT;
    return (int)redirect(directory->redirect_ifindex, BPF_F_INGRESS);
}

SECTION("program/tc_drop") int tc_drop(struct __sk_buff *skb)
{
    return find_skb_verdict(skb) == REDIRECT ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

/* AF_PACKET alone: selects frames that rules take or copy. */
SECTION("program/socket_matches") int socket_matches(struct __sk_buff *skb)
{
    return find_skb_verdict(skb) != PASS ? WHOLE_FRAME : 0;
}

/* AF_PACKET beside AF_XDP: selects only frames that the kernel receives too. */
SECTION("program/socket_copies") int socket_copies(struct __sk_buff *skb)
{
    return find_skb_verdict(skb) == CLONE ? WHOLE_FRAME : 0;
}
