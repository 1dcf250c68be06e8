/* SPDX-License-Identifier: Apache-2.0 */
/* Converts ibv_flow_attr and its specs to a key and a mask, with the checks of the kernel and of mlx5. */
#include "device.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

enum { MAX_SPECS = 10, PRIORITIES = 16, MAX_TAG = 0xffffff };

/*
 * Copies `size` bytes of a filter to the key. A value bit outside the mask is an error, because it could never match.
 */
static bool put_field(void *key_value, void *key_mask, const void *value, const void *mask, size_t size)
{
    const uint8_t *v = value;
    const uint8_t *m = mask;
    for (size_t i = 0; i < size; i++)
        if (v[i] & ~m[i])
            return false;
    memcpy(key_value, value, size);
    memcpy(key_mask, mask, size);
    return true;
}

#define PUT_FIELD(field, filter, filter_field) \
    put_field(&value->field, &mask->field, &(filter)->val.filter_field, &(filter)->mask.filter_field, \
              sizeof value->field)

static void require_layer(struct sv_headers *value, struct sv_headers *mask, uint16_t required, uint16_t excluded)
{
    value->layers |= required;
    mask->layers |= required | excluded;
}

static int parse_eth(const struct ibv_flow_spec_eth *spec, struct sv_headers *value, struct sv_headers *mask)
{
    if (mask->ether_type || mask->vlan_ether_type || mask->vlan_tag)
        return EINVAL;
    if (!PUT_FIELD(dst_mac, spec, dst_mac) || !PUT_FIELD(src_mac, spec, src_mac) ||
        !PUT_FIELD(vlan_tag, spec, vlan_tag))
        return EINVAL;
    if (spec->mask.vlan_tag == 0)
        return PUT_FIELD(ether_type, spec, ether_type) ? 0 : EINVAL;
    /* With a tag, the EtherType follows the tag. */
    require_layer(value, mask, SV_LAYER_VLAN, 0);
    return PUT_FIELD(vlan_ether_type, spec, ether_type) ? 0 : EINVAL;
}

static bool has_l3(const struct sv_headers *mask)
{
    return mask->layers & (SV_LAYER_IPV4 | SV_LAYER_IPV6);
}

static int parse_ipv4(const struct ibv_flow_spec_ipv4 *spec, struct sv_headers *value, struct sv_headers *mask)
{
    if (has_l3(mask))
        return EINVAL;
    require_layer(value, mask, SV_LAYER_IPV4, SV_LAYER_IPV6);
    bool ok = put_field(value->src_ip, mask->src_ip, &spec->val.src_ip, &spec->mask.src_ip, 4) &&
              put_field(value->dst_ip, mask->dst_ip, &spec->val.dst_ip, &spec->mask.dst_ip, 4);
    return ok ? 0 : EINVAL;
}

static int parse_ipv4_ext(const struct ibv_flow_spec_ipv4_ext *spec, struct sv_headers *value, struct sv_headers *mask)
{
    if (has_l3(mask))
        return EINVAL;
    require_layer(value, mask, SV_LAYER_IPV4, SV_LAYER_IPV6);
    bool ok = put_field(value->src_ip, mask->src_ip, &spec->val.src_ip, &spec->mask.src_ip, 4) &&
              put_field(value->dst_ip, mask->dst_ip, &spec->val.dst_ip, &spec->mask.dst_ip, 4) &&
              PUT_FIELD(protocol, spec, proto) && PUT_FIELD(traffic_class, spec, tos) &&
              PUT_FIELD(hop_limit, spec, ttl) && PUT_FIELD(ip_flags, spec, flags);
    return ok ? 0 : EINVAL;
}

static int parse_ipv6(const struct ibv_flow_spec_ipv6 *spec, struct sv_headers *value, struct sv_headers *mask)
{
    if (has_l3(mask))
        return EINVAL;
    require_layer(value, mask, SV_LAYER_IPV6, SV_LAYER_IPV4);
    bool ok = PUT_FIELD(src_ip, spec, src_ip) && PUT_FIELD(dst_ip, spec, dst_ip) &&
              PUT_FIELD(flow_label, spec, flow_label) &&
              PUT_FIELD(protocol, spec, next_hdr) && PUT_FIELD(traffic_class, spec, traffic_class) &&
              PUT_FIELD(hop_limit, spec, hop_limit);
    /* The label has 20 bits. */
    return ok && !(ntohl(mask->flow_label) & ~0xfffffu) ? 0 : EINVAL;
}

