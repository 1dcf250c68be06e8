/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An AF_PACKET receive ring: see wire.h, and packet_mmap.rst of the kernel.
 *
 * A slot takes a frame of the MTU. What a sender on the same host hands over as one packet of up to 64 KB has its first
 * bytes in a slot, and is read from the socket as a whole (PACKET_COPY_THRESH): the kernel queues both in the same
 * order.
 */
#define _GNU_SOURCE
#include "wire.h"

#include "packet_offload.h"
#include "super_frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_ATTACH_BPF
#define SO_ATTACH_BPF 50
#endif

enum {
    BLOCK_BYTES = 1 << 18,
    RESERVE_BYTES = 64,     /* room before the frame, where a VLAN tag goes back in */
    HEADER_BYTES = 192,     /* what the kernel puts before a frame, at most */
    DRAIN_FRAMES = 4 * SV_BURST,
    SOCKET_BYTES = 8 << 20, /* for packets that are read from the socket: more than a window of TCP */
};

/* A packet that is larger than a slot, and the frames that it is cut into. */
struct sv_packet_cutter {
    struct sv_super super;
    struct sv_super_slot slots[SV_BURST];
    uint8_t whole[RESERVE_BYTES + SV_SUPER_MAX_BYTES];
};

static struct tpacket2_hdr *slot(const struct sv_packet_ring *ring, uint32_t index)
{
    return (struct tpacket2_hdr *)(ring->map + (size_t)index * ring->frame_bytes);
}

static uint32_t status_of(const struct sv_packet_ring *ring, uint32_t index)
{
    return __atomic_load_n(&slot(ring, index)->tp_status, __ATOMIC_ACQUIRE);
}

/* `frames`: 0 takes the ring away. */
static int set_ring(const struct sv_packet_ring *ring, uint32_t frames)
{
    struct tpacket_req request = {
        .tp_block_size = frames > 0 ? BLOCK_BYTES : 0,
        .tp_frame_size = frames > 0 ? ring->frame_bytes : 0,
        .tp_block_nr = frames > 0 ? (unsigned)(ring->map_bytes / BLOCK_BYTES) : 0,
        .tp_frame_nr = frames,
    };
    return setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) == 0 ? 0 : errno;
}

