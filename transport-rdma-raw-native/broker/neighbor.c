/* SPDX-License-Identifier: Apache-2.0 */
/* See neighbor.h. */
#include "neighbor.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Minimum time for which the kernel keeps an unanswered entry. */
enum { UNANSWERED_MILLIS = 5000 };

#ifndef NUD_VALID
#define NUD_VALID (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY)
#endif
#ifndef RTM_F_FIB_MATCH
#define RTM_F_FIB_MATCH 0x2000
#endif

struct neighbor_request {
    struct nlmsghdr header;
    struct ndmsg message;
    struct rtattr attribute;
    uint8_t address[16];
};

/* The first attribute is the interface, because its length is constant. */
struct route_request {
    struct nlmsghdr header;
    struct rtmsg message;
    struct rtattr interface_attribute;
    uint32_t interface;
    struct rtattr destination_attribute;
    uint8_t destination[16];
};

struct netlink_answer {
    struct nlmsghdr header;
    union {
        struct nlmsgerr error;
        struct ndmsg neighbor;
        struct rtmsg route;
    };
    uint8_t rest[4096];
};

/* The kernel answers before send() returns. Returns 0 or an errno, either of the call or in the answer. */
static int rtnl_transact(int fd, const void *request, size_t bytes, struct netlink_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    ssize_t got = send(fd, request, bytes, 0);
    if (got >= 0)
        got = recv(fd, answer, sizeof *answer, 0);
    if (got < 0)
        return errno;
    if ((size_t)got < NLMSG_LENGTH(sizeof(int)) || answer->header.nlmsg_len > (size_t)got)
        return EPROTO;
    return answer->header.nlmsg_type == NLMSG_ERROR ? -answer->error.error : 0;
}

static size_t address_bytes(const struct sv_broker_solicit *wanted)
{
    return wanted->family == AF_INET ? 4 : 16;
}

static void fill_neighbor(struct neighbor_request *request, const struct sv_broker_solicit *wanted)
{
    size_t bytes = address_bytes(wanted);
    memset(request, 0, sizeof *request);
    request->header.nlmsg_len = (uint32_t)(offsetof(struct neighbor_request, address) + bytes);
    request->message.ndm_family = (uint8_t)wanted->family;
    request->message.ndm_ifindex = (int)wanted->ifindex;
    request->attribute.rta_len = (unsigned short)RTA_LENGTH(bytes);
    request->attribute.rta_type = NDA_DST;
    memcpy(request->address, wanted->address, bytes);
}

/* Returns the state of an entry (NUD_*), or NUD_NONE. */
static uint16_t state_of(int fd, const struct sv_broker_solicit *wanted)
{
    struct neighbor_request request;
    struct netlink_answer answer;
    fill_neighbor(&request, wanted);
    request.header.nlmsg_type = RTM_GETNEIGH;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    int error = rtnl_transact(fd, &request, request.header.nlmsg_len, &answer);
    return error == 0 && answer.header.nlmsg_type == RTM_NEWNEIGH ? answer.neighbor.ndm_state : NUD_NONE;
}

/* NTF_USE starts ARP or neighbour discovery without a packet to send, and sets no address. */
static int use_neighbor(int fd, const struct sv_broker_solicit *wanted)
{
    struct neighbor_request request;
    struct netlink_answer answer;
    fill_neighbor(&request, wanted);
    request.header.nlmsg_type = RTM_NEWNEIGH;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
    request.message.ndm_flags = NTF_USE;
    return rtnl_transact(fd, &request, request.header.nlmsg_len, &answer);
}

/* ---- routes ---- */

static bool is_address(const struct rtattr *attribute, const struct sv_broker_solicit *wanted)
{
    return RTA_PAYLOAD(attribute) == address_bytes(wanted) &&
           memcmp(RTA_DATA(attribute), wanted->address, address_bytes(wanted)) == 0;
}

/* Returns true if the address is the gateway of these attributes, or if they have none. */
static bool is_next_hop(const struct rtattr *at, int bytes, const struct sv_broker_solicit *wanted)
{
    for (; RTA_OK(at, bytes); at = RTA_NEXT(at, bytes)) {
        if (at->rta_type == RTA_GATEWAY)
            return is_address(at, wanted);
        if (at->rta_type == RTA_VIA)
            return false;
    }
    return true;
}

static bool is_next_hop_of_several(const struct rtattr *several, const struct sv_broker_solicit *wanted)
{
    const struct rtnexthop *hop = RTA_DATA(several);
    for (int left = (int)RTA_PAYLOAD(several); RTNH_OK(hop, left); hop = RTNH_NEXT(hop)) {
        if ((uint32_t)hop->rtnh_ifindex == wanted->ifindex &&
            is_next_hop(RTNH_DATA(hop), (int)(hop->rtnh_len - RTNH_LENGTH(0)), wanted))
            return true;
        left -= (int)RTNH_ALIGN(hop->rtnh_len);
    }
    return false;
}

/*
 * Returns true if the interface's route to the address leads directly to it. Otherwise the kernel would never resolve
 * it, and any address could fill its table.
 */
