/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides for each received frame whether a flow rule of this process takes it or the kernel keeps it. The library's
 * table in user space decides which queue pair gets it, with which tag. The programs:
 *   xdp       redirects frames that rules take to an AF_XDP socket of the receive queue; `classify` selects the socket
 *   classify  selects the socket of the receive queue: the main one, the one for SYNs, or none
 *   redirect  at tc ingress, redirects frames that rules take to a TAP interface, on which `classify` runs
 *   tc        at tc ingress, drops frames that rules take, after an AF_PACKET ring has copied them
 *   filter    selects the frames that an AF_PACKET ring takes
 *   copies    selects the frames that an AF_PACKET ring takes beside AF_XDP sockets: those that the kernel gets too
 * The parser must agree with softverbs/headers.c. bpf/build.py compiles this file into softverbs/steering_programs.h.
 */
#include <linux/bpf.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>

#include "../softverbs/steering_hash.h"
#include "../softverbs/steering_maps.h"
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

/* build.py turns references to these symbols into map numbers. */
struct map_reference {
    int unused;
};
struct map_reference sv_map_directory SECTION("maps");
struct map_reference sv_map_rules SECTION("maps");
struct map_reference sv_map_deep_rules SECTION("maps");
struct map_reference sv_map_scratch SECTION("maps");
struct map_reference sv_map_sockets SECTION("maps");
struct map_reference sv_map_recent SECTION("maps");
struct map_reference sv_map_heads SECTION("maps");
struct map_reference sv_map_syns SECTION("maps");
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

enum { LAYER_IPV4 = 1, LAYER_IPV6 = 2, LAYER_VLAN = 4, LAYER_TCP = 8, LAYER_UDP = 16, LAYER_VXLAN = 32 };
enum {
    ETHERNET_IPV4_TCP = ETH_HLEN + SV_IPV4_HLEN + SV_TCP_HLEN,
    ETHERNET_IPV6_TCP = ETH_HLEN + SV_IPV6_HLEN + SV_TCP_HLEN,
};
enum verdict { PASS, REDIRECT, CLONE };           /* to the kernel; to the library; to both */
enum rx_class { RXC_MAIN, RXC_SYN, RXC_DROP };    /* the queue's main socket; its socket for SYNs; none */
enum { NO_SEGMENT, FOUND, NEEDS_COPY };
enum { WHOLE_FRAME = -1 };                         /* a socket filter returns how many bytes to keep */
enum { PORTS_BYTES = 4, IPV4_AND_PORTS = SV_IPV4_HLEN + PORTS_BYTES };

struct frame {
    void *context;
    u32 length;
    int is_xdp;
    const u8 *head;     /* XDP: the part of the frame that can be read in place */
    const u8 *head_end;
};

INLINE int is_fragment(const u8 *ip)
{
    return (ip[SV_IPV4_FRAGMENT_AT] & SV_IPV4_FRAGMENT_BITS >> 8) != 0 || ip[SV_IPV4_FRAGMENT_AT + 1] != 0;
}

INLINE int load(const struct frame *frame, u32 offset, void *to, u32 length)
{
    return frame->is_xdp ? xdp_load(frame->context, offset, to, length) : skb_load(frame->context, offset, to, length);
}

/* Copies the first bytes of the frame, without a helper call where possible. Nonzero: the frame is shorter. */
INLINE int load_head(const struct frame *frame, u32 start, u8 *to, u32 length)
{
    if (frame->is_xdp && start == 0 && frame->head + length <= frame->head_end) {
        __builtin_memcpy(to, frame->head, length);
        return 0;
    }
    return load(frame, start, to, length);
}

/*
 * Returns the offset behind a UDP header, or 0 for other protocols. `at_hand` points to the ports if they are loaded
 * already.
 */
INLINE u32 parse_l4(const struct frame *frame, u32 offset, const u8 *at_hand, struct sv_steer_headers *h)
{
    u16 ports[2];
    u8 protocol = h->protocol;
    if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
        return 0;
    if (offset + (protocol == IPPROTO_TCP ? SV_TCP_HLEN : SV_UDP_HLEN) > frame->length)
        return 0;
    if (at_hand != 0)
        __builtin_memcpy(ports, at_hand, sizeof ports);
    else if (load(frame, offset, ports, sizeof ports) < 0)
        return 0;
    h->src_port = ports[0];
    h->dst_port = ports[1];
    h->layers |= protocol == IPPROTO_TCP ? LAYER_TCP : LAYER_UDP;
    return protocol == IPPROTO_UDP ? offset + SV_UDP_HLEN : 0;
}

