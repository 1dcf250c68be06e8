/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing a frame into the fields that rules and hashes look at. Never reads beyond `length`. */
#include "flow.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

enum {
    ETHERTYPE_IPV4 = 0x0800,
    ETHERTYPE_IPV6 = 0x86dd,
    ETHERTYPE_VLAN = 0x8100,
    ETHERTYPE_QINQ = 0x88a8,
    VXLAN_PORT = 4789,
    VXLAN_HEADER = 8,
    IP_FRAGMENT_BITS = 0x3fff,      /* more fragments, or an offset */
};

static uint16_t load_be16(const uint8_t *from)
{
    return (uint16_t)(from[0] << 8 | from[1]);
}

static void parse_l4(const uint8_t *data, uint32_t length, uint32_t offset, struct sv_headers *h,
                     struct sv_layout *layout)
{
    uint32_t minimum = h->protocol == IPPROTO_TCP ? 20 : 8;
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
    if (offset + 20 > length || ip[0] >> 4 != 4)
        return;
    uint32_t header = (ip[0] & 15) * 4u;
    if (header < 20 || offset + header > length)
        return;
    uint16_t fragment = load_be16(ip + 6);
    h->layers |= SV_LAYER_IPV4;
    memcpy(h->src_ip, ip + 12, 4);
    memcpy(h->dst_ip, ip + 16, 4);
    h->protocol = ip[9];
    h->traffic_class = ip[1];
    h->hop_limit = ip[8];
    h->ip_flags = (uint8_t)((fragment & 0x4000 ? 2 : 0) | (fragment & 0x2000 ? 4 : 0));
    layout->l3 = 4;
    layout->l3_offset = (uint8_t)offset;
    /* No fragment has ports, not even the first: the same flow must not be split over two rules. */
    if ((fragment & IP_FRAGMENT_BITS) == 0)
        parse_l4(data, length, offset + header, h, layout);
}

static void parse_ipv6(const uint8_t *data, uint32_t length, uint32_t offset, struct sv_headers *h,
                       struct sv_layout *layout)
{
    const uint8_t *ip = data + offset;
    if (offset + 40 > length || ip[0] >> 4 != 6)
        return;
    h->layers |= SV_LAYER_IPV6;
    memcpy(h->src_ip, ip + 8, 16);
    memcpy(h->dst_ip, ip + 24, 16);
    h->protocol = ip[6];
    h->traffic_class = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
    h->hop_limit = ip[7];
    h->flow_label = htonl((uint32_t)(ip[1] & 15) << 16 | load_be16(ip + 2));
    layout->l3 = 6;
    layout->l3_offset = (uint8_t)offset;
    parse_l4(data, length, offset + 40, h, layout);
}

static inline void parse(const uint8_t *data, uint32_t start, uint32_t length, struct sv_headers *h,
                         struct sv_layout *layout)
{
    const uint8_t *eth = data + start;
    uint32_t offset = start + 14;
    if (offset > length)
        return;
    memcpy(h->dst_mac, eth, 6);
    memcpy(&h->ether_type, eth + 12, 2);
    memcpy(h->src_mac, eth + 6, 6);
    uint16_t type = load_be16(eth + 12);
    if ((type == ETHERTYPE_VLAN || type == ETHERTYPE_QINQ) && offset + 4 <= length) {
        memcpy(&h->vlan_tag, eth + 14, 2);
        memcpy(&h->vlan_ether_type, eth + 16, 2);
        h->layers |= SV_LAYER_VLAN;
        type = load_be16(eth + 16);
        offset += 4;
    }
    if (type == ETHERTYPE_IPV4)
        parse_ipv4(data, length, offset, h, layout);
    else if (type == ETHERTYPE_IPV6)
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
    uint32_t vxlan = layout.l4_offset + 8u;
    if (!inner || layout.l4 != IPPROTO_UDP || key->outer.dst_port != htons(VXLAN_PORT) ||
        vxlan + VXLAN_HEADER > length || !(data[vxlan] & 8))
        return layout;
    uint8_t vni[4] = {0, data[vxlan + 4], data[vxlan + 5], data[vxlan + 6]};
    memcpy(&key->outer.vni, vni, 4);
    key->outer.layers |= SV_LAYER_VXLAN;
    struct sv_layout unused = {0, 0, 0, 0};
    parse(data, vxlan + VXLAN_HEADER, length, &key->inner, &unused);
    return layout;
}

/*
 * Which bytes of the first SV_WINDOW decide what happens to a frame of this layout: those that make the layout, and those
 * that `interest` names. Returns how many 8-byte words of the window to compare; 0 if the window does not hold them all.
 */
uint32_t sv_window_mask(const struct sv_headers *interest, const struct sv_headers *headers, struct sv_layout layout,
                        uint8_t mask[SV_WINDOW])
{
    uint32_t l3 = layout.l3_offset;
    uint32_t l4 = layout.l4_offset;
    uint32_t end = 14 + (headers->layers & SV_LAYER_VLAN ? 4 : 0);

    if (layout.l3 != 0)
        end = l3 + (layout.l3 == 4 ? 20 : 40);
    if (layout.l4 != 0)
        end = l4 + (layout.l4 == IPPROTO_TCP ? 20 : 8);
    /* An IP header that is cut short or broken: not worth a cache. */
    uint16_t type = ntohs(headers->layers & SV_LAYER_VLAN ? headers->vlan_ether_type : headers->ether_type);
    if (end > SV_WINDOW || (layout.l3 == 0 && (type == ETHERTYPE_IPV4 || type == ETHERTYPE_IPV6)))
        return 0;

    memset(mask, 0, SV_WINDOW);
    memcpy(mask, interest->dst_mac, 6);
    mask[0] |= 1;       /* the multicast bit */
    memcpy(mask + 6, interest->src_mac, 6);
    memset(mask + 12, 0xff, 2);
    if (headers->layers & SV_LAYER_VLAN) {
        memcpy(mask + 14, &interest->vlan_tag, 2);
        memset(mask + 16, 0xff, 2);
    }
    if (layout.l3 == 4) {
        mask[l3] = 0xff;
        mask[l3 + 1] = interest->traffic_class;
        mask[l3 + 6] = mask[l3 + 7] = 0xff;
        mask[l3 + 8] = interest->hop_limit;
        mask[l3 + 9] = 0xff;
        memcpy(mask + l3 + 12, interest->src_ip, 4);
        memcpy(mask + l3 + 16, interest->dst_ip, 4);
    } else if (layout.l3 == 6) {
        mask[l3] = 0xf0;
        if (interest->traffic_class || interest->flow_label)
            memset(mask + l3, 0xff, 4);
        mask[l3 + 6] = 0xff;
        mask[l3 + 7] = interest->hop_limit;
        memcpy(mask + l3 + 8, interest->src_ip, 16);
        memcpy(mask + l3 + 24, interest->dst_ip, 16);
    }
    if (layout.l4 != 0) {
        memcpy(mask + l4, &interest->src_port, 2);
        memcpy(mask + l4 + 2, &interest->dst_port, 2);
    }
    return (end + 7) / 8;
}
