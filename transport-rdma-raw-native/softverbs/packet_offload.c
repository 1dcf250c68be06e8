/* SPDX-License-Identifier: Apache-2.0 */
/* See packet.h. */
#include "packet.h"

#include "checksum.h"
#include "flow.h"

#include <netinet/in.h>
#include <string.h>

/* Far more than a sender makes of 64 KB, and few enough to handle at once. */
enum { MAX_SEGMENTS = 1024 };

/* Returns true if the type of segmentation fits the headers. In a tunnel it may be that of the inner ones. */
static bool matches_headers(uint8_t type, struct sv_layout layout)
{
    switch (type) {
    case VIRTIO_NET_HDR_GSO_TCPV4:
        return layout.l3 == 4 && layout.l4 == IPPROTO_TCP;
    case VIRTIO_NET_HDR_GSO_TCPV6:
        return layout.l3 == 6 && layout.l4 == IPPROTO_TCP;
    case VIRTIO_NET_HDR_GSO_UDP_L4:
        return layout.l4 == IPPROTO_UDP;
    default:
        return false;
    }
}

enum sv_vnet_hdr_kind sv_vnet_hdr_classify(const struct virtio_net_hdr *vnet_hdr, const uint8_t *frame, uint32_t length)
{
    struct sv_headers unused;
    if (!sv_vnet_hdr_is_valid(vnet_hdr, length))
        return SV_VNET_HDR_MALFORMED;
    if (vnet_hdr->gso_type == VIRTIO_NET_HDR_GSO_NONE)
        return SV_VNET_HDR_NONE;
    struct sv_layout layout = sv_parse_headers(frame, length, &unused);
    bool partial = vnet_hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM;
    bool valid = vnet_hdr->gso_size >= length / MAX_SEGMENTS && vnet_hdr->gso_size > 0 && vnet_hdr->hdr_len <= length &&
                 matches_headers(vnet_hdr->gso_type & (uint8_t)~VIRTIO_NET_HDR_GSO_ECN, layout) &&
                 (!partial || vnet_hdr->csum_start == layout.l4_offset);
    return valid ? SV_VNET_HDR_GSO : SV_VNET_HDR_MALFORMED;
}

/* Follows skb_checksum_help(), which is also correct for a checksum in a tunnel. RFC 768: zero means "none". */
void sv_vnet_hdr_fill_checksum(const struct virtio_net_hdr *vnet_hdr, uint8_t *frame, uint32_t length)
{
    uint8_t *from = frame + vnet_hdr->csum_start;
    uint16_t sum = (uint16_t)~sv_checksum_sum_fold(sv_checksum_sum(from, length - vnet_hdr->csum_start, 0));
    if (sum == 0)
        sum = 0xffff;
    memcpy(from + vnet_hdr->csum_offset, &sum, 2);
}