/* `at_hand` points to the header without options and the ports behind it if they are loaded already. */
INLINE u32 parse_ipv4(const struct frame *frame, u32 offset, const u8 *at_hand, struct sv_steer_headers *h)
{
    u8 ip[SV_IPV4_HLEN];
    if (at_hand != 0)
        __builtin_memcpy(ip, at_hand, sizeof ip);
    else if (load(frame, offset, ip, sizeof ip) < 0)
        return 0;
    if (ip[0] >> 4 != 4)
        return 0;
    u32 header = (ip[0] & 15) * 4;
    if (header < SV_IPV4_HLEN || offset + header > frame->length)
        return 0;
    h->layers |= LAYER_IPV4;
    __builtin_memcpy(h->src_ip, ip + SV_IPV4_SOURCE_AT, 4);
    __builtin_memcpy(h->dst_ip, ip + SV_IPV4_DESTINATION_AT, 4);
    h->protocol = ip[SV_IPV4_PROTOCOL_AT];
    h->traffic_class = ip[SV_IPV4_TOS_AT];
    h->hop_limit = ip[SV_IPV4_TTL_AT];
    h->ip_flags = (ip[SV_IPV4_FRAGMENT_AT] & SV_IPV4_DONT_FRAGMENT >> 8 ? 2 : 0) |
                  (ip[SV_IPV4_FRAGMENT_AT] & SV_IPV4_MORE_FRAGMENTS >> 8 ? 4 : 0);
    if (is_fragment(ip))
        return 0;
    return parse_l4(frame, offset + header, at_hand != 0 && header == SV_IPV4_HLEN ? at_hand + SV_IPV4_HLEN : 0, h);
}

INLINE u32 parse_ipv6(const struct frame *frame, u32 offset, struct sv_steer_headers *h)
{
    u8 ip[SV_IPV6_HLEN];
    if (load(frame, offset, ip, sizeof ip) < 0 || ip[0] >> 4 != 6)
        return 0;
    h->layers |= LAYER_IPV6;
    __builtin_memcpy(h->src_ip, ip + SV_IPV6_SOURCE_AT, 16);
    __builtin_memcpy(h->dst_ip, ip + SV_IPV6_DESTINATION_AT, 16);
    h->protocol = ip[SV_IPV6_NEXT_HEADER_AT];
    h->traffic_class = (u8)(ip[0] << 4 | ip[1] >> 4);
    h->hop_limit = ip[SV_IPV6_HOP_LIMIT_AT];
    u8 label[4] = {0, ip[1] & 15, ip[2], ip[3]};
    __builtin_memcpy(&h->flow_label, label, 4);
    return parse_l4(frame, offset + SV_IPV6_HLEN, 0, h);
}

/* `tag_removed`: the kernel has removed the tag from the frame and passes it as TPID and TCI. */
INLINE u32 parse(const struct frame *frame, u32 start, int tag_removed, u16 tpid, u16 tci, struct sv_steer_headers *h)
{
    u8 eth[ETH_HLEN + IPV4_AND_PORTS];
    u16 type;
    u32 offset = start + ETH_HLEN;
    /* This one load serves most frames. */
    int whole = load_head(frame, start, eth, sizeof eth) == 0;
    if (!whole && load(frame, start, eth, ETH_HLEN) < 0)
        return 0;
    __builtin_memcpy(h->dst_mac, eth, ETH_ALEN);
    __builtin_memcpy(h->src_mac, eth + SV_ETH_SOURCE_AT, ETH_ALEN);
    __builtin_memcpy(&type, eth + SV_ETHERTYPE_AT, sizeof type);
    h->ether_type = type;
    if (tag_removed) {
        h->ether_type = tpid;
        h->vlan_tag = BE16(tci);
        h->vlan_ether_type = type;
        h->layers |= LAYER_VLAN;
    } else if (type == BE16(ETH_P_8021Q) || type == BE16(ETH_P_8021AD)) {
        u16 tag[2];
        if (load(frame, offset, tag, sizeof tag) == 0) {
            h->vlan_tag = tag[0];
            type = h->vlan_ether_type = tag[1];
            h->layers |= LAYER_VLAN;
            offset += SV_VLAN_HLEN;
        }
        whole = 0;
    }
    if (type == BE16(ETH_P_IP))
        return parse_ipv4(frame, offset, whole ? eth + ETH_HLEN : 0, h);
    return type == BE16(ETH_P_IPV6) ? parse_ipv6(frame, offset, h) : 0;
}

