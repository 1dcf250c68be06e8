/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides for each received frame whether a flow rule of this process takes it or the kernel keeps it. Which queue pair
 * gets it, with which tag, is decided in user space by the library's own table. The same search serves four programs:
 *   xdp:    what is ours goes to an AF_XDP socket of the receive queue (which one is another program's to say: place)
 *   redirect: at tc ingress, what is ours goes to an interface of our own, where place is the XDP program
 *   tc:     what is ours, and an AF_PACKET ring has seen, is kept from the kernel
 *   filter: which frames an AF_PACKET ring takes
 * The parser must agree with softverbs/headers.c. Rebuild the embedded instructions with bpf/build.py.
 */
#include <linux/bpf.h>

#include "../softverbs/steering_hash.h"
#include "../softverbs/steering_maps.h"

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define BE16(x) ((unsigned short)__builtin_bswap16(x))

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

/* Kept by name: build.py turns references to them into map numbers. */
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
enum { TYPE_IPV4 = 0x0800, TYPE_IPV6 = 0x86dd, TYPE_VLAN = 0x8100, TYPE_QINQ = 0x88a8 };
enum { TCP = 6, UDP = 17, VXLAN_PORT = 4789 };
enum { ETHERNET_IPV4_TCP = 14 + 20 + 20, ETHERNET_IPV6_TCP = 14 + 40 + 20 };
enum { TCP_FLAGS = 13, FLAG_SYN = 2, FLAG_RST = 4, FLAG_ACK = 16 };
enum verdict { KERNEL, OURS, COPY };
enum way { MAIN, APART, NOWHERE };    /* of its queue's sockets: the main one, the one for SYNs, none */
enum { NO_SEGMENT, FOUND, UNUSUAL };
enum { IPV4_AND_PORTS = 20 + 4 };

struct frame {
    void *context;
    u32 length;
    int is_xdp;
    const u8 *head;     /* XDP: what of the frame may be read where it lies */
    const u8 *head_end;
};

INLINE int load(const struct frame *frame, u32 offset, void *to, u32 length)
{
    return frame->is_xdp ? xdp_load(frame->context, offset, to, length) : skb_load(frame->context, offset, to, length);
}

/* The frame's first bytes, without a call where that can be. Nonzero: there are fewer. */
INLINE int load_head(const struct frame *frame, u32 start, u8 *to, u32 length)
{
    if (frame->is_xdp && start == 0 && frame->head + length <= frame->head_end) {
        __builtin_memcpy(to, frame->head, length);
        return 0;
    }
    return load(frame, start, to, length);
}

/*
 * Returns the offset behind the L4 header's first eight bytes, for UDP; else 0. `at_hand`: the ports, when they are
 * loaded already.
 */
INLINE u32 parse_l4(const struct frame *frame, u32 offset, const u8 *at_hand, struct sv_steer_headers *h)
{
    u16 ports[2];
    u8 protocol = h->protocol;
    if (protocol != TCP && protocol != UDP)
        return 0;
    if (offset + (protocol == TCP ? 20 : 8) > frame->length)
        return 0;
    if (at_hand != 0)
        __builtin_memcpy(ports, at_hand, sizeof ports);
    else if (load(frame, offset, ports, sizeof ports) < 0)
        return 0;
    h->src_port = ports[0];
    h->dst_port = ports[1];
    h->layers |= protocol == TCP ? LAYER_TCP : LAYER_UDP;
    return protocol == UDP ? offset + 8 : 0;
}

/* `at_hand`: the header without options and the ports behind it, when they are loaded already. */
INLINE u32 parse_ipv4(const struct frame *frame, u32 offset, const u8 *at_hand, struct sv_steer_headers *h)
{
    u8 ip[20];
    if (at_hand != 0)
        __builtin_memcpy(ip, at_hand, sizeof ip);
    else if (load(frame, offset, ip, sizeof ip) < 0)
        return 0;
    if (ip[0] >> 4 != 4)
        return 0;
    u32 header = (ip[0] & 15) * 4;
    if (header < 20 || offset + header > frame->length)
        return 0;
    h->layers |= LAYER_IPV4;
    __builtin_memcpy(h->src_ip, ip + 12, 4);
    __builtin_memcpy(h->dst_ip, ip + 16, 4);
    h->protocol = ip[9];
    h->traffic_class = ip[1];
    h->hop_limit = ip[8];
    h->ip_flags = (ip[6] & 0x40 ? 2 : 0) | (ip[6] & 0x20 ? 4 : 0);
    if ((ip[6] & 0x3f) != 0 || ip[7] != 0)
        return 0;
    return parse_l4(frame, offset + header, at_hand != 0 && header == 20 ? at_hand + 20 : 0, h);
}

INLINE u32 parse_ipv6(const struct frame *frame, u32 offset, struct sv_steer_headers *h)
{
    u8 ip[40];
    if (load(frame, offset, ip, sizeof ip) < 0 || ip[0] >> 4 != 6)
        return 0;
    h->layers |= LAYER_IPV6;
    __builtin_memcpy(h->src_ip, ip + 8, 16);
    __builtin_memcpy(h->dst_ip, ip + 24, 16);
    h->protocol = ip[6];
    h->traffic_class = (u8)(ip[0] << 4 | ip[1] >> 4);
    h->hop_limit = ip[7];
    u8 label[4] = {0, ip[1] & 15, ip[2], ip[3]};
    __builtin_memcpy(&h->flow_label, label, 4);
    return parse_l4(frame, offset + 40, 0, h);
}

/* `tag_beside`: the kernel has taken the tag out of the frame and gives it separately, as TPID and TCI. */
INLINE u32 parse(const struct frame *frame, u32 start, int tag_beside, u16 tpid, u16 tci, struct sv_steer_headers *h)
{
    u8 eth[14 + IPV4_AND_PORTS];
    u16 type;
    u32 offset = start + 14;
    /* Most frames are done with this one. */
    int whole = load_head(frame, start, eth, sizeof eth) == 0;
    if (!whole && load(frame, start, eth, 14) < 0)
        return 0;
    __builtin_memcpy(h->dst_mac, eth, 6);
    __builtin_memcpy(h->src_mac, eth + 6, 6);
    __builtin_memcpy(&type, eth + 12, 2);
    h->ether_type = type;
    if (tag_beside) {
        h->ether_type = tpid;
        h->vlan_tag = BE16(tci);
        h->vlan_ether_type = type;
        h->layers |= LAYER_VLAN;
    } else if (type == BE16(TYPE_VLAN) || type == BE16(TYPE_QINQ)) {
        u16 tag[2];
        if (load(frame, offset, tag, sizeof tag) == 0) {
            h->vlan_tag = tag[0];
            type = h->vlan_ether_type = tag[1];
            h->layers |= LAYER_VLAN;
            offset += 4;
        }
        whole = 0;
    }
    if (type == BE16(TYPE_IPV4))
        return parse_ipv4(frame, offset, whole ? eth + 14 : 0, h);
    return type == BE16(TYPE_IPV6) ? parse_ipv6(frame, offset, h) : 0;
}

INLINE void parse_tunnel(const struct frame *frame, u32 vxlan, struct sv_steer_scratch *scratch)
{
    u8 header[8];
    if (vxlan == 0 || scratch->outer.dst_port != BE16(VXLAN_PORT) || load(frame, vxlan, header, sizeof header) < 0 ||
        !(header[0] & 8))
        return;
    u8 vni[4] = {0, header[4], header[5], header[6]};
    __builtin_memcpy(&scratch->outer.vni, vni, 4);
    scratch->outer.layers |= LAYER_VXLAN;
    parse(frame, vxlan + 8, 0, 0, 0, &scratch->inner);
}

INLINE int by_default(const struct sv_steer_half *half, const struct sv_steer_scratch *scratch)
{
    const u8 *mac = scratch->outer.dst_mac;
    if (half->flags & SV_STEER_SNIFFER)
        return COPY;
    if (mac[0] & 1)
        return half->flags & (SV_STEER_ALL_DEFAULT | SV_STEER_MULTICAST_DEFAULT) ? COPY : KERNEL;
    if (!(half->flags & SV_STEER_ALL_DEFAULT))
        return KERNEL;
    /* The defaults take what the kernel does not want: it wants what is addressed to the interface. */
    int own = 1;
    for (int i = 0; i < 6; i++)
        own &= mac[i] == half->mac[i];
    return own ? KERNEL : OURS;
}

/* What has matched is kept in the scratch area: in a register it is one more thing in which two ways here differ. */
INLINE int search(const struct sv_steer_half *half, struct sv_steer_scratch *scratch)
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
            return OURS;
        scratch->copies |= rule->copies;
    }
    int rest = by_default(half, scratch);
    return rest == KERNEL && scratch->copies != 0 ? COPY : rest;
}

