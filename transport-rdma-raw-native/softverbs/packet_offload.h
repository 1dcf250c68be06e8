/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_PACKET_OFFLOAD_H
#define SV_PACKET_OFFLOAD_H

/*
 * What the kernel says beside a frame of a packet socket, in a struct virtio_net_hdr: a checksum that the sender left
 * out, and how a frame beyond the MTU is to be cut. See PACKET_VNET_HDR of packet(7), virtio_net_hdr_from_skb() of the
 * kernel, and 5.1.6 of the virtio specification.
 */

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stdint.h>

/* Newer than the oldest <linux/virtio_net.h> this builds with: Linux 6.2. */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

enum sv_offload {
    SV_OFFLOAD_NONE,        /* an ordinary frame */
    SV_OFFLOAD_SUPER,       /* several frames in one: gso_size is the payload of each */
    SV_OFFLOAD_UNSOUND,     /* what it says cannot be true of this frame, or is no cut that softverbs knows */
};

/* `length`: of the frame, at least an Ethernet header. */
enum sv_offload sv_offload_of(const struct virtio_net_hdr *offload, const uint8_t *frame, uint32_t length);

/* Whether a checksum that was left out is within the frame. */
static inline bool sv_offload_is_sound(const struct virtio_net_hdr *offload, uint32_t length)
{
    return (offload->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) == 0 ||
           (uint32_t)offload->csum_start + offload->csum_offset + 2 <= length;
}

/* Writes a checksum that the sender left out, of a sound frame. The field already has the sum of the pseudo header. */
void sv_offload_fill_checksum(const struct virtio_net_hdr *offload, uint8_t *frame, uint32_t length);

#endif