static int parse_tcp_udp(const struct ibv_flow_spec_tcp_udp *spec, uint16_t layer, struct sv_headers *value,
                         struct sv_headers *mask)
{
    if (mask->layers & (SV_LAYER_TCP | SV_LAYER_UDP))
        return EINVAL;
    require_layer(value, mask, layer, SV_LAYER_TCP | SV_LAYER_UDP);
    return PUT_FIELD(dst_port, spec, dst_port) && PUT_FIELD(src_port, spec, src_port) ? 0 : EINVAL;
}

static int parse_vxlan(const struct ibv_flow_spec_tunnel *spec, struct sv_headers *value, struct sv_headers *mask)
{
    if ((mask->layers & SV_LAYER_VXLAN) || (ntohl(spec->mask.tunnel_id) & 0xff000000u))
        return EINVAL;
    require_layer(value, mask, SV_LAYER_VXLAN, 0);
    return PUT_FIELD(vni, spec, tunnel_id) ? 0 : EINVAL;
}

static int parse_action(const struct ibv_flow_spec *spec, struct sv_rule_spec *rule)
{
    switch (spec->hdr.type) {
    case IBV_FLOW_SPEC_ACTION_TAG:
        if (spec->hdr.size != sizeof spec->flow_tag || spec->flow_tag.tag_id > MAX_TAG)
            return EINVAL;
        rule->tag = spec->flow_tag.tag_id;
        return 0;
    case IBV_FLOW_SPEC_ACTION_DROP:
        if (spec->hdr.size != sizeof spec->drop)
            return EINVAL;
        rule->drop = true;
        return 0;
    case IBV_FLOW_SPEC_ACTION_COUNT:
        if (spec->hdr.size != sizeof spec->flow_count || spec->flow_count.counters == NULL || rule->counters != NULL)
            return EINVAL;
        rule->counters = (struct sv_counters *)spec->flow_count.counters;
        return 0;
    default:
        return EOPNOTSUPP;
    }
}

#define CHECK_SIZE(member) if (spec->hdr.size != sizeof spec->member) return EINVAL

static int parse_match(const struct ibv_flow_spec *spec, struct sv_rule_spec *rule)
{
    bool inner = spec->hdr.type & IBV_FLOW_SPEC_INNER;
    struct sv_headers *value = inner ? &rule->value.inner : &rule->value.outer;
    struct sv_headers *mask = inner ? &rule->mask.inner : &rule->mask.outer;

    switch ((int)spec->hdr.type & ~IBV_FLOW_SPEC_INNER) {
    case IBV_FLOW_SPEC_ETH:
        CHECK_SIZE(eth);
        return parse_eth(&spec->eth, value, mask);
    case IBV_FLOW_SPEC_IPV4:
        CHECK_SIZE(ipv4);
        return parse_ipv4(&spec->ipv4, value, mask);
    case IBV_FLOW_SPEC_IPV4_EXT:
        CHECK_SIZE(ipv4_ext);
        return parse_ipv4_ext(&spec->ipv4_ext, value, mask);
    case IBV_FLOW_SPEC_IPV6:
        CHECK_SIZE(ipv6);
        return parse_ipv6(&spec->ipv6, value, mask);
    case IBV_FLOW_SPEC_TCP:
        CHECK_SIZE(tcp_udp);
        return parse_tcp_udp(&spec->tcp_udp, SV_LAYER_TCP, value, mask);
    case IBV_FLOW_SPEC_UDP:
        CHECK_SIZE(tcp_udp);
        return parse_tcp_udp(&spec->tcp_udp, SV_LAYER_UDP, value, mask);
    case IBV_FLOW_SPEC_VXLAN_TUNNEL:
        CHECK_SIZE(tunnel);
        return inner ? EINVAL : parse_vxlan(&spec->tunnel, value, mask);
    default:
        return spec->hdr.type >= IBV_FLOW_SPEC_ACTION_TAG ? parse_action(spec, rule) : EOPNOTSUPP;
    }
}