INLINE void parse_tunnel(const struct frame *frame, u32 vxlan, struct sv_steer_scratch *scratch)
{
    u8 header[SV_VXLAN_HLEN];
    if (vxlan == 0 || scratch->outer.dst_port != BE16(SV_VXLAN_PORT) || load(frame, vxlan, header, sizeof header) < 0 ||
        !(header[0] & SV_VXLAN_HAS_VNI))
        return;
    const u8 *from = header + SV_VXLAN_VNI_AT;
    u8 vni[4] = {0, from[0], from[1], from[2]};
    __builtin_memcpy(&scratch->outer.vni, vni, 4);
    scratch->outer.layers |= LAYER_VXLAN;
    parse(frame, vxlan + SV_VXLAN_HLEN, 0, 0, 0, &scratch->inner);
}

INLINE int default_verdict(const struct sv_steer_half *half, const struct sv_steer_scratch *scratch)
{
    const u8 *mac = scratch->outer.dst_mac;
    if (half->flags & SV_STEER_SNIFFER)
        return CLONE;
    if (mac[0] & 1)
        return half->flags & (SV_STEER_ALL_DEFAULT | SV_STEER_MULTICAST_DEFAULT) ? CLONE : PASS;
    if (!(half->flags & SV_STEER_ALL_DEFAULT))
        return PASS;
    /* Default rules take what the kernel does not need. It needs the frames to the interface's own address. */
    int own = 1;
    for (int i = 0; i < ETH_ALEN; i++)
        own &= mac[i] == half->mac[i];
    return own ? PASS : REDIRECT;
}

/* `copies` is in the scratch area: in a register it would double the states that the verifier follows. */
INLINE int search_rules(const struct sv_steer_half *half, struct sv_steer_scratch *scratch)
{
    const u64 *key = (const u64 *)&scratch->outer;
    u32 shapes = half->shapes;
    scratch->copies = 0;
    for (u32 i = 0; i < SV_STEER_MAX_SHAPES && i < shapes; i++) {
        const struct sv_steer_shape *shape = &half->shape[i];
        const struct sv_steer_rule *rule;
        scratch->probe.shape_id = shape->id;
#pragma unroll
        for (int w = 0; w < SV_STEER_PLAIN_WORDS; w++)
            scratch->probe.words[w] = key[w] & shape->mask[w];
        if (shape->deep) {
#pragma unroll
            for (int w = SV_STEER_PLAIN_WORDS; w < SV_STEER_KEY_WORDS; w++)
                scratch->probe.words[w] = key[w] & shape->mask[w];
            rule = map_lookup(&sv_map_deep_rules, &scratch->probe);
        } else {
            rule = map_lookup(&sv_map_rules, &scratch->probe);
        }
        if (rule == 0)
            continue;
        if (rule->takers > 0)
            return REDIRECT;
        scratch->copies |= rule->copies;
    }
    int rest = default_verdict(half, scratch);
    return rest == PASS && scratch->copies != 0 ? CLONE : rest;
}

INLINE u32 sequence_of(const struct sv_steer_directory *directory)
{
    return *(const volatile u32 *)&directory->sequence;
}

/*
 * An offset of 0 for sequence_after() if nothing differs. Taken before that is looked at, and in assembler: neither the
 * compiler nor the verifier knows then that it is 0, and puts a constant in its place.
 */
INLINE u64 offset_of(u64 difference)
{
    asm volatile("%0 &= 4" : "+r"(difference));
    return difference;
}

/*
 * The sequence number as it is after the loads that the offset was computed from: the address of this load depends on
 * them, which orders them on processors that exchange loads (memory-barriers.txt), without a barrier for each frame.
 */
INLINE u32 sequence_after(const struct sv_steer_directory *directory, u64 offset)
{
    return *(const volatile u32 *)((const u8 *)&directory->sequence + offset);
}

