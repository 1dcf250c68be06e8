/* SPDX-License-Identifier: Apache-2.0 */
/* See grant.h. */
#include "grant.h"

#include "receive_filter.h"
#include "refusal.h"
#include "xdp_queue.h"

#include <errno.h>
#include <linux/if_arp.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif

/* ---- sockets ---- */

/* Binding it to another interface than this fails from now on, and only CAP_NET_RAW could change that. */
static int open_confined(const char *netdev, int *fd)
{
    *fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return errno;
    if (setsockopt(*fd, SOL_SOCKET, SO_BINDTODEVICE, netdev, (socklen_t)strlen(netdev)) == 0)
        return 0;
    int error = errno;
    close(*fd);
    *fd = -1;
    return error;
}

/* xsk_bind() looks at the socket's device first, and answers EINVAL; without that it finds no such interface. */
bool grant_is_confined(void)
{
    struct sockaddr_xdp nowhere = {.sxdp_family = AF_XDP, .sxdp_ifindex = INT32_MAX};
    int fd;
    if (open_confined("lo", &fd) != 0)
        return false;
    bool confined = bind(fd, (struct sockaddr *)&nowhere, sizeof nowhere) != 0 && errno == EINVAL;
    close(fd);
    return confined;
}

bool grant_may_use_bpf(void)
{
    static const uint8_t mac[6];
    struct sv_steering *steering;
    if (sv_steering_open(&steering, mac, true) != 0)
        return false;
    sv_steering_close(steering);
    return true;
}

/* ---- opening ---- */

static int read_mac(struct grant *grant)
{
    struct ifreq request;
    memset(&request, 0, sizeof request);
    memcpy(request.ifr_name, grant->netdev, sizeof request.ifr_name);
    if (ioctl(grant->members, SIOCGIFHWADDR, &request) != 0)
        return errno;
    int type = request.ifr_hwaddr.sa_family;
    if (type != ARPHRD_ETHER && type != ARPHRD_LOOPBACK)
        return EOPNOTSUPP;
    memcpy(grant->mac, request.ifr_hwaddr.sa_data, sizeof grant->mac);
    return 0;
}

static int find_interface(struct grant *grant)
{
    /* Protocol 0: it receives nothing. */
    grant->members = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (grant->members < 0)
        return sv_explain(errno, "the broker has no CAP_NET_RAW");
    grant->ifindex = (int)if_nametoindex(grant->netdev);
    if (grant->ifindex == 0)
        return sv_explain(ENODEV, "there is no network interface '%s' in the broker's network namespace", grant->netdev);
    int error = read_mac(grant);
    return error == 0 ? 0 : sv_explain(error, "'%s' is not an Ethernet interface", grant->netdev);
}

static int open_sockets(struct grant *grant, uint32_t queues, int *fds, unsigned *count)
{
    for (uint32_t queue = 0; queue < queues; queue++) {
        for (int i = 0; i < SV_STEER_SOCKETS; i++) {
            int error = open_confined(grant->netdev, &fds[*count]);
            if (error != 0)
                return sv_explain(error, "AF_XDP sockets for '%s' can't be made: the kernel must be built with "
                                  "CONFIG_XDP_SOCKETS", grant->netdev);
            ++*count;
        }
        int error = sv_steering_set_sockets(grant->steering, queue, fds[*count - 2], fds[*count - 1]);
        if (error != 0)
            return sv_explain(error, "AF_XDP sockets for '%s' can't be put into their map", grant->netdev);
    }
    return 0;
}

static int attach(struct grant *grant, const struct sv_broker_open *wanted)
{
    enum sv_xdp_mode mode = wanted->mode == SV_BROKER_GENERIC ? SV_XDP_GENERIC
                            : sv_xdp_is_jumbo(wanted->mtu) ? SV_XDP_NATIVE_FRAGS : SV_XDP_NATIVE;
    int link = sv_steering_attach(grant->steering, SV_PROGRAM_XDP, grant->ifindex, mode);
    if (link < 0 && sv_explain_verifier(-link))
        return link;
    if (link >= 0)
        return link;
    if (link == -EBUSY || link == -EEXIST)
        return -sv_explain(EBUSY, "'%s' has an XDP program already: another process uses it, or 'ip link set dev %s xdp "
                           "off' removes it", grant->netdev, grant->netdev);
    return -sv_explain(-link, "the XDP program can't be put on '%s' (%s mode)%s", grant->netdev,
                       mode == SV_XDP_GENERIC ? "generic" : "native",
                       mode == SV_XDP_GENERIC ? "" : ": its driver may have none; generic mode wants none");
}

/* The link comes first among the descriptors, and is made last. */
static int make_device(struct grant *grant, const struct sv_broker_open *wanted, int *fds, unsigned *count)
{
    int error = find_interface(grant);
    if (error == 0)
        error = sv_steering_open(&grant->steering, grant->mac, true);
    if (error != 0)
        return error;
    fds[SV_BROKER_LINK] = -1;
    sv_steering_shared(grant->steering, fds + SV_BROKER_MAPS);
    *count = SV_BROKER_SOCKETS;
    error = open_sockets(grant, wanted->queues, fds, count);
    if (error != 0)
        return error;
    int link = attach(grant, wanted);
    fds[SV_BROKER_LINK] = link;
    if (link < 0)
        return -link;
    error = sv_steering_seal(grant->steering);
    return error == 0 ? 0 : sv_explain(error, "the programs for '%s' can't be sealed: BPF_MAP_FREEZE failed",
                                       grant->netdev);
}

