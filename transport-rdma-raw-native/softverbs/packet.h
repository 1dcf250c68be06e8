/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_PACKET_H
#define SV_PACKET_H

/* Packet sockets (packet(7)): the receive ring, the sender, and the port reservations of a port on AF_PACKET. */

#include "flow.h"
#include "receive.h"
#include "gso_frame.h"

#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- packet_ring.c: a receive ring, TPACKET_V2 ---- */

/* Bytes before the frame in a slot, for the VLAN tag that the kernel has removed. */
enum { SV_PACKET_RESERVE_BYTES = 64 };

/* A GSO frame and its segments. A packet larger than a slot is in packet_buffer. */
struct sv_packet_segmenter {
    struct sv_gso_segmenter gso;
    struct sv_gso_slot slots[SV_BURST];
    uint8_t packet_buffer[SV_PACKET_RESERVE_BYTES + SV_GSO_MAX_BYTES];
};

struct sv_packet_ring {
    struct sv_receiver receiver;
    uint8_t *map;
    size_t map_bytes;
    uint32_t frame_bytes;
    uint32_t frame_count;
    _Atomic uint32_t next_index;
    bool bound;
    bool omits_vlan_tags;           /* the kernel removes tags, and they stay so */
    bool lacks_ring;                /* the socket has no ring; the next check creates one */
    bool seen_empty;                /* the ring was empty when its drops were last counted */
    uint32_t seen_next_index;       /* next_index at that time */
    struct sv_packet_segmenter *segmenter;
};

/* Opens the socket and its ring. `filter_fd` is an eBPF socket filter, or -1 to receive everything. */
int sv_packet_ring_open(struct sv_packet_ring *ring, uint32_t mtu, uint32_t frame_count, int filter_fd);
/* Starts to receive from this interface. Until then the kernel does not run the ring's filter. May be called again. */
int sv_packet_ring_bind(struct sv_packet_ring *ring, int ifindex);
void sv_packet_ring_close(struct sv_packet_ring *ring);

static inline struct tpacket2_hdr *sv_packet_slot(const struct sv_packet_ring *ring, uint32_t index)
{
    return (struct tpacket2_hdr *)(ring->map + (size_t)index * ring->frame_bytes);
}

static inline uint32_t sv_packet_slot_status(const struct sv_packet_ring *ring, uint32_t index)
{
    return __atomic_load_n(&sv_packet_slot(ring, index)->tp_status, __ATOMIC_ACQUIRE);
}

/* ---- receive_drain_packet.c ---- */

/* Delivers the frames in the ring, up to a limit. Returns 0 if there were none, else the work done. */
unsigned sv_packet_ring_drain(struct sv_packet_ring *ring, struct sv_device *device);

/* ---- packet_offload.c ---- */

/*
 * The struct virtio_net_hdr that the kernel adds to each frame of a packet socket. It contains the position of a
 * checksum that the sender omitted, and the segment size of a GSO frame. See PACKET_VNET_HDR of packet(7),
 * virtio_net_hdr_from_skb() of the kernel, and section 5.1.6 of the virtio specification.
 */

/* Newer than the oldest <linux/virtio_net.h> this builds with: Linux 6.2. */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

enum sv_vnet_hdr_kind {
    SV_VNET_HDR_NONE,       /* an ordinary frame */
    SV_VNET_HDR_GSO,        /* a GSO frame: gso_size is the payload of each segment */
    SV_VNET_HDR_MALFORMED,  /* the header contradicts the frame, or its gso_type is not supported */
};

/* Classifies a frame. `length` is that of the frame, at least an Ethernet header. */
enum sv_vnet_hdr_kind sv_vnet_hdr_classify(const struct virtio_net_hdr *vnet_hdr, const uint8_t *frame,
                                           uint32_t length);

/* Returns true if the position of an omitted checksum lies within the frame. */
static inline bool sv_vnet_hdr_is_valid(const struct virtio_net_hdr *vnet_hdr, uint32_t length)
{
    return (vnet_hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) == 0 ||
           (uint32_t)vnet_hdr->csum_start + vnet_hdr->csum_offset + 2 <= length;
}

/*
 * Computes a checksum that the sender omitted. The caller has validated the frame. The field contains the sum of the
 * pseudo header.
 */
void sv_vnet_hdr_fill_checksum(const struct virtio_net_hdr *vnet_hdr, uint8_t *frame, uint32_t length);

/* ---- packet_sender.c ---- */

/*
 * A packet socket that sends frames with sendmmsg, without copying them first. Any number of processes may have one on
 * an interface, and any number of threads may send through it.
 */
struct sv_packet_sender {
    int fd;                             /* -1: closed */
};

/* Returns 0 or an errno. */
int sv_packet_sender_open(struct sv_packet_sender *sender, int ifindex);
void sv_packet_sender_close(struct sv_packet_sender *sender);
/* Sends at most SV_BURST frames. Returns how many the interface accepted; *error is why it accepted no more. */
unsigned sv_packet_sender_send(const struct sv_packet_sender *sender, const struct sv_frame *frames, unsigned count,
                               int *error);

/* ---- port_reservation.c ---- */

/*
 * Reserves ports in the kernel if no program hides the frames from it. A reservation is a socket on the port with a
 * filter that drops everything, so that the kernel sends neither a reset nor a port-unreachable. The kernel closes the
 * sockets with the process; a filter on a clsact qdisc would stay.
 *
 * Only rules that name one UDP or TCP destination port have a reservation. For other rules, for ports in use and
 * without free descriptors, the kernel may answer; such rules are counted. The caller holds the device's rules_mutex.
 */
struct sv_port_reservation;

struct sv_port_reservations {
    struct sv_port_reservation *first;
    _Atomic uint32_t kernel_visible_rules; /* rules in force for which the kernel may answer */
};

/* Returns 0 or ENOMEM. If a port cannot be reserved, the rule is counted and the result is 0. */
int sv_port_reservations_add(struct sv_port_reservations *reservations, const struct sv_rule_spec *spec);
void sv_port_reservations_remove(struct sv_port_reservations *reservations, enum ibv_flow_attr_type type,
                                 const union sv_key *mask, const struct sv_rule *rule);
void sv_port_reservations_close(struct sv_port_reservations *reservations);

#endif
