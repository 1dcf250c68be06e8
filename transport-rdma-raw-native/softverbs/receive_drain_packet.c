/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Step 2 of the receive path for packet sockets: drains the ring of packet_ring.c. See receive.h.
 *
 * A slot of the ring holds a frame of the MTU. Of a larger packet, the slot holds the first bytes, and the complete
 * packet is read from the socket.
 */
#include "netdev_port.h"
#include "packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { DRAIN_FRAMES = 4 * SV_BURST };

/* ---- slots ---- */

static uint32_t next_slot(const struct sv_packet_ring *ring, uint32_t index)
{
    return index + 1 == ring->frame_count ? 0 : index + 1;
}

static uint8_t *data_of(struct tpacket2_hdr *header)
{
    return (uint8_t *)header + header->tp_mac;
}

/* Returns the virtio_net header, which precedes the frame. */
static struct virtio_net_hdr vnet_hdr_of(struct tpacket2_hdr *header)
{
    struct virtio_net_hdr vnet_hdr;
    memcpy(&vnet_hdr, data_of(header) - sizeof vnet_hdr, sizeof vnet_hdr);
    return vnet_hdr;
}

/* Restores the outer VLAN tag, which the kernel has removed from the frame. */
static uint8_t *restore_vlan_tag(const struct tpacket2_hdr *header, uint8_t *data, uint32_t *length)
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

/* A packet from the kernel, with its virtio_net header. */
struct packet {
    struct virtio_net_hdr vnet_hdr;
    uint8_t *data;
    uint32_t length;
    bool lost;
};

static struct packet packet_in_slot(struct tpacket2_hdr *header)
{
    return (struct packet){.vnet_hdr = vnet_hdr_of(header), .data = data_of(header), .length = header->tp_len,
                           .lost = header->tp_snaplen != header->tp_len};
}

/* Returns true for a slot with one complete frame, which most are. */
static bool is_ordinary(const struct packet *packet)
{
    return !packet->lost && packet->length >= ETH_HLEN && packet->vnet_hdr.gso_type == VIRTIO_NET_HDR_GSO_NONE &&
           sv_vnet_hdr_is_valid(&packet->vnet_hdr, packet->length);
}

/* Completes an ordinary frame. Returns false if the frame was dropped and counted. */
static bool complete_frame(struct sv_packet_ring *ring, const struct tpacket2_hdr *header, const struct packet *packet,
                           uint32_t max_frame_bytes, struct sv_frame *frame)
{
    struct softverbs_queue_counters *counters = &ring->receiver.counters;
    uint32_t length = packet->length;
    if (length + (header->tp_status & TP_STATUS_VLAN_VALID ? SV_VLAN_HLEN : 0) > max_frame_bytes) {
        counters->length_errors++;
        return false;
    }
    if (packet->vnet_hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
        sv_vnet_hdr_fill_checksum(&packet->vnet_hdr, packet->data, length);
        counters->partial_checksums++;
    }
    uint8_t *data = restore_vlan_tag(header, packet->data, &length);
    *frame = (struct sv_frame){.data = data, .length = length};
    return true;
}

/* ---- GSO frames, segmented ---- */

/*
 * Reads the packet of a slot with TP_STATUS_COPY from the socket, which uses memory until then. Returns the length,
 * including the struct virtio_net_hdr in the first part, or a negative value if the socket lacks the packet.
 */
static ssize_t read_packet(const struct sv_packet_ring *ring, struct iovec *parts, unsigned count)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    ssize_t bytes;
    do
        bytes = recvmsg(ring->receiver.fd, &message, MSG_DONTWAIT | MSG_TRUNC);
    /* ENETDOWN is reported once, before the queued packets. */
    while (bytes < 0 && (errno == EINTR || errno == ENETDOWN));
    return bytes;
}

