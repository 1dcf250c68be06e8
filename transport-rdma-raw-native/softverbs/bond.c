/* SPDX-License-Identifier: Apache-2.0 */
/* See bond.h. */
#include "bond.h"

#include "connection_hash.h"
#include "device.h"
#include "link_query.h"
#include "wire_defs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_bonding.h>
#include <linux/if_link.h>
#include <netinet/in.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

/* ACTOR_COLLECTS, ACTOR_DISTRIBUTES: bits of the state of a port in LACP (IEEE 802.1AX). */
enum { READ_ATTEMPTS = 16, ACTOR_COLLECTS = 0x10, ACTOR_DISTRIBUTES = 0x20 };
enum { FIRST_PAUSE_MILLIS = 1000, MAX_PAUSE_MILLIS = 60000 };

/* ---- state ---- */

static bool is_kind(const struct rtattr *kind, const char *name)
{
    return kind != NULL && RTA_PAYLOAD(kind) > strlen(name) && strcmp(RTA_DATA(kind), name) == 0;
}

/* Independent control of 802.3ad (coupled_control off, Linux 6.9): the leg receives, and sends later. */
static bool only_collects(const struct rtattr *leg_data)
{
    uint32_t state = sv_link_number(sv_link_nested(leg_data, IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE), 0);
    return (state & (ACTOR_COLLECTS | ACTOR_DISTRIBUTES)) == ACTOR_COLLECTS;
}

/*
 * The kernel marks legs as active and as backup: of those in mode active-backup one is active, in 802.3ad those that
 * collect and distribute. In mode active-backup it sends by the active leg although that may be down.
 */
static void add_leg(void *context, const struct nlmsghdr *link)
{
    struct sv_bond *bond = context;
    const struct ifinfomsg *info = NLMSG_DATA(link);
    const struct rtattr *name = sv_link_attribute(link, IFLA_IFNAME);
    const struct rtattr *link_info = sv_link_attribute(link, IFLA_LINKINFO);
    const struct rtattr *data = sv_link_nested(link_info, IFLA_INFO_SLAVE_DATA);
    if (sv_link_number(sv_link_attribute(link, IFLA_MASTER), 0) != (uint32_t)bond->ifindex || name == NULL ||
        !is_kind(sv_link_nested(link_info, IFLA_INFO_SLAVE_KIND), "bond") || bond->leg_count == SV_BOND_MAX_LEGS)
        return;
    struct sv_bond_leg *leg = &bond->leg[bond->leg_count++];
    bool is_active = sv_link_number(sv_link_nested(data, IFLA_BOND_SLAVE_STATE), BOND_STATE_BACKUP) ==
                     BOND_STATE_ACTIVE;
    bool is_up = sv_link_number(sv_link_nested(data, IFLA_BOND_SLAVE_MII_STATUS), BOND_LINK_DOWN) == BOND_LINK_UP &&
                 (info->ifi_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
    leg->ifindex = info->ifi_index;
    snprintf(leg->netdev, sizeof leg->netdev, "%.*s", (int)RTA_PAYLOAD(name), (const char *)RTA_DATA(name));
    leg->sends = is_active && (is_up || bond->has_active_leg);
    leg->receives = is_active || bond->all_legs_receive || only_collects(data);
}

static int list_legs(struct sv_bond *bond)
{
    int error = EINTR;
    for (int i = 0; i < READ_ATTEMPTS && error == EINTR; i++) {
        bond->leg_count = 0;
        error = sv_link_query_below(bond->ifindex, add_leg, bond);
    }
    return error;
}

/* Reads the mode and the options of the interface. Stores ifindex 0 if it is no bond. */
static int read_bond(int ifindex, struct sv_bond *bond)
{
    alignas(struct nlmsghdr) uint8_t answer[SV_LINK_ANSWER_BYTES];
    int error;
    memset(bond, 0, sizeof *bond);
    const struct nlmsghdr *link = sv_link_query(ifindex, answer, &error);
    if (link == NULL)
        return error;
    const struct rtattr *link_info = sv_link_attribute(link, IFLA_LINKINFO);
    const struct rtattr *data = sv_link_nested(link_info, IFLA_INFO_DATA);
    if (!is_kind(sv_link_nested(link_info, IFLA_INFO_KIND), "bond"))
        return 0;
    bond->ifindex = ifindex;
    bond->mode = sv_link_number(sv_link_nested(data, IFLA_BOND_MODE), UINT32_MAX);
    bond->has_active_leg = bond->mode == BOND_MODE_ACTIVEBACKUP;
    bond->all_legs_receive = sv_link_number(sv_link_nested(data, IFLA_BOND_ALL_SLAVES_ACTIVE), 0) != 0;
    bond->hash_policy = sv_link_number(sv_link_nested(data, IFLA_BOND_XMIT_HASH_POLICY), BOND_XMIT_POLICY_LAYER2);
    return 0;
}

static void keep_pauses(struct sv_bond *found, const struct sv_bond *before)
{
    for (uint32_t i = 0; i < found->leg_count; i++) {
        const struct sv_bond_leg *leg = sv_bond_find_leg(before, found->leg[i].ifindex);
        if (leg == NULL)
            continue;
        found->leg[i].pause_millis = leg->pause_millis;
        found->leg[i].open_at_millis = leg->open_at_millis;
    }
}

int sv_bond_read_again(struct sv_bond *bond)
{
    struct sv_bond found;
    int error = read_bond(bond->ifindex, &found);
    if (error == 0 && (found.ifindex == 0 || found.mode != bond->mode))
        return SV_BOND_OTHER_MODE;
    if (error == 0)
        error = list_legs(&found);
    if (error != 0)
        return error;
    keep_pauses(&found, bond);
    *bond = found;
    return 0;
}

const struct sv_bond_leg *sv_bond_find_leg(const struct sv_bond *bond, int ifindex)
{
    for (uint32_t i = 0; i < bond->leg_count; i++)
        if (bond->leg[i].ifindex == ifindex)
            return &bond->leg[i];
    return NULL;
}

void sv_bond_leg_has_failed(struct sv_bond_leg *leg, uint64_t now_millis)
{
    leg->pause_millis = leg->pause_millis == 0 ? FIRST_PAUSE_MILLIS : 2 * leg->pause_millis;
    if (leg->pause_millis > MAX_PAUSE_MILLIS)
        leg->pause_millis = MAX_PAUSE_MILLIS;
    leg->open_at_millis = now_millis + leg->pause_millis;
}

static int explain_mode(const char *netdev, uint32_t mode)
{
    static const char *const names[] = {"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad",
                                        "balance-tlb", "balance-alb"};
    return sv_explain(EOPNOTSUPP, "'%s' is a bond in mode %s, where this mode of AF_XDP needs active-backup, "
                      "balance-xor or 802.3ad: use SOFTVERBS_XDP_MODE=tap", netdev,
                      mode < sizeof names / sizeof names[0] ? names[mode] : "unknown");
}

int sv_bond_find(const char *netdev, int ifindex, struct sv_bond *bond)
{
    int error = read_bond(ifindex, bond);
    if (error != 0 || bond->ifindex == 0)
        return error;
    if (bond->mode != BOND_MODE_ACTIVEBACKUP && bond->mode != BOND_MODE_XOR && bond->mode != BOND_MODE_8023AD)
        return explain_mode(netdev, bond->mode);
    error = list_legs(bond);
    if (error == 0 && bond->leg_count == 0)
        error = sv_explain(ENETDOWN, "the bond '%s' has no interfaces: ip link set dev INTERFACE master %s", netdev,
                           netdev);
    if (error == 0 && bond->leg_count > SV_BPF_MAX_LEGS)
        error = sv_explain(EOPNOTSUPP, "the bond '%s' has more than %d interfaces, the maximum of this mode: use "
                           "SOFTVERBS_XDP_MODE=tap", netdev, SV_BPF_MAX_LEGS);
    return error;
}

/* ---- flows ---- */

static uint64_t mix_bytes(uint64_t hash, const uint8_t *from, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; at += sizeof(uint32_t)) {
        uint32_t word = 0;
        memcpy(&word, from + at, bytes - at < sizeof word ? bytes - at : sizeof word);
        hash = sv_hash_mix(hash, word);
    }
    return hash;
}