static int set_options(const struct sv_packet_ring *ring, int filter)
{
    int version = TPACKET_V2;
    int reserve = RESERVE_BYTES;
    int on = 1;
    int any_length = 1;
    int bytes = SOCKET_BYTES;
    if (setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
        setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_RESERVE, &reserve, sizeof reserve) != 0 ||
        setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) != 0 ||
        setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) != 0 ||
        setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_COPY_THRESH, &any_length, sizeof any_length) != 0)
        return errno;
    int error = set_ring(ring, ring->frames);
    if (error != 0)
        return error;
    if (filter >= 0 && setsockopt(ring->receiver.fd, SOL_SOCKET, SO_ATTACH_BPF, &filter, sizeof filter) != 0)
        return errno;
    if (setsockopt(ring->receiver.fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        (void)!setsockopt(ring->receiver.fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return 0;
}

/* ---- a ring that has stalled ---- */

/*
 * A frame whose kind of segmentation struct virtio_net_hdr cannot name (UDP fragmentation offload, SCTP) stalls the
 * ring: tpacket_rcv() of the kernel takes a slot for it, fails in virtio_net_hdr_from_skb(), and does not give the slot
 * back, so that it drops each later frame. Then the ring is made anew on the same socket, which keeps its filter. The
 * kernel takes the socket off the interface meanwhile, for some tens of milliseconds: what passes then is not counted
 * by any counter.
 */

/*
 * Replaces what is mapped there, which stays readable all the time: other threads look at the status of a slot without
 * the lock. To the kernel directly, since the thread sanitizer takes a call of mmap() for a write to the memory.
 */
static bool replace_map(const struct sv_packet_ring *ring, int flags, int fd)
{
    return syscall(SYS_mmap, ring->map, ring->map_bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) != -1;
}

/* With empty slots. */
static bool cover(const struct sv_packet_ring *ring)
{
    return replace_map(ring, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static bool uncover(const struct sv_packet_ring *ring)
{
    if (replace_map(ring, MAP_SHARED, ring->receiver.fd))
        return true;
    cover(ring);
    return false;
}

static struct tpacket_stats read_stats(const struct sv_packet_ring *ring)
{
    struct tpacket_stats stats = {0};
    socklen_t size = sizeof stats;
    if (getsockopt(ring->receiver.fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) != 0)
        memset(&stats, 0, sizeof stats);
    return stats;
}

/* Where it fails, for want of memory, the next look at the ring tries again. */
static void make_anew(struct sv_packet_ring *ring)
{
    if (!ring->broken && !cover(ring))
        return;
    ring->broken = true;
    if (set_ring(ring, 0) != 0) {       /* a child of fork() has the old one */
        ring->broken = !uncover(ring);
        return;
    }
    if (set_ring(ring, ring->frames) != 0 || !uncover(ring))
        return;
    ring->broken = false;
    ring->seen_empty = false;
    atomic_store_explicit(&ring->next, 0, memory_order_relaxed);
}

/*
 * Whether the kernel has dropped each frame since the last call although the ring was empty all the time: it had no
 * frame then and has none now, and none was taken in between.
 */
static bool has_stalled(struct sv_packet_ring *ring, const struct tpacket_stats *stats)
{
    uint32_t next = atomic_load_explicit(&ring->next, memory_order_relaxed);
    bool empty = !(status_of(ring, next) & TP_STATUS_USER);
    bool was_empty = ring->seen_empty && ring->seen_next == next;
    ring->seen_empty = empty;
    ring->seen_next = next;
    return empty && was_empty && stats->tp_drops > 0 && stats->tp_packets == stats->tp_drops;
}

/* Asking the socket for its drops sets them to 0. */
static void count_drops(struct sv_receiver *receiver)
{
    struct sv_packet_ring *ring = (struct sv_packet_ring *)receiver;
    if (ring->map == NULL)
        return;
    struct tpacket_stats stats = read_stats(ring);
    receiver->counters.wire_full += stats.tp_drops;
    if (ring->broken) {
        make_anew(ring);
    } else if (has_stalled(ring, &stats)) {
        receiver->counters.wire_full--;         /* the frame that did it is no frame too many */
        receiver->counters.super_unsound++;
        make_anew(ring);
    }
}

int sv_packet_ring_open(struct sv_packet_ring *ring, uint32_t mtu, uint32_t frames, int filter)
{
    memset(ring, 0, sizeof *ring);
    int error = sv_receiver_init(&ring->receiver, count_drops);
    if (error != 0)
        return error;
    ring->receiver.may_stall = true;
    ring->cutter = sv_alloc_zeroed(sizeof *ring->cutter);
    if (ring->cutter == NULL)
        return ENOMEM;
    ring->frame_bytes = sv_round_up_pow2(mtu + SV_MAX_OVERHEAD + HEADER_BYTES);
    ring->map_bytes = ((size_t)ring->frame_bytes * frames + BLOCK_BYTES - 1) & ~(size_t)(BLOCK_BYTES - 1);
    ring->frames = (uint32_t)(ring->map_bytes / ring->frame_bytes);
    ring->receiver.fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (ring->receiver.fd < 0)
        return errno;
    error = set_options(ring, filter);
    if (error != 0)
        return error;
    ring->map = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->receiver.fd, 0);
    if (ring->map == MAP_FAILED) {
        ring->map = NULL;
        return errno;
    }
    return 0;
}

int sv_packet_ring_listen(struct sv_packet_ring *ring, int ifindex)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = ifindex};
    if (ring->listens)
        return 0;
    if (bind(ring->receiver.fd, (struct sockaddr *)&address, sizeof address) != 0)
        return errno;
    ring->listens = true;
    return 0;
}

void sv_packet_ring_close(struct sv_packet_ring *ring)
{
    if (ring->map != NULL)
        munmap(ring->map, ring->map_bytes);
    if (ring->receiver.fd >= 0)
        close(ring->receiver.fd);
    sv_receiver_close(&ring->receiver);
    free(ring->cutter);
    ring->cutter = NULL;
    ring->map = NULL;
    ring->receiver.fd = -1;
}

/* ---- what is in a slot ---- */

static uint32_t next_slot(const struct sv_packet_ring *ring, uint32_t index)
{
    return index + 1 == ring->frames ? 0 : index + 1;
}

static uint8_t *data_of(struct tpacket2_hdr *header)
{
    return (uint8_t *)header + header->tp_mac;
}

/* It lies right before the frame. */
static struct virtio_net_hdr offload_of(struct tpacket2_hdr *header)
{
    struct virtio_net_hdr offload;
    memcpy(&offload, data_of(header) - sizeof offload, sizeof offload);
    return offload;
}

/* The kernel removes the outer tag from every frame; this puts it back. */
static uint8_t *put_tag_back(const struct tpacket2_hdr *header, uint8_t *data, uint32_t *length)
{
    if (!(header->tp_status & TP_STATUS_VLAN_VALID))
        return data;
    uint16_t tpid = htons(header->tp_status & TP_STATUS_VLAN_TPID_VALID ? header->tp_vlan_tpid : ETH_P_8021Q);
    uint16_t tci = htons(header->tp_vlan_tci);
    memmove(data - SV_VLAN_HLEN, data, SV_ETHERTYPE_AT);
    memcpy(data + 8, &tpid, 2);
    memcpy(data + 10, &tci, 2);
    *length += 4;
    return data - 4;
}

/* ---- ordinary frames ---- */

/* A packet of the kernel, with what it says about it. */
struct packet {
    struct virtio_net_hdr offload;
    uint8_t *data;
    uint32_t length;
    bool lost;
};

static struct packet packet_in_slot(struct tpacket2_hdr *header)
{
    return (struct packet){.offload = offload_of(header), .data = data_of(header), .length = header->tp_len,
                           .lost = header->tp_snaplen != header->tp_len};
}

/* Most slots have one frame, and it is all there. */
static bool is_ordinary(const struct packet *packet)
{
    return !packet->lost && packet->length >= ETH_HLEN && packet->offload.gso_type == VIRTIO_NET_HDR_GSO_NONE &&
           sv_offload_is_sound(&packet->offload, packet->length);
}

/* False: the frame is lost, and counted. */
static bool take_frame(struct sv_packet_ring *ring, const struct tpacket2_hdr *header, const struct packet *packet,
                       uint32_t longest, struct sv_frame *frame)
{
    struct softverbs_queue_counters *counters = &ring->receiver.counters;
    uint32_t length = packet->length;
    if (length + (header->tp_status & TP_STATUS_VLAN_VALID ? SV_VLAN_HLEN : 0) > longest) {
        counters->length_errors++;
        return false;
    }
    if (packet->offload.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
        sv_offload_fill_checksum(&packet->offload, packet->data, length);
        counters->partial_checksums++;
    }
    uint8_t *data = put_tag_back(header, packet->data, &length);
    *frame = (struct sv_frame){.data = data, .length = length};
    return true;
}

/* ---- super-frames ---- */

/*
 * Each slot with TP_STATUS_COPY has its packet in the socket, where it takes memory until it is read. Returns its length,
 * with that of the first part, a struct virtio_net_hdr; below 0: the socket has not got it.
 */
static ssize_t read_packet(const struct sv_packet_ring *ring, struct iovec *parts, unsigned count)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    ssize_t bytes;
    do
        bytes = recvmsg(ring->receiver.fd, &message, MSG_DONTWAIT | MSG_TRUNC);
    while (bytes < 0 && (errno == EINTR || errno == ENETDOWN));     /* ENETDOWN comes once, before what is queued */
    return bytes;
}