/* Returns the cache slot for these headers, and stores in the scratch area the bits that the verdict depends on. */
INLINE const struct sv_steer_recent *verdict_slot(const struct sv_steer_half *half, struct sv_steer_scratch *scratch)
{
    const u64 *key = (const u64 *)&scratch->outer;
    u64 mixed = 0;
#pragma unroll
    for (int w = 0; w < SV_STEER_PLAIN_WORDS; w++) {
        u64 word = key[w] & half->seen[w];
        scratch->seen[w] = word;
        mixed = (mixed << 9 | mixed >> 55) ^ word;
    }
    u32 index = (u32)(mixed * 0x9e3779b97f4a7c15ull >> 40) % SV_STEER_RECENT;
    scratch->seen_index = index;
    return map_lookup(&sv_map_recent, &index);
}

/* Returns 0 if the entry is that of these headers and rules. */
INLINE u64 verdict_difference(const struct sv_steer_recent *entry, const struct sv_steer_scratch *scratch,
                              u32 generation)
{
    u64 difference = entry->generation ^ generation;
#pragma unroll
    for (int w = 0; w < SV_STEER_PLAIN_WORDS; w++)
        difference |= entry->words[w] ^ scratch->seen[w];
    return difference;
}

INLINE void store_verdict(const struct sv_steer_scratch *scratch, u32 generation, int verdict)
{
    u32 index = scratch->seen_index;
    struct sv_steer_recent *entry = map_lookup(&sv_map_recent, &index);
    if (entry == 0)
        return;
#pragma unroll
    for (int w = 0; w < SV_STEER_PLAIN_WORDS; w++)
        entry->words[w] = scratch->seen[w];
    entry->generation = generation;
    entry->verdict = (u32)verdict;
}

/* Whether the words of a head determine the verdict. half->head always includes the bits tested here. */
INLINE int is_ordinary(const u64 *words)
{
    const u8 *head = (const u8 *)words;
    const u8 *ip = head + ETH_HLEN;
    return HAS_ETHER_TYPE(head, ETH_P_IP) && ip[0] == SV_IPV4_NO_OPTIONS && !is_fragment(ip) &&
           (ip[SV_IPV4_PROTOCOL_AT] == IPPROTO_TCP || ip[SV_IPV4_PROTOCOL_AT] == IPPROTO_UDP);
}

/*
 * Returns the cached verdict on an ordinary frame, or -1, with the new entry's words in the scratch area. On the stack
 * they would make the verifier follow each path through the parser once for every state of theirs. `offset`: for
 * sequence_after().
 */
INLINE int lookup_head_verdict(const struct frame *frame, const struct sv_steer_half *half, u32 generation,
                               struct sv_steer_scratch *scratch, u64 *offset)
{
    u64 words[SV_STEER_HEAD_WORDS];
    u64 mixed = 0;
    scratch->is_ordinary = 0;
    if (frame->head + SV_STEER_HEAD_BYTES > frame->head_end)
        return -1;
#pragma unroll
    for (int w = 0; w < SV_STEER_HEAD_WORDS; w++) {
        words[w] = *(const u64 *)(frame->head + w * 8) & half->head[w];
        mixed = (mixed << 9 | mixed >> 55) ^ words[w];
    }
    u32 index = (u32)(mixed * 0x9e3779b97f4a7c15ull >> 40) % SV_STEER_RECENT;
    const struct sv_steer_head *known = map_lookup(&sv_map_heads, &index);
    if (known == 0)
        return -1;
    u64 difference = known->generation ^ generation;
#pragma unroll
    for (int w = 0; w < SV_STEER_HEAD_WORDS; w++)
        difference |= known->words[w] ^ words[w];
    *offset = offset_of(difference);
    if (difference == 0)
        return (int)(known->verdict & 3);
    __builtin_memcpy(scratch->head, words, sizeof words);
    scratch->head_index = index;
    scratch->is_ordinary = (u32)is_ordinary(words);
    return -1;
}

INLINE void store_head_verdict(const struct sv_steer_scratch *scratch, u32 generation, int verdict)
{
    u32 index = scratch->head_index;
    struct sv_steer_head *head = map_lookup(&sv_map_heads, &index);
    if (head == 0)
        return;
#pragma unroll
    for (int w = 0; w < SV_STEER_HEAD_WORDS; w++)
        head->words[w] = scratch->head[w];
    head->generation = generation;
    head->verdict = (u32)verdict;
}