static struct packet read_gso_frame(struct sv_packet_ring *ring)
{
    struct packet packet = {.data = ring->segmenter->packet_buffer + SV_PACKET_RESERVE_BYTES};
    struct iovec parts[] = {{&packet.vnet_hdr, sizeof packet.vnet_hdr}, {packet.data, SV_GSO_MAX_BYTES}};
    ssize_t bytes = read_packet(ring, parts, 2);
    packet.lost = bytes < (ssize_t)sizeof packet.vnet_hdr;
    packet.length = packet.lost ? 0 : (uint32_t)bytes - (uint32_t)sizeof packet.vnet_hdr;
    return packet;
}

static void count_refused(struct softverbs_queue_counters *counters, enum sv_gso_verdict verdict)
{
    if (verdict == SV_GSO_BAD_FLAGS)
        counters->gso_flags++;
    else if (verdict == SV_GSO_TOO_LONG)
        counters->gso_too_long++;
    else
        counters->gso_malformed++;
}

/* Segments a contiguous packet and delivers the segments. Returns their number. */
static unsigned segment_and_dispatch(struct sv_packet_ring *ring, struct sv_device *device, const struct iovec *piece,
                                     const struct sv_gso_info *info)
{
    struct softverbs_queue_counters *counters = &ring->receiver.counters;
    struct sv_packet_segmenter *segmenter = ring->segmenter;
    struct sv_frame frames[SV_BURST];
    unsigned total = 0;
    unsigned count;
    enum sv_gso_verdict verdict = sv_gso_begin(&segmenter->gso, piece, 1, info);
    if (verdict != SV_GSO_GOOD) {
        count_refused(counters, verdict);
        return 0;
    }
    do {
        for (count = 0; count < SV_BURST && sv_gso_next(&segmenter->gso, &segmenter->slots[count], &frames[count]);)
            count++;
        if (count > 0)
            sv_receiver_dispatch(&ring->receiver, device, frames, count);
        total += count;
    } while (count == SV_BURST);
    counters->gso_frames++;
    counters->gso_segments += total;
    counters->partial_checksums += info->partial_checksum;
    return total;
}

static void count_unusable(struct softverbs_queue_counters *counters, const struct packet *packet)
{
    if (packet->lost)
        counters->ring_full++;          /* the socket had no room */
    else if (packet->length > SV_GSO_MAX_BYTES)
        counters->gso_too_long++;
    else
        counters->gso_malformed++;
}

static unsigned receive_gso_frame(struct sv_packet_ring *ring, struct sv_device *device,
                                  const struct tpacket2_hdr *header, struct packet *packet)
{
    uint8_t *data = restore_vlan_tag(header, packet->data, &packet->length);
    const struct iovec piece = {data, packet->length};
    const struct sv_gso_info info = {
        .mtu = sv_netdev_port_segment_mtu(device),
        .segment_bytes = packet->vnet_hdr.gso_size,
        .partial_checksum = packet->vnet_hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .verified = packet->vnet_hdr.flags & VIRTIO_NET_HDR_F_DATA_VALID,
    };
    return segment_and_dispatch(ring, device, &piece, &info);
}

/* ---- GSO frames, delivered unsegmented ---- */

/* A packet that is still in the socket and will be read directly into its receive. */
struct unread_packet {
    struct sv_gso_frame gso_frame;
    struct sv_packet_ring *ring;
    uint32_t length;                /* length without the tag */
    const uint8_t *vlan_tag;        /* NULL: no tag */
};

