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

struct neighbor_request {
    struct nlmsghdr header;
    struct ndmsg message;
    struct rtattr attribute;
    uint8_t address[16];
};

struct neighbor_answer {
    struct nlmsghdr header;
    union {
        struct nlmsgerr error;
        struct ndmsg neighbor;
    };
    uint8_t rest[1024];
};

/* The kernel answers before send() returns. Returns 0 or an errno, also one of the kernel's. */
static int ask_rtnetlink(int fd, const struct neighbor_request *request, struct neighbor_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    ssize_t got = send(fd, request, request->header.nlmsg_len, 0);
    if (got >= 0)
        got = recv(fd, answer, sizeof *answer, 0);
    if (got < 0)
        return errno;
    if ((size_t)got < NLMSG_LENGTH(sizeof(int)))
        return EPROTO;
    return answer->header.nlmsg_type == NLMSG_ERROR ? -answer->error.error : 0;
}

/*
 * NTF_USE starts ARP or neighbour discovery without a packet to send, and sets no address. An entry made by hand is left
 * alone: the kernel would forget that it is permanent (NEIGH_UPDATE_F_USE), and the address with it.
 */
static int use_neighbor(int fd, struct neighbor_request *request)
{
    struct neighbor_answer answer;
    request->header.nlmsg_type = RTM_GETNEIGH;
    request->header.nlmsg_flags = NLM_F_REQUEST;
    request->message.ndm_flags = 0;
    int error = ask_rtnetlink(fd, request, &answer);
    if (error == 0 && answer.header.nlmsg_type == RTM_NEWNEIGH && (answer.neighbor.ndm_state & NUD_PERMANENT))
        return 0;
    request->header.nlmsg_type = RTM_NEWNEIGH;
    request->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
    request->message.ndm_flags = NTF_USE;
    return ask_rtnetlink(fd, request, &answer);
}

int solicit(const struct policy *policy, const struct policy_user *user, const struct sv_broker_solicit *wanted)
{
    char netdev[IFNAMSIZ];
    struct neighbor_request request;
    size_t bytes = wanted->family == AF_INET ? 4 : 16;
    if (wanted->family != AF_INET && wanted->family != AF_INET6)
        return sv_explain(EAFNOSUPPORT, "next hops have IPv4 or IPv6 addresses");
    if (if_indextoname(wanted->ifindex, netdev) == NULL || !policy_has_interface(policy, user, netdev))
        return sv_explain(EACCES, "the policy does not grant user %u the interface of this next hop", user->uid);
    memset(&request, 0, sizeof request);
    request.header.nlmsg_len = (uint32_t)(offsetof(struct neighbor_request, address) + bytes);
    request.message.ndm_family = (uint8_t)wanted->family;
    request.message.ndm_ifindex = (int)wanted->ifindex;
    request.attribute.rta_len = (unsigned short)RTA_LENGTH(bytes);
    request.attribute.rta_type = NDA_DST;
    memcpy(request.address, wanted->address, bytes);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    int error = fd < 0 ? errno : use_neighbor(fd, &request);
    if (fd >= 0)
        close(fd);
    return error == 0 ? 0 : sv_explain(error, "the kernel does not resolve a next hop on '%s': %s", netdev,
                                       strerror(error));
}
