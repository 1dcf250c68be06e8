/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a frame into the fields that rules and hashes use. Never reads beyond `length`. */
#include "flow.h"
#include "wire_defs.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static uint16_t load_be16(const uint8_t *from)
{
    return (uint16_t)(from[0] << 8 | from[1]);
}

static void parse_l4(const uint8_t *data, uint32_t length, uint32_t offset, struct sv_headers *h,
                     struct sv_layout *layout)
{
    uint32_t minimum = h->protocol == IPPROTO_TCP ? SV_TCP_HLEN : SV_UDP_HLEN;
    if ((h->protocol != IPPROTO_TCP && h->protocol != IPPROTO_UDP) || offset + minimum > length)
        return;
    memcpy(&h->src_port, data + offset, 2);
    memcpy(&h->dst_port, data + offset + 2, 2);
    h->layers |= h->protocol == IPPROTO_TCP ? SV_LAYER_TCP : SV_LAYER_UDP;
    layout->l4 = h->protocol;
    layout->l4_offset = (uint8_t)offset;
}

static void parse_ipv4(const uint8_t *data, uint32_t length, uint32_t offset, struct sv_headers *h,
                       struct sv_layout *layout)
{
    const uint8_t *ip = data + offset;
    if (offset + SV_IPV4_HLEN > length || ip[0] >> 4 != 4)
        return;
    uint32_t header = (ip[0] & 15) * 4u;
    if (header < SV_IPV4_HLEN || offset + header > length)
        return;
    uint16_t fragment = load_be16(ip + SV_IPV4_FRAGMENT_AT);
    h->layers |= SV_LAYER_IPV4;
    memcpy(h->src_ip, ip + SV_IPV4_SOURCE_AT, 4);
    memcpy(h->dst_ip, ip + SV_IPV4_DESTINATION_AT, 4);
    h->protocol = ip[SV_IPV4_PROTOCOL_AT];
    h->traffic_class = ip[SV_IPV4_TOS_AT];
    h->hop_limit = ip[SV_IPV4_TTL_AT];
    h->ip_flags = (uint8_t)((fragment & SV_IPV4_DONT_FRAGMENT ? 2 : 0) | (fragment & SV_IPV4_MORE_FRAGMENTS ? 4 : 0));
    layout->l3 = 4;
    layout->l3_offset = (uint8_t)offset;
    /* Fragments, including the first one, count as without ports, so that one flow does not match two rules. */
    if ((fragment & SV_IPV4_FRAGMENT_BITS) == 0)
        parse_l4(data, length, offset + header, h, layout);
}

static void parse_ipv6(const uint8_t *data, uint32_t length, uint32_t offset, struct sv_headers *h,
                       struct sv_layout *layout)
{
    const uint8_t *ip = data + offset;
    if (offset + SV_IPV6_HLEN > length || ip[0] >> 4 != 6)
        return;
    h->layers |= SV_LAYER_IPV6;
    memcpy(h->src_ip, ip + SV_IPV6_SOURCE_AT, 16);
    memcpy(h->dst_ip, ip + SV_IPV6_DESTINATION_AT, 16);
    h->protocol = ip[SV_IPV6_NEXT_HEADER_AT];
    h->traffic_class = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
    h->hop_limit = ip[SV_IPV6_HOP_LIMIT_AT];
    h->flow_label = htonl((uint32_t)(ip[1] & 15) << 16 | load_be16(ip + 2));
    layout->l3 = 6;
    layout->l3_offset = (uint8_t)offset;
    parse_l4(data, length, offset + SV_IPV6_HLEN, h, layout);
}

static inline void parse(const uint8_t *data, uint32_t start, uint32_t length, struct sv_headers *h,
                         struct sv_layout *layout)
{
    const uint8_t *eth = data + start;
    uint32_t offset = start + ETH_HLEN;
    if (offset > length)
        return;
    memcpy(h->dst_mac, eth, ETH_ALEN);
    memcpy(&h->ether_type, eth + SV_ETHERTYPE_AT, 2);
    memcpy(h->src_mac, eth + SV_ETH_SOURCE_AT, ETH_ALEN);
    uint16_t type = load_be16(eth + SV_ETHERTYPE_AT);
#ifdef SV_BEHIND_SERVICE_TAGS
    /* A card parses behind a service tag (802.1ad) too. Rules name customer VLANs, so the tag itself matches none. */
    if (type == ETH_P_8021AD && offset + SV_VLAN_HLEN <= length) {
        type = load_be16(eth + SV_VLAN_ETHERTYPE_AT);
        offset += SV_VLAN_HLEN;
    }
#endif
    /* Not 802.1ad, because rules name customer VLANs. */
    if (type == ETH_P_8021Q && offset + SV_VLAN_HLEN <= length) {
        memcpy(&h->vlan_tag, eth + SV_VLAN_TCI_AT, 2);
        memcpy(&h->vlan_ether_type, eth + SV_VLAN_ETHERTYPE_AT, 2);
        h->layers |= SV_LAYER_VLAN;
        type = load_be16(eth + SV_VLAN_ETHERTYPE_AT);
        offset += SV_VLAN_HLEN;
    }
    if (type == ETH_P_IP)
        parse_ipv4(data, length, offset, h, layout);
    else if (type == ETH_P_IPV6)
        parse_ipv6(data, length, offset, h, layout);
}