static bool copy_unread(const struct sv_gso_frame *gso_frame, uint8_t *to)
{
    const struct unread_packet *unread_packet = (const struct unread_packet *)gso_frame;
    struct softverbs_queue_counters *counters = &unread_packet->ring->receiver.counters;
    uint32_t vlan_tag_bytes = unread_packet->vlan_tag == NULL ? 0 : SV_VLAN_HLEN;
    struct virtio_net_hdr vnet_hdr;
    struct iovec parts[] = {
        {&vnet_hdr, sizeof vnet_hdr},
        {to, SV_ETHERTYPE_AT},
        {to + SV_ETHERTYPE_AT + vlan_tag_bytes, unread_packet->length - SV_ETHERTYPE_AT},
    };
    ssize_t bytes = read_packet(unread_packet->ring, parts, 3);
    if (vlan_tag_bytes > 0)
        memcpy(to + SV_ETHERTYPE_AT, unread_packet->vlan_tag, vlan_tag_bytes);
    if (bytes == (ssize_t)(sizeof vnet_hdr + unread_packet->length))
        return true;
    ++*(bytes < 0 ? &counters->ring_full : &counters->gso_malformed);
    return false;
}

/*
 * Returns true if the first bytes in the slot are those of a GSO frame of TCP, and the kernel has verified its checksum
 * or the sender omitted it.
 */
static bool is_valid_tcp_gso(const struct sv_device *device, const struct packet *packet, const uint8_t *head,
                             uint32_t head_bytes, uint32_t length, struct sv_gso_segmenter *gso)
{
    /* The second piece is in the socket. Nothing reads it. */
    const struct iovec pieces[] = {{(void *)(uintptr_t)head, head_bytes}, {NULL, length - head_bytes}};
    const struct sv_gso_info info = {.mtu = sv_netdev_port_segment_mtu(device), .verified = true,
                                     .segment_bytes = packet->vnet_hdr.gso_size};
    return sv_gso_begin(gso, pieces, 2, &info) == SV_GSO_GOOD && gso->layout.l4 == IPPROTO_TCP &&
           ((packet->vnet_hdr.flags & VIRTIO_NET_HDR_F_DATA_VALID) || sv_gso_has_partial_checksum(gso));
}