/* Returns true if the rule allows the bits of a field to be `expected`. */
static bool agrees(uint32_t value, uint32_t mask, uint32_t expected)
{
    return ((value ^ expected) & mask) == 0;
}

/* Returns an error if the layers of a rule contradict each other, because such a rule could never match. */
static int check_agreement(struct sv_headers *value, struct sv_headers *mask)
{
    bool tagged = value->layers & SV_LAYER_VLAN;
    uint16_t type = tagged ? value->vlan_ether_type : value->ether_type;
    uint16_t type_mask = tagged ? mask->vlan_ether_type : mask->ether_type;
    if ((value->layers & SV_LAYER_IPV4) && !agrees(type, type_mask, htons(0x0800)))
        return EINVAL;
    if ((value->layers & SV_LAYER_IPV6) && !agrees(type, type_mask, htons(0x86dd)))
        return EINVAL;
    if ((value->layers & SV_LAYER_TCP) && !agrees(value->protocol, mask->protocol, IPPROTO_TCP))
        return EINVAL;
    if ((value->layers & SV_LAYER_UDP) && !agrees(value->protocol, mask->protocol, IPPROTO_UDP))
        return EINVAL;
    /* A rule with layers above Ethernet but no tag takes untagged frames. */
    if (!tagged && mask->layers != 0)
        require_layer(value, mask, 0, SV_LAYER_VLAN);
    return 0;
}

/* As in libibverbs, the number of specs and their sizes bound the reads. attr->size is not read. */
static int parse_specs(const struct ibv_flow_attr *attr, struct sv_rule_spec *rule)
{
    const uint8_t *next = (const uint8_t *)(attr + 1);
    for (unsigned i = 0; i < attr->num_of_specs; i++) {
        /* Specs are packed and so aligned to 4 bytes only, although one of them has a pointer. */
        struct ibv_flow_spec spec;
        memcpy(&spec.hdr, next, sizeof spec.hdr);
        if (spec.hdr.size < sizeof(struct ibv_flow_spec_action_drop) || spec.hdr.size > sizeof spec)
            return EINVAL;
        memcpy(&spec, next, spec.hdr.size);
        int error = parse_match(&spec, rule);
        if (error != 0)
            return error;
        next += spec.hdr.size;
    }
    int error = check_agreement(&rule->value.outer, &rule->mask.outer);
    return error != 0 ? error : check_agreement(&rule->value.inner, &rule->mask.inner);
}

static bool matches_anything(const struct sv_rule_spec *rule)
{
    static const union sv_key zero;
    return memcmp(&rule->mask, &zero, sizeof zero) == 0;
}

int sv_flow_parse(const struct ibv_flow_attr *attr, struct sv_rule_spec *rule)
{
    memset(rule, 0, sizeof *rule);
    if (attr->comp_mask != 0 || attr->num_of_specs > MAX_SPECS || attr->port != SV_PORT_NUM)
        return EINVAL;
    if (attr->flags & IBV_FLOW_ATTR_FLAGS_EGRESS)
        return EOPNOTSUPP;
    if (attr->flags & ~(IBV_FLOW_ATTR_FLAGS_DONT_TRAP | SOFTVERBS_FLOW_ACCEPTS_GSO))
        return EINVAL;
    if (attr->priority >= PRIORITIES)
        return ENOMEM;
    if ((uint32_t)attr->type > IBV_FLOW_ATTR_SNIFFER)
        return EINVAL;
    rule->type = attr->type;
    rule->priority = attr->priority;
    rule->dont_trap = attr->flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
    rule->accepts_gso = attr->flags & SOFTVERBS_FLOW_ACCEPTS_GSO;
    int error = parse_specs(attr, rule);
    if (error != 0)
        return error;
    if (rule->type != IBV_FLOW_ATTR_NORMAL && (rule->dont_trap || rule->drop || !matches_anything(rule)))
        return EINVAL;
    if (rule->drop && rule->dont_trap)
        return EINVAL;
    rule->multicast = (rule->mask.outer.dst_mac[0] & 1) && (rule->value.outer.dst_mac[0] & 1);
    return 0;
}