static bool has_ports(uint8_t protocol)
{
    return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
}

static bool is_fragment(const uint8_t *ip)
{
    return ((ip[SV_IPV4_FRAGMENT_AT] << 8 | ip[SV_IPV4_FRAGMENT_AT + 1]) & SV_IPV4_FRAGMENT_BITS) != 0;
}

/* With the ports of datagrams and segments, unless they are fragments: only the first one has the ports. */
static uint64_t mix_ipv4(uint64_t hash, const uint8_t *ip, uint32_t length, bool with_ports)
{
    uint32_t header = (ip[0] & 15u) * 4;
    hash = mix_bytes(hash, ip + SV_IPV4_SOURCE_AT, 2 * 4);
    if (with_ports && has_ports(ip[SV_IPV4_PROTOCOL_AT]) && !is_fragment(ip) && length >= header + 4)
        hash = mix_bytes(hash, ip + header, 4);
    return hash;
}

static uint64_t mix_ipv6(uint64_t hash, const uint8_t *ip, uint32_t length, bool with_ports)
{
    hash = mix_bytes(hash, ip + SV_IPV6_SOURCE_AT, 2 * 16);
    if (with_ports && has_ports(ip[SV_IPV6_NEXT_HEADER_AT]) && length >= SV_IPV6_HLEN + 4)
        hash = mix_bytes(hash, ip + SV_IPV6_HLEN, 4);
    return hash;
}

/*
 * With policy layer2, and for frames without IP, the Ethernet header decides. With vlan+srcmac the source address alone
 * decides: the kernel reads the VLAN beside the frame, and a frame of an AF_XDP socket has none there.
 */
static uint64_t mix_headers(uint32_t policy, const uint8_t *frame, uint32_t length)
{
    const uint8_t *ip = frame + ETH_HLEN;
    uint16_t type = (uint16_t)(frame[SV_ETHERTYPE_AT] << 8 | frame[SV_ETHERTYPE_AT + 1]);
    bool is_ipv4 = type == ETH_P_IP && length >= ETH_HLEN + SV_IPV4_HLEN;
    bool is_ipv6 = type == ETH_P_IPV6 && length >= ETH_HLEN + SV_IPV6_HLEN;
    bool with_ports = policy == BOND_XMIT_POLICY_LAYER34 || policy == BOND_XMIT_POLICY_ENCAP34;
    if (policy == BOND_XMIT_POLICY_VLAN_SRCMAC)
        return mix_bytes(0, frame + ETH_ALEN, ETH_ALEN);
    uint64_t hash = with_ports && (is_ipv4 || is_ipv6) ? 0 : mix_bytes(0, frame, ETH_HLEN);
    if (policy == BOND_XMIT_POLICY_LAYER2)
        return hash;
    return is_ipv4 ? mix_ipv4(hash, ip, length - ETH_HLEN, with_ports)
         : is_ipv6 ? mix_ipv6(hash, ip, length - ETH_HLEN, with_ports)
                   : hash;
}

uint32_t sv_bond_hash_flow(uint32_t policy, const uint8_t *frame, uint32_t length)
{
    return (uint32_t)(mix_headers(policy, frame, length) >> 32);
}