static struct packet read_whole(struct sv_packet_ring *ring)
{
    struct packet packet = {.data = ring->cutter->whole + RESERVE_BYTES};
    struct iovec parts[] = {{&packet.offload, sizeof packet.offload}, {packet.data, SV_SUPER_MAX_BYTES}};
    ssize_t bytes = read_packet(ring, parts, 2);
    packet.lost = bytes < (ssize_t)sizeof packet.offload;
    packet.length = packet.lost ? 0 : (uint32_t)bytes - (uint32_t)sizeof packet.offload;
    return packet;
}

static void count_refused(struct softverbs_queue_counters *counters, enum sv_super_verdict verdict)
{
    if (verdict == SV_SUPER_FLAGS)
        counters->super_flags++;
    else if (verdict == SV_SUPER_TOO_LONG)
        counters->super_too_long++;
    else
        counters->super_unsound++;
}

/* Cuts a packet that is in memory as a whole, and delivers the frames. Returns their number. */
static unsigned cut(struct sv_packet_ring *ring, struct sv_device *device, const struct iovec *whole,
                    const struct sv_super_facts *facts)
{
    struct softverbs_queue_counters *counters = &ring->receiver.counters;
    struct sv_packet_cutter *cutter = ring->cutter;
    struct sv_frame frames[SV_BURST];
    unsigned total = 0;
    unsigned count;
    enum sv_super_verdict verdict = sv_super_begin(&cutter->super, whole, 1, facts);
    if (verdict != SV_SUPER_GOOD) {
        count_refused(counters, verdict);
        return 0;
    }
    do {
        for (count = 0; count < SV_BURST && sv_super_next(&cutter->super, &cutter->slots[count], &frames[count]);)
            count++;
        if (count > 0)
            sv_receiver_dispatch(&ring->receiver, device, frames, count);
        total += count;
    } while (count == SV_BURST);
    counters->super_frames++;
    counters->cut_frames += total;
    counters->partial_checksums += facts->partial;
    return total;
}

