/* SPDX-License-Identifier: Apache-2.0 */
/* See vlan.h. */
#include "vlan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdalign.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES = 16384, ID_MASK = 0x0fff };

/* ---- the interface ---- */

/* Returns an attribute, or NULL. */
static const struct rtattr *find_attribute(const struct rtattr *at, size_t bytes, unsigned short type)
{
    for (int left = (int)bytes; RTA_OK(at, left); at = RTA_NEXT(at, left))
        if ((at->rta_type & NLA_TYPE_MASK) == type)
            return at;
    return NULL;
}

static const struct rtattr *find_nested(const struct rtattr *outer, unsigned short type)
{
    return outer == NULL ? NULL : find_attribute(RTA_DATA(outer), RTA_PAYLOAD(outer), type);
}

static uint16_t number_in(const struct rtattr *attribute)
{
    uint16_t number = 0;
    if (attribute != NULL && RTA_PAYLOAD(attribute) >= sizeof number)
        memcpy(&number, RTA_DATA(attribute), sizeof number);
    return number;
}

/* Requests the description of an interface. Returns 0 or an errno. */
static int request_link(int ifindex, uint8_t answer[ANSWER_BYTES], ssize_t *length)
{
    struct {
        struct nlmsghdr header;
        struct ifinfomsg info;
    } request = {
        .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
        .info = {.ifi_index = ifindex},
    };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (fd < 0)
        return errno;
    /* The kernel answers before send() returns. */
    *length = send(fd, &request, sizeof request, 0);
    if (*length >= 0)
        *length = recv(fd, answer, ANSWER_BYTES, 0);
    int error = *length < 0 ? errno : 0;
    close(fd);
    return error;
}

static int parse_link(const char *netdev, const struct nlmsghdr *header, struct sv_vlan *vlan)
{
    const struct ifinfomsg *info = NLMSG_DATA(header);
    if (header->nlmsg_type != RTM_NEWLINK || header->nlmsg_len < NLMSG_LENGTH(sizeof *info))
        return ENODEV;
    const struct rtattr *attributes = IFLA_RTA(info);
    size_t bytes = IFLA_PAYLOAD(header);
    const struct rtattr *link_info = find_attribute(attributes, bytes, IFLA_LINKINFO);
    const struct rtattr *kind = find_nested(link_info, IFLA_INFO_KIND);
    const struct rtattr *data = find_nested(link_info, IFLA_INFO_DATA);
    const struct rtattr *parent = find_attribute(attributes, bytes, IFLA_LINK);
    if (kind == NULL || RTA_PAYLOAD(kind) < sizeof "vlan" || memcmp(RTA_DATA(kind), "vlan", sizeof "vlan") != 0)
        return 0;
    if (parent == NULL || RTA_PAYLOAD(parent) < sizeof vlan->parent_ifindex ||
        find_attribute(attributes, bytes, IFLA_LINK_NETNSID) != NULL)
        return sv_explain(EOPNOTSUPP, "the interface below the VLAN interface '%s' is in another network namespace, "
                          "where this mode would need it: use SOFTVERBS_XDP_MODE=generic", netdev);
    if (number_in(find_nested(data, IFLA_VLAN_PROTOCOL)) != htons(ETH_P_8021Q))
        return sv_explain(EOPNOTSUPP, "'%s' is a VLAN of 802.1ad, and this mode knows tags of 802.1Q only: use "
                          "SOFTVERBS_XDP_MODE=generic", netdev);
    memcpy(&vlan->parent_ifindex, RTA_DATA(parent), sizeof vlan->parent_ifindex);
    vlan->id = number_in(find_nested(data, IFLA_VLAN_ID)) & ID_MASK;
    vlan->ifindex = info->ifi_index;
    return 0;
}

int sv_vlan_find(const char *netdev, int ifindex, struct sv_vlan *vlan)
{
    alignas(struct nlmsghdr) uint8_t answer[ANSWER_BYTES];
    const struct nlmsghdr *header = (const struct nlmsghdr *)answer;
    ssize_t length = 0;
    memset(vlan, 0, sizeof *vlan);
    int error = request_link(ifindex, answer, &length);
    if (error != 0)
        return error;
    return NLMSG_OK(header, (size_t)length) ? parse_link(netdev, header, vlan) : ENODEV;
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