INLINE u32 sequence_of(const struct sv_steer_directory *directory)
{
    return *(const volatile u32 *)&directory->sequence;
}

/* Where the verdict on such headers is kept; leaves in the scratch area what of them the verdict depends on. */
INLINE const struct sv_steer_recent *recent(const struct sv_steer_half *half, struct sv_steer_scratch *scratch)
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

INLINE int is_known(const struct sv_steer_recent *entry, const struct sv_steer_scratch *scratch, u32 generation)
{
    u64 difference = entry->generation ^ generation;
#pragma unroll
    for (int w = 0; w < SV_STEER_PLAIN_WORDS; w++)
        difference |= entry->words[w] ^ scratch->seen[w];
    return difference == 0;
}

INLINE void remember(const struct sv_steer_scratch *scratch, u32 generation, int verdict)
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

/* What a head must have for its words to say everything. These bits are always among those that count. */
INLINE int is_ordinary(const u64 *words)
{
    const u8 *head = (const u8 *)words;
    return head[12] == 8 && head[13] == 0 && head[14] == 0x45 && (head[20] & 0x3f) == 0 && head[21] == 0 &&
           (head[23] == TCP || head[23] == UDP);
}

/*
 * The verdict on an ordinary frame that is known, else -1; and what is to be known about it next time is in the scratch
 * area. Not on the stack: the verifier would follow each path through the parser once for every state of it.
 */