/*
 * Orders the loads of the shared maps before this call before those after it, on processors that reorder loads. An
 * atomic operation that returns a value is a full barrier (the kernel's bpf_design_QA.rst and memory-barriers.txt).
 */
INLINE void order_loads(const struct sv_steer_directory *directory, struct sv_steer_scratch *scratch)
{
    if (directory->loads_reorder)
        scratch->barrier = __sync_fetch_and_add(&scratch->barrier, 1);
}

/* Whether the half searched under this sequence number has not been rewritten since. */
INLINE int was_stable(const struct sv_steer_directory *directory, u32 sequence)
{
    return *(const volatile u32 *)&directory->filling - sequence <= 1;
}

INLINE int wants_inner(const struct sv_steer_half *half)
{
    return (*(const volatile u32 *)&half->flags & SV_STEER_WANTS_INNER) != 0;
}

INLINE int find_verdict(struct frame *frame, int tag_removed, u16 tpid, u16 tci)
{
    u32 zero = 0;
    struct sv_steer_directory *directory = map_lookup(&sv_map_directory, &zero);
    struct sv_steer_scratch *scratch = map_lookup(&sv_map_scratch, &zero);
    if (directory == 0 || scratch == 0)
        return PASS;
    /* In one load: with a generation goes no older sequence number. */
    u64 version = *(const volatile u64 *)&directory->sequence;
    u32 sequence = (u32)version;
    u32 generation = (u32)(version >> 32);
    const struct sv_steer_half *half = &directory->half[sequence & 1];
    u64 offset = 0;
    if (frame->is_xdp) {
        int known = lookup_head_verdict(frame, half, generation, scratch, &offset);
        if (known >= 0 && sequence_after(directory, offset) == sequence)
            return known;
        frame->length = (u32)xdp_length(frame->context);
    }
    __builtin_memset(&scratch->outer, 0, 2 * sizeof scratch->outer);
    u32 behind_udp = parse(frame, 0, tag_removed, tpid, tci, &scratch->outer);
    if (wants_inner(half)) {
        parse_tunnel(frame, behind_udp, scratch);
    } else {
        const struct sv_steer_recent *entry = verdict_slot(half, scratch);
        if (entry == 0)
            return PASS;
        u64 difference = verdict_difference(entry, scratch, generation);
        offset = offset_of(difference);
        if (difference == 0 && sequence_after(directory, offset) == sequence)
            return (int)entry->verdict;
    }
    /*
     * All kinds of frames share one search, with nothing in registers that distinguishes them. The verifier follows the
     * loop once for each state in which it can be entered, and opening a device waits for the verifier. For the same
     * reason the search is not repeated: a verdict from the half that has just been replaced is only a moment old. It
     * is void only if rules changed twice during the search.
     */
    order_loads(directory, scratch);
    int verdict = search_rules(half, scratch);
    order_loads(directory, scratch);
    if (!was_stable(directory, sequence))
        return PASS;
    if (sequence_of(directory) != sequence || wants_inner(half))
        return verdict;
    if (frame->is_xdp && scratch->is_ordinary)
        store_head_verdict(scratch, generation, verdict);
    else
        store_verdict(scratch, generation, verdict);
    return verdict;
}

INLINE int find_skb_verdict(struct __sk_buff *skb)
{
    struct frame frame = {.context = skb, .length = skb->len, .is_xdp = 0};
    return find_verdict(&frame, skb->vlan_present != 0, (u16)skb->vlan_proto, (u16)skb->vlan_tci);
}

#include "classify.bpf.h"

/*
 * Whether this is a UDP frame of several datagrams of a sender on this host. XDP does not see how long they are, and the
 * kernel does. They are known by a segment size, which XDP does not see either, or by a length beyond the MTU.
 */