struct sv_layout sv_parse_headers(const uint8_t *data, uint32_t length, struct sv_headers *headers)
{
    struct sv_layout layout = {0, 0, 0, 0};
    memset(headers, 0, sizeof *headers);
    parse(data, 0, length, headers, &layout);
    return layout;
}

struct sv_layout sv_parse_key(const uint8_t *data, uint32_t length, bool inner, union sv_key *key)
{
    struct sv_layout layout = sv_parse_headers(data, length, &key->outer);
    memset(&key->inner, 0, sizeof key->inner);
    uint32_t vxlan = layout.l4_offset + (uint32_t)SV_UDP_HLEN;
    if (!inner || layout.l4 != IPPROTO_UDP || key->outer.dst_port != htons(SV_VXLAN_PORT) ||
        vxlan + SV_VXLAN_HLEN > length || !(data[vxlan] & SV_VXLAN_HAS_VNI))
        return layout;
    const uint8_t *from = data + vxlan + SV_VXLAN_VNI_AT;
    uint8_t vni[4] = {0, from[0], from[1], from[2]};
    memcpy(&key->outer.vni, vni, 4);
    key->outer.layers |= SV_LAYER_VXLAN;
    struct sv_layout unused = {0, 0, 0, 0};
    parse(data, vxlan + SV_VXLAN_HLEN, length, &key->inner, &unused);
    return layout;
}

/*
 * Computes which bytes of the first SV_WINDOW_BYTES determine the verdict on a frame of this layout: those that define
 * the layout, and those that `used_mask` selects. Returns the number of 8-byte words to compare, or 0 if the window
 * does not contain them all.
 */
uint32_t sv_window_mask(const struct sv_headers *used_mask, const struct sv_headers *headers, struct sv_layout layout,
                        uint8_t mask[SV_WINDOW_BYTES])
{
    uint32_t l3 = layout.l3_offset;
    uint32_t l4 = layout.l4_offset;
    uint32_t end = ETH_HLEN + (headers->layers & SV_LAYER_VLAN ? SV_VLAN_HLEN : 0);

    if (layout.l3 != 0)
        end = l3 + (layout.l3 == 4 ? SV_IPV4_HLEN : SV_IPV6_HLEN);
    if (layout.l4 != 0)
        end = l4 + (layout.l4 == IPPROTO_TCP ? SV_TCP_HLEN : SV_UDP_HLEN);
    /* A truncated or broken IP header is not cached. */
    uint16_t type = ntohs(headers->layers & SV_LAYER_VLAN ? headers->vlan_ether_type : headers->ether_type);
    if (end > SV_WINDOW_BYTES || (layout.l3 == 0 && (type == ETH_P_IP || type == ETH_P_IPV6)))
        return 0;

    memset(mask, 0, SV_WINDOW_BYTES);
    memcpy(mask, used_mask->dst_mac, 6);
    mask[0] |= 1;       /* the multicast bit */
    memcpy(mask + 6, used_mask->src_mac, 6);
    memset(mask + 12, 0xff, 2);
    if (headers->layers & SV_LAYER_VLAN) {
        memcpy(mask + 14, &used_mask->vlan_tag, 2);
        memset(mask + 16, 0xff, 2);
    }
    if (layout.l3 == 4) {
        mask[l3] = 0xff;
        mask[l3 + 1] = used_mask->traffic_class;
        mask[l3 + 6] = mask[l3 + 7] = 0xff;
        mask[l3 + 8] = used_mask->hop_limit;
        mask[l3 + 9] = 0xff;
        memcpy(mask + l3 + 12, used_mask->src_ip, 4);
        memcpy(mask + l3 + 16, used_mask->dst_ip, 4);
    } else if (layout.l3 == 6) {
        mask[l3] = 0xf0;
        if (used_mask->traffic_class || used_mask->flow_label)
            memset(mask + l3, 0xff, 4);
        mask[l3 + 6] = 0xff;
        mask[l3 + 7] = used_mask->hop_limit;
        memcpy(mask + l3 + 8, used_mask->src_ip, 16);
        memcpy(mask + l3 + 24, used_mask->dst_ip, 16);
    }
    if (layout.l4 != 0) {
        memcpy(mask + l4, &used_mask->src_port, 2);
        memcpy(mask + l4 + 2, &used_mask->dst_port, 2);
    }
    return (end + 7) / 8;
}