INLINE int known_by_head(const struct frame *frame, const struct sv_steer_half *half, u32 generation,
                         struct sv_steer_scratch *scratch)
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
    if (difference == 0)
        return (int)(known->verdict & 3);
    __builtin_memcpy(scratch->head, words, sizeof words);
    scratch->head_index = index;
    scratch->is_ordinary = (u32)is_ordinary(words);
    return -1;
}

INLINE void remember_head(const struct sv_steer_scratch *scratch, u32 generation, int verdict)
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
 * What is read of the shared maps before is read before what follows. Where the processor may turn loads around, that is:
 * an atomic operation that returns something is a full barrier (bpf_design_QA.rst, the kernel's memory-barriers.txt).
 */
INLINE void order_loads(const struct sv_steer_directory *directory, struct sv_steer_scratch *scratch)
{
    if (directory->loads_reorder)
        scratch->barrier = __sync_fetch_and_add(&scratch->barrier, 1);
}

/* Whether the half that was searched under this sequence number was as published until now. */
INLINE int was_stable(const struct sv_steer_directory *directory, u32 sequence)
{
    return *(const volatile u32 *)&directory->filling - sequence <= 1;
}

INLINE int wants_inner(const struct sv_steer_half *half)
{
    return (*(const volatile u32 *)&half->flags & SV_STEER_WANTS_INNER) != 0;
}

INLINE int classify(struct frame *frame, int tag_beside, u16 tpid, u16 tci)
{
    u32 zero = 0;
    struct sv_steer_directory *directory = map_lookup(&sv_map_directory, &zero);
    struct sv_steer_scratch *scratch = map_lookup(&sv_map_scratch, &zero);
    if (directory == 0 || scratch == 0)
        return KERNEL;
    u32 generation = *(volatile u32 *)&directory->generation;
    u32 sequence = sequence_of(directory);
    const struct sv_steer_half *half = &directory->half[sequence & 1];
    if (frame->is_xdp) {
        int known = known_by_head(frame, half, generation, scratch);
        if (known >= 0 && sequence_of(directory) == sequence)
            return known;
        frame->length = (u32)xdp_length(frame->context);
    }
    __builtin_memset(&scratch->outer, 0, 2 * sizeof scratch->outer);
    u32 behind_udp = parse(frame, 0, tag_beside, tpid, tci, &scratch->outer);
    if (wants_inner(half)) {
        parse_tunnel(frame, behind_udp, scratch);
    } else {
        const struct sv_steer_recent *entry = recent(half, scratch);
        if (entry == 0)
            return KERNEL;
        if (is_known(entry, scratch, generation) && sequence_of(directory) == sequence)
            return (int)entry->verdict;
    }
    /*
     * One search for all kinds of frames, with nothing in registers that tells them apart: the verifier follows the loop
     * anew for each state in which it can be entered, and who opens a device waits for it. So there is no second search
     * either: a verdict on a half that is in use no more, but whole, is one from a moment ago, and only who changes
     * rules twice during a search makes it none.
     */
    order_loads(directory, scratch);
    int verdict = search(half, scratch);
    order_loads(directory, scratch);
    if (!was_stable(directory, sequence))
        return KERNEL;
    if (sequence_of(directory) != sequence || wants_inner(half))
        return verdict;
    if (frame->is_xdp && scratch->is_ordinary)
        remember_head(scratch, generation, verdict);
    else
        remember(scratch, generation, verdict);
    return verdict;
}

INLINE int classify_skb(struct __sk_buff *skb)
{
    struct frame frame = {.context = skb, .length = skb->len, .is_xdp = 0};
    return classify(&frame, skb->vlan_present != 0, (u16)skb->vlan_proto, (u16)skb->vlan_tci);
}

#include "place.bpf.h"

SECTION("xdp") int steer_xdp(struct xdp_md *xdp)
{
    struct frame frame = {.context = xdp, .is_xdp = 1, .head = (const u8 *)(long)xdp->data,
                          .head_end = (const u8 *)(long)xdp->data_end};
    if (classify(&frame, 0, 0, 0) != OURS)
        return XDP_PASS;
    tail_call(xdp, &sv_map_programs, 0);
    return (int)redirect_map(&sv_map_sockets, xdp->rx_queue_index * SV_STEER_SOCKETS, XDP_PASS);
}

/* What steer_xdp ends with: a program of its own, as the verifier would follow it once for every way through the search. */
SECTION("place") int place_xdp(struct xdp_md *xdp)
{
    u32 zero = 0;
    u32 queue = xdp->rx_queue_index;
    struct sv_steer_directory *directory = map_lookup(&sv_map_directory, &zero);
    if (directory == 0)
        return XDP_PASS;
    /* A queue without sockets: to the kernel, as if there were no rule, before anything is counted or dropped. */
    if (queue >= *(volatile u32 *)&directory->queues) {
        __sync_fetch_and_add(&directory->unserved, 1);
        return XDP_PASS;
    }
    int way = way_of(xdp, directory);
    if (way == NOWHERE)
        return XDP_DROP;
    return (int)redirect_map(&sv_map_sockets, queue * SV_STEER_SOCKETS + (way == APART), XDP_PASS);
}

/*
 * The kernel has taken the outer VLAN tag out of the frame; who reads the interface's frames by AF_XDP wants it where it
 * was. Nonzero: there is no room.
 */
INLINE int put_tag_back(struct __sk_buff *skb)
{
    u8 addresses[12];
    u16 tag[2] = {(u16)skb->vlan_proto, BE16((u16)skb->vlan_tci)};
    if (skb_load(skb, 0, addresses, sizeof addresses) < 0 || skb_change_head(skb, sizeof tag, 0) < 0)
        return -1;
    return skb_store(skb, 0, addresses, sizeof addresses, 0) < 0 || skb_store(skb, 12, tag, sizeof tag, 0) < 0 ? -1 : 0;
}

/* Whether there is a tag is asked again: the verifier would follow the search once for either answer. */
SECTION("redirect") int steer_redirect(struct __sk_buff *skb)
{
    u32 zero = 0;
    if (classify_skb(skb) != OURS)
        return -1 /* TCX_NEXT */;
    struct sv_steer_directory *directory = map_lookup(&sv_map_directory, &zero);
    if (directory == 0 || (skb->vlan_present && put_tag_back(skb) != 0))
        return 2 /* TC_ACT_SHOT */;
    return (int)redirect(directory->redirect_to, BPF_F_INGRESS);
}

SECTION("tc") int steer_tc(struct __sk_buff *skb)
{
    return classify_skb(skb) == OURS ? 2 /* TC_ACT_SHOT */ : -1 /* TCX_NEXT */;
}

/* AF_PACKET alone: ours and copies. */
SECTION("filter") int steer_filter(struct __sk_buff *skb)
{
    return classify_skb(skb) != KERNEL ? -1 : 0;
}

/* AF_PACKET beside AF_XDP: only what the kernel gets too. */
SECTION("copies") int steer_copies(struct __sk_buff *skb)
{
    return classify_skb(skb) == COPY ? -1 : 0;
}