INLINE int is_super_datagram(const struct frame *frame, u32 segment_bytes, struct sv_steer_traffic *traffic)
{
    u8 type[SV_VLAN_HLEN + 2];
    u8 ip[SV_IPV4_PROTOCOL_AT + 1];
    u32 offset = ETH_HLEN;
    u32 longest = *(volatile u32 *)&traffic->longest_datagram;
    if ((frame->length <= longest && segment_bytes == 0) || load(frame, SV_ETHERTYPE_AT, type, sizeof type) < 0)
        return 0;
    if ((type[0] == ETH_P_8021Q >> 8 && type[1] == (ETH_P_8021Q & 0xff)) ||
        (type[0] == ETH_P_8021AD >> 8 && type[1] == (ETH_P_8021AD & 0xff)))
        offset += SV_VLAN_HLEN;
    if (load(frame, offset, ip, sizeof ip) < 0)
        return 0;
    if ((ip[0] >> 4 == 4 ? ip[SV_IPV4_PROTOCOL_AT] : ip[SV_IPV6_NEXT_HEADER_AT]) != IPPROTO_UDP)
        return 0;
    __sync_fetch_and_add(&traffic->datagrams_passed, 1);
    return 1;
}

SECTION("xdp") int steer_xdp(struct xdp_md *xdp)
{
    struct frame frame = {.context = xdp, .is_xdp = 1, .head = (const u8 *)(long)xdp->data,
                          .head_end = (const u8 *)(long)xdp->data_end};
    if (find_verdict(&frame, 0, 0, 0) != REDIRECT)
        return XDP_PASS;
    tail_call(xdp, &sv_map_programs, 0);
    return (int)redirect_map(&sv_map_sockets, xdp->rx_queue_index * SV_STEER_SOCKETS, XDP_PASS);
}

/* A program of its own: within steer_xdp the verifier would follow it once for every path through the search. */
SECTION("classify") int classify_xdp(struct xdp_md *xdp)
{
    u32 zero = 0;
    u32 queue = xdp->rx_queue_index;
    struct sv_steer_traffic *traffic = map_lookup(&sv_map_traffic, &zero);
    if (traffic == 0)
        return XDP_PASS;
    /* Frames of a queue without sockets go to the kernel, as if no rule took them. */
    if (queue >= *(volatile u32 *)&traffic->queues) {
        __sync_fetch_and_add(&traffic->unserved, 1);
        return XDP_PASS;
    }
    struct frame frame = {.context = xdp, .length = (u32)xdp_length(xdp), .is_xdp = 1};
    if (is_super_datagram(&frame, 0, traffic))
        return XDP_PASS;
    int class = classify_frame(xdp, traffic);
    if (class == RXC_DROP)
        return XDP_DROP;
    return (int)redirect_map(&sv_map_sockets, queue * SV_STEER_SOCKETS + (class == RXC_SYN), XDP_PASS);
}

/*
 * Puts the outer VLAN tag, which the kernel has removed, back into the frame: AF_XDP readers expect it there.
 * Nonzero: there is no room.
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

/* TC_ACT_UNSPEC is TCX_NEXT of Linux 6.6. A test of the tag before the search would double the states of the search. */
SECTION("redirect") int steer_redirect(struct __sk_buff *skb)
{
    u32 zero = 0;
    if (find_skb_verdict(skb) != REDIRECT)
        return TC_ACT_UNSPEC;
    const struct sv_steer_directory *directory = map_lookup(&sv_map_directory, &zero);
    struct sv_steer_traffic *traffic = map_lookup(&sv_map_traffic, &zero);
    if (directory == 0 || traffic == 0)
        return TC_ACT_SHOT;
    struct frame frame = {.context = skb, .length = skb->len, .is_xdp = 0};
    if (is_super_datagram(&frame, skb->gso_size, traffic))
        return TC_ACT_UNSPEC;
    if (skb->vlan_present && restore_vlan_tag(skb) != 0)
        return TC_ACT_SHOT;
    return (int)redirect(directory->redirect_to, BPF_F_INGRESS);
}

SECTION("tc") int steer_tc(struct __sk_buff *skb)
{
    return find_skb_verdict(skb) == REDIRECT ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

/* AF_PACKET alone: frames that rules take, and copies. */
SECTION("filter") int steer_filter(struct __sk_buff *skb)
{
    return find_skb_verdict(skb) != PASS ? WHOLE_FRAME : 0;
}

/* AF_PACKET beside AF_XDP: only the frames that the kernel gets too. */
SECTION("copies") int steer_copies(struct __sk_buff *skb)
{
    return find_skb_verdict(skb) == CLONE ? WHOLE_FRAME : 0;
}