static void count_unusable(struct softverbs_queue_counters *counters, const struct packet *packet)
{
    if (packet->lost)
        counters->wire_full++;          /* the socket had no room */
    else if (packet->length > SV_SUPER_MAX_BYTES)
        counters->super_too_long++;
    else
        counters->super_unsound++;
}

static unsigned take_super(struct sv_packet_ring *ring, struct sv_device *device, const struct tpacket2_hdr *header,
                           struct packet *packet)
{
    uint8_t *data = put_tag_back(header, packet->data, &packet->length);
    const struct iovec whole = {data, packet->length};
    const struct sv_super_facts facts = {
        .mtu = sv_wire_cut_mtu(device),
        .segment_bytes = packet->offload.gso_size,
        .partial = packet->offload.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .verified = packet->offload.flags & VIRTIO_NET_HDR_F_DATA_VALID,
    };
    return cut(ring, device, &whole, &facts);
}

/* ---- super-frames that are received whole ---- */

/* The packet of a slot, which is read from the socket to where its receiver wants it. */
struct unread {
    struct sv_whole whole;
    struct sv_packet_ring *ring;
    uint32_t length;                /* without a tag */
    const uint8_t *tag;             /* NULL: it has none */
};

static bool copy_unread(const struct sv_whole *whole, uint8_t *to)
{
    const struct unread *unread = (const struct unread *)whole;
    struct softverbs_queue_counters *counters = &unread->ring->receiver.counters;
    uint32_t tag_bytes = unread->tag == NULL ? 0 : SV_VLAN_HLEN;
    struct virtio_net_hdr offload;
    struct iovec parts[] = {
        {&offload, sizeof offload},
        {to, SV_ETHERTYPE_AT},
        {to + SV_ETHERTYPE_AT + tag_bytes, unread->length - SV_ETHERTYPE_AT},
    };
    ssize_t bytes = read_packet(unread->ring, parts, 3);
    if (tag_bytes > 0)
        memcpy(to + SV_ETHERTYPE_AT, unread->tag, tag_bytes);
    if (bytes == (ssize_t)(sizeof offload + unread->length))
        return true;
    ++*(bytes < 0 ? &counters->wire_full : &counters->super_unsound);
    return false;
}

/* Whether a slot with the first bytes of a packet has those of a TCP super-frame, of which the kernel vouches for. */
static bool is_whole_tcp(const struct sv_device *device, const struct packet *packet, const uint8_t *head,
                         uint32_t head_bytes, uint32_t length, struct sv_super *super)
{
    /* Nothing reads the second piece, which is in the socket. */
    const struct iovec pieces[] = {{(void *)(uintptr_t)head, head_bytes}, {NULL, length - head_bytes}};
    const struct sv_super_facts facts = {.mtu = sv_wire_cut_mtu(device), .verified = true,
                                         .segment_bytes = packet->offload.gso_size};
    return sv_super_begin(super, pieces, 2, &facts) == SV_SUPER_GOOD && super->layout.l4 == IPPROTO_TCP &&
           ((packet->offload.flags & VIRTIO_NET_HDR_F_DATA_VALID) || sv_super_has_partial_checksum(super));
}

