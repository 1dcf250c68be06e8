/* SPDX-License-Identifier: Apache-2.0 */
/* See link_query.h. */
#include "link_query.h"

#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- attributes ---- */

static const struct rtattr *find_attribute(const struct rtattr *at, size_t bytes, unsigned short type)
{
    for (int left = (int)bytes; RTA_OK(at, left); at = RTA_NEXT(at, left))
        if ((at->rta_type & NLA_TYPE_MASK) == type)
            return at;
    return NULL;
}

const struct rtattr *sv_link_attribute(const struct nlmsghdr *link, unsigned short type)
{
    return find_attribute(IFLA_RTA((const struct ifinfomsg *)NLMSG_DATA(link)), IFLA_PAYLOAD(link), type);
}

const struct rtattr *sv_link_nested(const struct rtattr *outer, unsigned short type)
{
    return outer == NULL ? NULL : find_attribute(RTA_DATA(outer), RTA_PAYLOAD(outer), type);
}

uint32_t sv_link_number(const struct rtattr *attribute, uint32_t otherwise)
{
    uint8_t byte;
    uint16_t half;
    uint32_t word;
    switch (attribute == NULL ? 0 : RTA_PAYLOAD(attribute)) {
    case sizeof byte:
        memcpy(&byte, RTA_DATA(attribute), sizeof byte);
        return byte;
    case sizeof half:
        memcpy(&half, RTA_DATA(attribute), sizeof half);
        return half;
    case sizeof word:
        memcpy(&word, RTA_DATA(attribute), sizeof word);
        return word;
    default:
        return otherwise;
    }
}

/* ---- requests ---- */

struct request {
    struct nlmsghdr header;
    struct ifinfomsg info;
    struct rtattr master;
    uint32_t master_ifindex;
};

static int send_request(const struct request *request)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0)
        return -errno;
    if (send(fd, request, request->header.nlmsg_len, 0) >= 0)
        return fd;
    int error = errno;
    close(fd);
    return -error;
}

static bool is_link(const struct nlmsghdr *message)
{
    return message->nlmsg_type == RTM_NEWLINK && message->nlmsg_len >= NLMSG_LENGTH(sizeof(struct ifinfomsg));
}

/* Returns the error in the last message of an answer, or 0: NLMSG_ERROR and NLMSG_DONE begin with it. */
static int error_of(const struct nlmsghdr *message)
{
    int error = 0;
    if (message->nlmsg_len >= NLMSG_LENGTH(sizeof error))
        memcpy(&error, NLMSG_DATA(message), sizeof error);
    return -error;
}

/* The kernel answers before send() returns. */
const struct nlmsghdr *sv_link_query(int ifindex, uint8_t answer[SV_LINK_ANSWER_BYTES], int *error)
{
    const struct request request = {
        .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)), .nlmsg_type = RTM_GETLINK,
                   .nlmsg_flags = NLM_F_REQUEST},
        .info = {.ifi_index = ifindex},
    };
    const struct nlmsghdr *link = (const struct nlmsghdr *)answer;
    int fd = send_request(&request);
    ssize_t length = fd < 0 ? -1 : recv(fd, answer, SV_LINK_ANSWER_BYTES, MSG_DONTWAIT);
    *error = fd < 0 ? -fd : length < 0 ? errno : ENODEV;
    if (fd >= 0)
        close(fd);
    if (length < 0 || !NLMSG_OK(link, (size_t)length))
        return NULL;
    if (link->nlmsg_type == NLMSG_ERROR && error_of(link) != 0)
        *error = error_of(link);
    if (!is_link(link))
        return NULL;
    *error = 0;
    return link;
}

/* Handles one part of an answer. Returns false after the last one, or with *error. */
static bool handle_part(const uint8_t *part, ssize_t length, void (*on_link)(void *, const struct nlmsghdr *),
                        void *context, int *error)
{
    for (const struct nlmsghdr *m = (const struct nlmsghdr *)part; NLMSG_OK(m, length); m = NLMSG_NEXT(m, length)) {
        if (m->nlmsg_flags & NLM_F_DUMP_INTR)
            *error = EINTR;
        if (m->nlmsg_type == NLMSG_ERROR || m->nlmsg_type == NLMSG_DONE) {
            int at_end = error_of(m);
            *error = at_end != 0 ? at_end : *error;
            return false;
        }
        if (is_link(m))
            on_link(context, m);
    }
    return true;
}

int sv_link_query_below(int master_ifindex, void (*on_link)(void *context, const struct nlmsghdr *link), void *context)
{
    alignas(struct nlmsghdr) uint8_t part[SV_LINK_ANSWER_BYTES];
    const struct request request = {
        .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .master = {.rta_len = RTA_LENGTH(sizeof request.master_ifindex), .rta_type = IFLA_MASTER},
        .master_ifindex = (uint32_t)master_ifindex,
    };
    int error = 0;
    int fd = send_request(&request);
    if (fd < 0)
        return -fd;
    for (bool more = true; more;) {
        ssize_t length = recv(fd, part, sizeof part, 0);
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            error = length < 0 ? errno : EIO;
        more = length > 0 && handle_part(part, length, on_link, context, &error);
    }
    close(fd);
    return error;
}
