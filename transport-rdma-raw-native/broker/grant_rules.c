/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a granted device: see grant.h. */
#include "grant.h"

#include "bpf.h"
#include "netdev_port.h"
#include "sockets.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static bool is_of(const struct sv_broker_rule *rule, enum sv_layers layer)
{
    return (rule->mask.outer.layers & rule->value.outer.layers & layer) != 0;
}

static struct policy_scope scope_of(const struct grant *grant)
{
    return (struct policy_scope){.netdev = grant->netdev, .modes = 1u << grant->mode};
}

/*
 * Checks the port of a rule. With a grant of certain ports, a user may have rules that name one of them and TCP or UDP,
 * so that they take nothing else. Addresses are not checked.
 */
static int check_port(const struct grant *grant, const struct policy *policy, const struct policy_user *user,
                      const struct sv_broker_rule *rule)
{
    const struct policy_scope scope = scope_of(grant);
    if (policy_has_any_port(policy, user, &scope))
        return 0;
    bool tcp = is_of(rule, SV_LAYER_TCP);
    if (rule->mask.outer.dst_port != 0xffff || tcp == is_of(rule, SV_LAYER_UDP))
        return sv_explain(EACCES, "the policy grants user %u ports of '%s', and the rule names no port", user->uid,
                          grant->netdev);
    uint16_t port = ntohs(rule->value.outer.dst_port);
    if (policy_has_port(policy, user, &scope, tcp ? IPPROTO_TCP : IPPROTO_UDP, port))
        return 0;
    return sv_explain(EACCES, "the policy does not grant user %u %s port %u of '%s'", user->uid, tcp ? "TCP" : "UDP",
                      port, grant->netdev);
}

/*
 * Returns true if the rule names only fields that the library's rules name. Others would make each frame of the
 * interface more expensive: fields inside a tunnel disable the programs' caches, and fields that differ from frame to
 * frame fill them.
 */
static bool names_known_fields(const union sv_key *mask)
{
    static const union sv_key known = {.outer = {
        .dst_mac = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, .ether_type = 0xffff, .vlan_tag = 0xffff,
        .src_ip = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
        .dst_ip = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
        .src_port = 0xffff, .dst_port = 0xffff, .protocol = 0xff, .vlan_ether_type = 0xffff,
        .layers = SV_LAYER_IPV4 | SV_LAYER_IPV6 | SV_LAYER_VLAN | SV_LAYER_TCP | SV_LAYER_UDP}};
    uint64_t beyond = 0;
    for (int i = 0; i < SV_KEY_WORDS; i++)
        beyond |= mask->words[i] & ~known.words[i];
    return beyond == 0;
}

/* Limits the subtables. Each pair of priority and mask costs a look-up for each frame that is not cached. */
static int check_subtable(const struct grant *grant, const struct policy *policy, const struct policy_user *user,
                          const struct sv_rule_spec *spec)
{
    const struct policy_scope scope = scope_of(grant);
    if (policy_has_any_port(policy, user, &scope))
        return 0;
    if (!names_known_fields(&spec->mask))
        return sv_explain(EACCES, "a rule that names more than MAC address, VLAN, addresses, protocol and ports needs "
                          "ports=any in the policy");
    if (!sv_kernel_steering_has_subtable(grant->steering, spec) &&
        sv_kernel_steering_live_subtable_count(grant->steering) >= GRANT_MAX_SUBTABLES)
        return sv_explain(ENOMEM, "a device has rules of at most %d kinds (priority and fields) without ports=any",
                          GRANT_MAX_SUBTABLES);
    return 0;
}

/* Masks the value, so that the matched value is the checked one. */
static struct sv_rule_spec spec_of(const struct sv_broker_rule *rule)
{
    struct sv_rule_spec spec = {.type = IBV_FLOW_ATTR_NORMAL, .priority = rule->priority,
                                .multicast = rule->multicast != 0, .mask = rule->mask};
    for (int i = 0; i < SV_KEY_WORDS; i++)
        spec.value.words[i] = rule->value.words[i] & rule->mask.words[i];
    return spec;
}

static int check_kind(const struct sv_broker_rule *rule)
{
    if (rule->type == IBV_FLOW_ATTR_NORMAL && rule->dont_trap == 0)
        return 0;
    return sv_explain(EOPNOTSUPP, "rules for copies need packet sockets, which a broker does not hand out");
}

