/* SPDX-License-Identifier: Apache-2.0 */
/* See vlan.h. */
#include "vlan.h"

#include "link_query.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdalign.h>

enum { ID_MASK = 0x0fff };

/* ---- the interface ---- */

static int parse_link(const char *netdev, const struct nlmsghdr *link, struct sv_vlan *vlan)
{
    const struct rtattr *link_info = sv_link_attribute(link, IFLA_LINKINFO);
    const struct rtattr *kind = sv_link_nested(link_info, IFLA_INFO_KIND);
    const struct rtattr *data = sv_link_nested(link_info, IFLA_INFO_DATA);
    const struct rtattr *parent = sv_link_attribute(link, IFLA_LINK);
    if (kind == NULL || RTA_PAYLOAD(kind) < sizeof "vlan" || memcmp(RTA_DATA(kind), "vlan", sizeof "vlan") != 0)
        return 0;
    if (parent == NULL || RTA_PAYLOAD(parent) < sizeof vlan->parent_ifindex ||
        sv_link_attribute(link, IFLA_LINK_NETNSID) != NULL)
        return sv_explain(EOPNOTSUPP, "the interface below the VLAN interface '%s' is in another network namespace, "
                          "where this mode would need it: use SOFTVERBS_XDP_MODE=generic", netdev);
    if (sv_link_number(sv_link_nested(data, IFLA_VLAN_PROTOCOL), 0) != htons(ETH_P_8021Q))
        return sv_explain(EOPNOTSUPP, "'%s' is a VLAN of 802.1ad, and this mode knows tags of 802.1Q only: use "
                          "SOFTVERBS_XDP_MODE=generic", netdev);
    memcpy(&vlan->parent_ifindex, RTA_DATA(parent), sizeof vlan->parent_ifindex);
    vlan->id = (uint16_t)(sv_link_number(sv_link_nested(data, IFLA_VLAN_ID), 0) & ID_MASK);
    vlan->ifindex = ((const struct ifinfomsg *)NLMSG_DATA(link))->ifi_index;
    return 0;
}

int sv_vlan_find(const char *netdev, int ifindex, struct sv_vlan *vlan)
{
    alignas(struct nlmsghdr) uint8_t answer[SV_LINK_ANSWER_BYTES];
    int error;
    memset(vlan, 0, sizeof *vlan);
    const struct nlmsghdr *link = sv_link_query(ifindex, answer, &error);
    return link == NULL ? error : parse_link(netdev, link, vlan);
}

/* ---- rules ---- */

int sv_vlan_convert_rule(const struct sv_vlan *vlan, const struct sv_rule_spec *spec, struct sv_rule_spec *tagged)
{
    struct sv_headers *value = &tagged->value.outer;
    struct sv_headers *mask = &tagged->mask.outer;
    *tagged = *spec;
    if (spec->type != IBV_FLOW_ATTR_NORMAL || (value->layers & SV_LAYER_VLAN))
        return EOPNOTSUPP;
    value->layers |= SV_LAYER_VLAN;
    mask->layers |= SV_LAYER_VLAN;
    value->vlan_tag = htons(vlan->id);
    mask->vlan_tag = htons(ID_MASK);
    /* The EtherType follows the tag. */
    value->vlan_ether_type = value->ether_type;
    mask->vlan_ether_type = mask->ether_type;
    value->ether_type = mask->ether_type = 0;
    return 0;
}