static bool is_on_link(int fd, const struct sv_broker_solicit *wanted)
{
    struct route_request request;
    struct netlink_answer answer;
    size_t bytes = address_bytes(wanted);
    memset(&request, 0, sizeof request);
    request.header.nlmsg_len = (uint32_t)(offsetof(struct route_request, destination) + bytes);
    request.header.nlmsg_type = RTM_GETROUTE;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.message.rtm_family = (uint8_t)wanted->family;
    request.message.rtm_dst_len = (uint8_t)(bytes * 8);
    request.message.rtm_flags = RTM_F_FIB_MATCH;
    request.interface_attribute.rta_len = (unsigned short)RTA_LENGTH(sizeof request.interface);
    request.interface_attribute.rta_type = RTA_OIF;
    request.interface = wanted->ifindex;
    request.destination_attribute.rta_len = (unsigned short)RTA_LENGTH(bytes);
    request.destination_attribute.rta_type = RTA_DST;
    memcpy(request.destination, wanted->address, bytes);
    int error = rtnl_transact(fd, &request, request.header.nlmsg_len, &answer);
    if (error != 0 || answer.header.nlmsg_type != RTM_NEWROUTE || answer.route.rtm_type != RTN_UNICAST)
        return false;
    const struct rtattr *first = RTM_RTA(&answer.route);
    int left = (int)RTM_PAYLOAD(&answer.header);
    for (const struct rtattr *at = first; RTA_OK(at, left); at = RTA_NEXT(at, left))
        if (at->rta_type == RTA_MULTIPATH)
            return is_next_hop_of_several(at, wanted);
    return is_next_hop(first, (int)RTM_PAYLOAD(&answer.header), wanted);
}

/* ---- unanswered next hops ---- */

static bool is_same(const struct sv_broker_solicit *a, const struct sv_broker_solicit *b)
{
    return a->ifindex == b->ifindex && a->family == b->family && memcmp(a->address, b->address, address_bytes(a)) == 0;
}

/* Removes entries that were answered or that the kernel has removed. */
static void drop_answered(int fd, struct neighbor_budget *budget, int64_t now_millis)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < budget->count; i++)
        if (now_millis < budget->pending[i].deadline_millis && !(state_of(fd, &budget->pending[i].hop) & NUD_VALID))
            budget->pending[kept++] = budget->pending[i];
    budget->count = kept;
}

/* Returns false if too many next hops of this user are unanswered. */
static bool reserve_pending(int fd, struct neighbor_budget *budget, const struct sv_broker_solicit *wanted,
                       int64_t now_millis)
{
    for (unsigned i = 0; i < budget->count; i++)
        if (is_same(&budget->pending[i].hop, wanted)) {
            budget->pending[i].deadline_millis = now_millis + UNANSWERED_MILLIS;
            return true;
        }
    if (budget->count == NEIGHBOR_MAX_PENDING)
        drop_answered(fd, budget, now_millis);
    if (budget->count == NEIGHBOR_MAX_PENDING)
        return false;
    budget->pending[budget->count].hop = *wanted;
    budget->pending[budget->count++].deadline_millis = now_millis + UNANSWERED_MILLIS;
    return true;
}

/*
 * A permanent entry is left alone: the kernel would forget that it is permanent (NEIGH_UPDATE_F_USE), and its address.
 */
static int resolve(int fd, const char *netdev, const struct sv_broker_solicit *wanted, struct neighbor_budget *budget,
                   int64_t now_millis)
{
    uint16_t state = state_of(fd, wanted);
    if (state & NUD_PERMANENT)
        return 0;
    if (!(state & NUD_VALID) && !is_on_link(fd, wanted))
        return sv_explain(EHOSTUNREACH, "'%s' has no direct route to this next hop", netdev);
    if (!(state & NUD_VALID) && !reserve_pending(fd, budget, wanted, now_millis))
        return sv_explain(EAGAIN, "%d next hops of this user have not answered yet", NEIGHBOR_MAX_PENDING);
    int error = use_neighbor(fd, wanted);
    return error == 0 ? 0 : sv_explain(error, "the kernel does not resolve a next hop on '%s': %s", netdev,
                                       strerror(error));
}

int neighbor_solicit(const struct policy *policy, const struct policy_user *user,
                     const struct sv_broker_solicit *wanted, struct neighbor_budget *budget, int64_t now_millis)
{
    char netdev[IFNAMSIZ];
    if (wanted->family != AF_INET && wanted->family != AF_INET6)
        return sv_explain(EAFNOSUPPORT, "next hops have IPv4 or IPv6 addresses");
    if (if_indextoname(wanted->ifindex, netdev) == NULL || !policy_has_interface(policy, user, netdev))
        return sv_explain(EACCES, "the policy does not grant user %u the interface of this next hop", user->uid);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (fd < 0)
        return sv_explain(errno, "the kernel can't be queried about next hops: %s", strerror(errno));
    int error = resolve(fd, netdev, wanted, budget, now_millis);
    close(fd);
    return error;
}