/* False: it is to be cut, and has not been read yet. */
static bool deliver_whole(struct sv_packet_ring *ring, struct sv_device *device, struct tpacket2_hdr *header)
{
    struct packet packet = packet_in_slot(header);
    uint32_t head_bytes = header->tp_snaplen;
    uint32_t tag_bytes = header->tp_status & TP_STATUS_VLAN_VALID ? SV_VLAN_HLEN : 0;
    if (head_bytes < SV_SUPER_HEADERS || head_bytes >= packet.length || packet.length > SV_SUPER_MAX_BYTES - tag_bytes ||
        sv_offload_of(&packet.offload, packet.data, head_bytes) != SV_OFFLOAD_SUPER)
        return false;
    uint8_t *head = put_tag_back(header, packet.data, &head_bytes);
    struct sv_super super;
    if (!is_whole_tcp(device, &packet, head, head_bytes, packet.length + tag_bytes, &super))
        return false;
    const struct unread unread = {
        .whole = {.head = head, .head_bytes = head_bytes, .length = packet.length + tag_bytes, .copy = copy_unread},
        .ring = ring,
        .length = packet.length,
        .tag = tag_bytes > 0 ? head + SV_ETHERTYPE_AT : NULL,
    };
    enum sv_whole_result result = sv_receiver_deliver_whole(&ring->receiver, device, &unread.whole);
    if (result == SV_WHOLE_DELIVERED && packet.offload.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
        ring->receiver.counters.partial_checksums++;
    return result != SV_WHOLE_REFUSED;
}

/* ---- what is no ordinary frame ---- */

/* A slot whose packet is several frames, or is larger than the slot. Returns the number of frames delivered. */
static unsigned take_whole(struct sv_packet_ring *ring, struct sv_device *device, struct tpacket2_hdr *header,
                           uint32_t longest)
{
    if (header->tp_status & TP_STATUS_COPY && deliver_whole(ring, device, header))
        return SV_WHOLE_COST;
    struct packet packet = header->tp_status & TP_STATUS_COPY ? read_whole(ring) : packet_in_slot(header);
    struct sv_frame frame;
    enum sv_offload kind = SV_OFFLOAD_UNSOUND;
    if (!packet.lost && packet.length >= ETH_HLEN && packet.length <= SV_SUPER_MAX_BYTES)
        kind = sv_offload_of(&packet.offload, packet.data, packet.length);
    if (kind == SV_OFFLOAD_SUPER)
        return take_super(ring, device, header, &packet);
    if (kind == SV_OFFLOAD_UNSOUND)
        count_unusable(&ring->receiver.counters, &packet);
    if (kind == SV_OFFLOAD_NONE && header->tp_status & TP_STATUS_COPY) {
        /* The MTU has grown since the device was opened: receives that were made for it are too short for this. */
        ring->receiver.counters.length_errors++;
        return 0;
    }
    if (kind == SV_OFFLOAD_UNSOUND || !take_frame(ring, header, &packet, longest, &frame))
        return 0;
    sv_receiver_dispatch(&ring->receiver, device, &frame, 1);
    return 1;
}

/* ---- draining ---- */

static void release_slots(const struct sv_packet_ring *ring, uint32_t from, uint32_t to)
{
    for (; from != to; from = next_slot(ring, from))
        __atomic_store_n(&slot(ring, from)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
}

/* Takes slots until there is a burst of frames, or a packet that is a burst by itself. Returns what was worked on. */
static unsigned drain_burst(struct sv_packet_ring *ring, struct sv_device *device)
{
    struct sv_frame frames[SV_BURST];
    uint32_t longest = sv_wire_longest_frame(device);
    uint32_t first = atomic_load_explicit(&ring->next, memory_order_relaxed);
    uint32_t next = first;
    unsigned taken = 0;
    unsigned seen = 0;
    struct tpacket2_hdr *large = NULL;
    while (large == NULL && seen < SV_BURST && (status_of(ring, next) & TP_STATUS_USER)) {
        struct tpacket2_hdr *header = slot(ring, next);
        struct packet packet = packet_in_slot(header);
        if (SV_LIKELY(is_ordinary(&packet)))
            taken += take_frame(ring, header, &packet, longest, &frames[taken]);
        else
            large = header;
        seen++;
        next = next_slot(ring, next);
    }
    if (taken > 0)
        sv_receiver_dispatch(&ring->receiver, device, frames, taken);
    if (large != NULL)
        seen += take_whole(ring, device, large, longest);
    release_slots(ring, first, next);
    atomic_store_explicit(&ring->next, next, memory_order_relaxed);
    return seen;
}

unsigned sv_packet_ring_drain(struct sv_packet_ring *ring, struct sv_device *device)
{
    unsigned total = 0;
    unsigned burst;
    uint32_t next = atomic_load_explicit(&ring->next, memory_order_relaxed);
    if (!(status_of(ring, next) & TP_STATUS_USER) || !sv_receiver_try(&ring->receiver))
        return 0;
    do {
        burst = drain_burst(ring, device);
        total += burst;
    } while (burst > 0 && total < DRAIN_FRAMES);
    sv_spin_unlock(&ring->receiver.lock);
    return total;
}