static int mac_filter_type_of(struct grant *grant, const struct sv_rule_spec *spec)
{
    int filter = sv_mac_filter_type(spec, grant->mac);
    /* The interface may have had this address for a moment, and the client has not reported it yet. */
    if (filter == PACKET_MR_UNICAST && grant_update_mac(grant) == 0)
        filter = sv_mac_filter_type(spec, grant->mac);
    return filter;
}

static void add_membership(struct grant *grant, int type, const uint8_t mac[6])
{
    if (type < 0)
        return;
    struct grant_membership *membership = &grant->membership[grant->membership_count++];
    membership->type = type;
    memcpy(membership->mac, mac, sizeof membership->mac);
    sv_mac_filter_change(grant->mac_filter_fd, grant->ifindex, type, mac, PACKET_ADD_MEMBERSHIP);
}

/* The address may be the interface's own by now, although it was not when the rule was added. */
static void drop_membership(struct grant *grant, const struct sv_rule_spec *spec)
{
    static const uint8_t nobody[6];
    int type = sv_mac_filter_type(spec, nobody);
    for (uint32_t i = 0; i < grant->membership_count; i++) {
        struct grant_membership *membership = &grant->membership[i];
        if (membership->type != type || memcmp(membership->mac, spec->value.outer.dst_mac, sizeof membership->mac) != 0)
            continue;
        sv_mac_filter_change(grant->mac_filter_fd, grant->ifindex, type, membership->mac, PACKET_DROP_MEMBERSHIP);
        *membership = grant->membership[--grant->membership_count];
        return;
    }
}

/*
 * Returns true if the filter entry may make the interface promiscuous. One more unicast address may do so too, if the
 * interface has no filter for them (IFF_UNICAST_FLT of the kernel).
 */
static bool may_make_promiscuous(int filter)
{
    return filter == PACKET_MR_PROMISC || filter == PACKET_MR_UNICAST;
}

bool grant_rule_is_slow(const struct grant *grant, const struct sv_broker_rule *rule)
{
    const struct sv_rule_spec spec = spec_of(rule);
    return grant->in_use && !sv_kernel_steering_has_subtable(grant->steering, &spec);
}

int grant_add_rule(struct grant *grant, const struct policy *policy, const struct policy_user *user,
                   const struct sv_broker_rule *rule)
{
    int error = check_kind(rule);
    if (error == 0)
        error = check_port(grant, policy, user, rule);
    if (error != 0)
        return error;
    const struct sv_rule_spec spec = spec_of(rule);
    error = check_subtable(grant, policy, user, &spec);
    if (error != 0)
        return error;
    int filter = mac_filter_type_of(grant, &spec);
    const struct policy_scope scope = scope_of(grant);
    if (may_make_promiscuous(filter) && !policy_has_any_port(policy, user, &scope))
        return sv_explain(EACCES, "a rule on a foreign MAC address can make '%s' promiscuous, which needs ports=any in "
                          "the policy", grant->netdev);
    if (grant->rule_count == GRANT_MAX_RULES)
        return sv_explain(ENOMEM, "a device has at most %d rules", GRANT_MAX_RULES);
    if (filter >= 0 && grant->membership_count == GRANT_MAX_MEMBERSHIPS)
        return sv_explain(ENOMEM, "a device has at most %d rules on foreign MAC addresses",
                          GRANT_MAX_MEMBERSHIPS);
    error = sv_kernel_steering_add(grant->steering, &spec);
    if (error != 0)
        return sv_explain(error, "the rule can't be added: %s", strerror(error));
    grant->rule_count++;
    add_membership(grant, filter, spec.value.outer.dst_mac);
    return 0;
}

int grant_remove_rule(struct grant *grant, const struct sv_broker_rule *rule)
{
    int error = check_kind(rule);
    if (error != 0)
        return error;
    const struct sv_rule_spec spec = spec_of(rule);
    if (!sv_kernel_steering_remove(grant->steering, &spec))
        return sv_explain(ENOENT, "there is no such rule");
    grant->rule_count -= grant->rule_count > 0;
    drop_membership(grant, &spec);
    return 0;
}

int grant_update_mac(struct grant *grant)
{
    int error = interface_mac(grant->mac_filter_fd, grant->netdev, grant->mac);
    if (error != 0)
        return sv_explain(error, "the address of '%s' can't be read", grant->netdev);
    sv_kernel_steering_set_mac(grant->steering, grant->mac);
    return 0;
}