/* Returns false if the packet must be segmented instead. The packet was not read then. */
static bool deliver_gso_frame(struct sv_packet_ring *ring, struct sv_device *device, struct tpacket2_hdr *header)
{
    struct packet packet = packet_in_slot(header);
    uint32_t head_bytes = header->tp_snaplen;
    uint32_t vlan_tag_bytes = header->tp_status & TP_STATUS_VLAN_VALID ? SV_VLAN_HLEN : 0;
    if (head_bytes < SV_GSO_MAX_HEADER_BYTES || head_bytes >= packet.length ||
        packet.length > SV_GSO_MAX_BYTES - vlan_tag_bytes ||
        sv_vnet_hdr_classify(&packet.vnet_hdr, packet.data, head_bytes) != SV_VNET_HDR_GSO)
        return false;
    uint8_t *head = restore_vlan_tag(header, packet.data, &head_bytes);
    struct sv_gso_segmenter gso;
    if (!is_valid_tcp_gso(device, &packet, head, head_bytes, packet.length + vlan_tag_bytes, &gso))
        return false;
    const struct unread_packet unread_packet = {
        .gso_frame = {.head = head, .head_bytes = head_bytes, .length = packet.length + vlan_tag_bytes,
                      .copy = copy_unread},
        .ring = ring,
        .length = packet.length,
        .vlan_tag = vlan_tag_bytes > 0 ? head + SV_ETHERTYPE_AT : NULL,
    };
    enum sv_gso_delivery result = sv_receiver_deliver_gso(&ring->receiver, device, &unread_packet.gso_frame);
    if (result == SV_GSO_DELIVERED && packet.vnet_hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
        ring->receiver.counters.partial_checksums++;
    return result != SV_GSO_REFUSED;
}

/* ---- other slots ---- */

/*
 * Handles a slot with several frames, or with a packet that exceeds the slot. Returns the work done: the number of
 * frames delivered, or SV_GSO_COST_FRAMES for a GSO frame that was delivered unsegmented or lost.
 */
static unsigned handle_other_slot(struct sv_packet_ring *ring, struct sv_device *device, struct tpacket2_hdr *header,
                                  uint32_t max_frame_bytes)
{
    if (header->tp_status & TP_STATUS_COPY && deliver_gso_frame(ring, device, header))
        return SV_GSO_COST_FRAMES;
    struct packet packet = header->tp_status & TP_STATUS_COPY ? read_gso_frame(ring) : packet_in_slot(header);
    struct sv_frame frame;
    enum sv_vnet_hdr_kind kind = SV_VNET_HDR_MALFORMED;
    if (!packet.lost && packet.length >= ETH_HLEN && packet.length <= SV_GSO_MAX_BYTES)
        kind = sv_vnet_hdr_classify(&packet.vnet_hdr, packet.data, packet.length);
    if (kind == SV_VNET_HDR_GSO)
        return receive_gso_frame(ring, device, header, &packet);
    if (kind == SV_VNET_HDR_MALFORMED)
        count_unusable(&ring->receiver.counters, &packet);
    if (kind == SV_VNET_HDR_NONE && header->tp_status & TP_STATUS_COPY) {
        /* The MTU has grown since the device was opened, and the receives that were sized for it are too short. */
        ring->receiver.counters.length_errors++;
        return 0;
    }
    if (kind == SV_VNET_HDR_MALFORMED || !complete_frame(ring, header, &packet, max_frame_bytes, &frame))
        return 0;
    sv_receiver_dispatch(&ring->receiver, device, &frame, 1);
    return 1;
}

/* ---- draining ---- */

static void release_slots(const struct sv_packet_ring *ring, uint32_t from, uint32_t to)
{
    for (; from != to; from = next_slot(ring, from))
        __atomic_store_n(&sv_packet_slot(ring, from)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
}

/*
 * Takes a burst of slots, or fewer if one of them is not ordinary: handle_other_slot() ends the burst. Returns the work
 * done: at least 1 per slot.
 */
static unsigned drain_burst(struct sv_packet_ring *ring, struct sv_device *device)
{
    struct sv_frame frames[SV_BURST];
    uint32_t max_frame_bytes = sv_netdev_port_max_frame_bytes(device);
    uint32_t first = atomic_load_explicit(&ring->next_index, memory_order_relaxed);
    uint32_t next = first;
    unsigned completed = 0;
    unsigned consumed = 0;
    struct tpacket2_hdr *other_slot = NULL;
    while (other_slot == NULL && consumed < SV_BURST && (sv_packet_slot_status(ring, next) & TP_STATUS_USER)) {
        struct tpacket2_hdr *header = sv_packet_slot(ring, next);
        struct packet packet = packet_in_slot(header);
        if (SV_UNLIKELY(ring->omits_vlan_tags))
            header->tp_status &= ~(uint32_t)TP_STATUS_VLAN_VALID;
        if (SV_LIKELY(is_ordinary(&packet)))
            completed += complete_frame(ring, header, &packet, max_frame_bytes, &frames[completed]);
        else
            other_slot = header;
        consumed++;
        next = next_slot(ring, next);
    }
    if (completed > 0)
        sv_receiver_dispatch(&ring->receiver, device, frames, completed);
    if (other_slot != NULL)
        consumed += handle_other_slot(ring, device, other_slot, max_frame_bytes);
    release_slots(ring, first, next);
    atomic_store_explicit(&ring->next_index, next, memory_order_relaxed);
    return consumed;
}

unsigned sv_packet_ring_drain(struct sv_packet_ring *ring, struct sv_device *device)
{
    unsigned total = 0;
    unsigned burst;
    uint32_t next = atomic_load_explicit(&ring->next_index, memory_order_relaxed);
    if (!(sv_packet_slot_status(ring, next) & TP_STATUS_USER) || !sv_receiver_trylock(&ring->receiver))
        return 0;
    do {
        burst = drain_burst(ring, device);
        total += burst;
    } while (burst > 0 && total < DRAIN_FRAMES);
    sv_spin_unlock(&ring->receiver.lock);
    return total;
}