/* The maps among the descriptors are the grant's. */
static void close_sent(int *fds, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if ((i < SV_BROKER_MAPS || i >= SV_BROKER_SOCKETS) && fds[i] >= 0)
            close(fds[i]);
}

int grant_open(struct grant *grant, const struct sv_broker_open *wanted, int fds[SV_BROKER_MAX_FDS], unsigned *count)
{
    *count = 0;
    memset(grant, 0, sizeof *grant);
    grant->open = true;
    grant->mode = wanted->mode;
    memcpy(grant->netdev, wanted->netdev, sizeof grant->netdev);
    int error = make_device(grant, wanted, fds, count);
    if (error != 0) {
        close_sent(fds, *count);
        *count = 0;
        grant_close(grant);
    }
    return error;
}

void grant_sent(struct grant *grant, int fds[SV_BROKER_MAX_FDS], unsigned count)
{
    close_sent(fds, count);
    sv_steering_keep_rules(grant->steering);
}

void grant_close(struct grant *grant)
{
    if (!grant->open)
        return;
    sv_steering_close(grant->steering);
    if (grant->members >= 0)
        close(grant->members);
    memset(grant, 0, sizeof *grant);
}

/* ---- rules ---- */

static bool is_of(const struct sv_broker_rule *rule, enum sv_layers layer)
{
    return (rule->mask.outer.layers & rule->value.outer.layers & layer) != 0;
}

static struct policy_place place_of(const struct grant *grant)
{
    return (struct policy_place){.netdev = grant->netdev, .modes = 1u << grant->mode};
}

/*
 * With ports of its own a user may have rules that name one of them, and TCP or UDP, so that they take nothing else.
 * Addresses are not looked at.
 */
static int check_port(const struct grant *grant, const struct policy *policy, const struct policy_user *user,
                      const struct sv_broker_rule *rule)
{
    const struct policy_place place = place_of(grant);
    if (policy_has_any_port(policy, user, &place))
        return 0;
    bool tcp = is_of(rule, SV_LAYER_TCP);
    if (rule->mask.outer.dst_port != 0xffff || tcp == is_of(rule, SV_LAYER_UDP))
        return sv_explain(EACCES, "the policy grants user %u ports of '%s', and the rule names no port", user->uid,
                          grant->netdev);
    uint16_t port = ntohs(rule->value.outer.dst_port);
    if (policy_has_port(policy, user, &place, tcp ? IPPROTO_TCP : IPPROTO_UDP, port))
        return 0;
    return sv_explain(EACCES, "the policy does not grant user %u %s port %u of '%s'", user->uid, tcp ? "TCP" : "UDP",
                      port, grant->netdev);
}

/* The value under the mask, so that what was checked is what is matched. */
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
    if (rule->type == IBV_FLOW_ATTR_NORMAL && rule->continues == 0)
        return 0;
    return sv_explain(EOPNOTSUPP, "rules that want copies come by packet sockets, which a broker does not hand out");
}

static int receive_filter_of(struct grant *grant, const struct sv_rule_spec *spec)
{
    int filter = sv_receive_filter_type(spec, grant->mac);
    /* The interface may have this address since a moment ago, and the client has not said so yet. */
    if (filter == PACKET_MR_UNICAST && grant_mac_changed(grant) == 0)
        filter = sv_receive_filter_type(spec, grant->mac);
    return filter;
}

/* Also by one more unicast address, where the interface has no filter for them (IFF_UNICAST_FLT of the kernel). */
static bool may_make_promiscuous(int filter)
{
    return filter == PACKET_MR_PROMISC || filter == PACKET_MR_UNICAST;
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
    int filter = receive_filter_of(grant, &spec);
    const struct policy_place place = place_of(grant);
    if (may_make_promiscuous(filter) && !policy_has_any_port(policy, user, &place))
        return sv_explain(EACCES, "a rule on a MAC address that is not its own can make '%s' promiscuous, which wants "
                          "ports=any", grant->netdev);
    if (grant->rules == GRANT_MAX_RULES)
        return sv_explain(ENOMEM, "a device has at most %d rules", GRANT_MAX_RULES);
    if (filter >= 0 && grant->memberships == GRANT_MAX_MEMBERSHIPS)
        return sv_explain(ENOMEM, "a device has at most %d rules on MAC addresses that are not its own",
                          GRANT_MAX_MEMBERSHIPS);
    error = sv_steering_add(grant->steering, &spec);
    if (error != 0)
        return sv_explain(error, "the rule can't be added: %s", strerror(error));
    grant->rules++;
    grant->memberships += filter >= 0;
    sv_receive_filter_change(grant->members, grant->ifindex, filter, spec.value.outer.dst_mac, PACKET_ADD_MEMBERSHIP);
    return 0;
}

int grant_remove_rule(struct grant *grant, const struct sv_broker_rule *rule)
{
    int error = check_kind(rule);
    if (error != 0)
        return error;
    const struct sv_rule_spec spec = spec_of(rule);
    if (!sv_steering_remove(grant->steering, &spec))
        return sv_explain(ENOENT, "there is no such rule");
    int filter = sv_receive_filter_type(&spec, grant->mac);
    grant->rules -= grant->rules > 0;
    grant->memberships -= filter >= 0 && grant->memberships > 0;
    sv_receive_filter_change(grant->members, grant->ifindex, filter, spec.value.outer.dst_mac, PACKET_DROP_MEMBERSHIP);
    return 0;
}

int grant_mac_changed(struct grant *grant)
{
    int error = read_mac(grant);
    if (error != 0)
        return sv_explain(error, "the address of '%s' can't be read", grant->netdev);
    sv_steering_set_mac(grant->steering, grant->mac);
    return 0;
}
