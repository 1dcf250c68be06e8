/* SPDX-License-Identifier: Apache-2.0 */
/* See busy_poll.h. */
#include "busy_poll.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Commands and attributes of include/uapi/linux/netdev.h, which is newer than the headers that this builds with. */
enum { CMD_DEV_GET = 1, CMD_QUEUE_GET = 10, CMD_NAPI_GET = 11, CMD_NAPI_SET = 14 };
enum { DEV_IFINDEX = 1, DEV_XDP_FEATURES = 3, DEV_ZERO_COPY_SEGMENTS = 4, DEV_RX_METADATA = 5, DEV_XSK_FEATURES = 6 };
enum { QUEUE_ID = 1, QUEUE_IFINDEX = 2, QUEUE_TYPE = 3, QUEUE_NAPI = 4, QUEUE_TYPE_RX = 0 };
enum { NAPI_IFINDEX = 1, NAPI_ID = 2, NAPI_DEFER_HARD_IRQS = 5, NAPI_GRO_FLUSH_TIMEOUT = 6 };

enum { MESSAGE_BYTES = 256, ANSWER_BYTES = 8192, TIMEOUT_SECONDS = 2 };

struct message {
    alignas(struct nlmsghdr) uint8_t bytes[MESSAGE_BYTES];
};

/* Sequence number of the last request of any family. A late answer to an earlier request has another one. */
static _Atomic uint32_t last_sequence;

static struct nlmsghdr *header_of(struct message *message)
{
    return (struct nlmsghdr *)message->bytes;
}

static void begin(struct message *message, uint16_t type, uint8_t command)
{
    memset(message, 0, sizeof *message);
    *header_of(message) = (struct nlmsghdr){.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN), .nlmsg_type = type,
                                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
                                            .nlmsg_seq = ++last_sequence};
    *(struct genlmsghdr *)NLMSG_DATA(header_of(message)) = (struct genlmsghdr){.cmd = command, .version = 1};
}

/* Appends an attribute. The message has room for all that are ever appended. */
static void put(struct message *message, uint16_t type, const void *value, uint16_t bytes)
{
    struct nlmsghdr *header = header_of(message);
    struct nlattr attribute = {.nla_len = (uint16_t)(NLA_HDRLEN + bytes), .nla_type = type};
    uint8_t *at = message->bytes + header->nlmsg_len;
    memcpy(at, &attribute, sizeof attribute);
    memcpy(at + NLA_HDRLEN, value, bytes);
    header->nlmsg_len += NLMSG_ALIGN(attribute.nla_len);
}

static void put_number(struct message *message, uint16_t type, uint32_t value)
{
    put(message, type, &value, sizeof value);
}

/* Returns the value of an attribute of 2, 4 or 8 bytes. The kernel writes an "uint" as the shorter of the last two. */
static uint64_t number_in(const struct nlattr *attribute)
{
    const void *value = (const uint8_t *)attribute + NLA_HDRLEN;
    uint16_t two = 0;
    uint32_t four = 0;
    uint64_t eight = 0;
    switch (attribute->nla_len - NLA_HDRLEN) {
    case sizeof two:
        memcpy(&two, value, sizeof two);
        return two;
    case sizeof four:
        memcpy(&four, value, sizeof four);
        return four;
    case sizeof eight:
        memcpy(&eight, value, sizeof eight);
        return eight;
    default:
        return 0;
    }
}

/* Returns true if an answer has the attribute. */
static bool find(const struct nlmsghdr *answer, uint16_t type, uint64_t *value)
{
    const uint8_t *at = (const uint8_t *)NLMSG_DATA(answer) + GENL_HDRLEN;
    const uint8_t *end = (const uint8_t *)answer + answer->nlmsg_len;
    while (end - at >= NLA_HDRLEN) {
        const struct nlattr *attribute = (const struct nlattr *)at;
        if (attribute->nla_len < NLA_HDRLEN || attribute->nla_len > end - at)
            return false;
        if ((attribute->nla_type & NLA_TYPE_MASK) == type) {
            *value = number_in(attribute);
            return true;
        }
        if (NLA_ALIGN(attribute->nla_len) > end - at)
            return false;
        at += NLA_ALIGN(attribute->nla_len);
    }
    return false;
}

/* Returns 0 with the kernel's answer. Its length is 0 if the kernel only confirms the request. */
static int transact(int fd, struct message *message, struct nlmsghdr *answer)
{
    alignas(struct nlmsghdr) uint8_t buffer[ANSWER_BYTES];
    const struct nlmsghdr *request = header_of(message);
    answer->nlmsg_len = 0;
    if (send(fd, request, request->nlmsg_len, 0) != (ssize_t)request->nlmsg_len)
        return errno;
    for (;;) {
        ssize_t length = recv(fd, buffer, sizeof buffer, 0);
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0)
            return errno == EAGAIN ? ETIMEDOUT : errno;
        /* Signed, because a length that is not aligned would end below 0. */
        ssize_t left = length;
        for (const struct nlmsghdr *m = (struct nlmsghdr *)buffer; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
            if (m->nlmsg_seq != request->nlmsg_seq)
                continue;
            if (m->nlmsg_type == NLMSG_ERROR)
                return -((const struct nlmsgerr *)NLMSG_DATA(m))->error;
            if (m->nlmsg_type == request->nlmsg_type && m->nlmsg_len >= NLMSG_LENGTH(GENL_HDRLEN))
                memcpy(answer, m, m->nlmsg_len);
        }
    }
}

union answer {
    struct nlmsghdr header;
    alignas(struct nlmsghdr) uint8_t bytes[ANSWER_BYTES];
};

int sv_netdev_family_open(struct sv_netdev_family *family)
{
    static const char name[] = "netdev";
    const struct timeval timeout = {.tv_sec = TIMEOUT_SECONDS};
    struct message message;
    union answer answer;
    uint64_t id = 0;
    family->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    if (family->fd < 0)
        return errno;
    (void)setsockopt(family->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    begin(&message, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
    put(&message, CTRL_ATTR_FAMILY_NAME, name, sizeof name);
    int error = transact(family->fd, &message, &answer.header);
    if (error == 0 && !find(&answer.header, CTRL_ATTR_FAMILY_ID, &id))
        error = ENOENT;
    if (error != 0)
        sv_netdev_family_close(family);
    family->id = (uint16_t)id;
    return error == ENOENT ? EOPNOTSUPP : error;
}

void sv_netdev_family_close(struct sv_netdev_family *family)
{
    if (family->fd >= 0)
        close(family->fd);
    family->fd = -1;
}

int sv_netdev_get_info(const struct sv_netdev_family *family, int ifindex, struct sv_netdev_info *info)
{
    struct message message;
    union answer answer;
    uint64_t segments = 0;
    memset(info, 0, sizeof *info);
    begin(&message, family->id, CMD_DEV_GET);
    put_number(&message, DEV_IFINDEX, (uint32_t)ifindex);
    int error = transact(family->fd, &message, &answer.header);
    if (error != 0)
        return error;
    (void)find(&answer.header, DEV_XDP_FEATURES, &info->xdp_features);
    (void)find(&answer.header, DEV_RX_METADATA, &info->xdp_rx_metadata);
    (void)find(&answer.header, DEV_XSK_FEATURES, &info->xsk_features);
    if (find(&answer.header, DEV_ZERO_COPY_SEGMENTS, &segments))
        info->zero_copy_segments = (uint32_t)segments;
    return 0;
}

int sv_netdev_get_queue_napi(const struct sv_netdev_family *family, int ifindex, uint32_t queue, uint32_t *napi_id)
{
    struct message message;
    union answer answer;
    uint64_t id = 0;
    begin(&message, family->id, CMD_QUEUE_GET);
    put_number(&message, QUEUE_IFINDEX, (uint32_t)ifindex);
    put_number(&message, QUEUE_TYPE, QUEUE_TYPE_RX);
    put_number(&message, QUEUE_ID, queue);
    int error = transact(family->fd, &message, &answer.header);
    if (error == 0)
        (void)find(&answer.header, QUEUE_NAPI, &id);
    *napi_id = (uint32_t)id;
    return error == EINVAL ? ENOENT : error;
}

int sv_netdev_get_napi(const struct sv_netdev_family *family, uint32_t napi_id, struct sv_napi_settings *settings)
{
    struct message message;
    union answer answer;
    uint64_t defer = 0, ifindex;
    begin(&message, family->id, CMD_NAPI_GET);
    put_number(&message, NAPI_ID, napi_id);
    int error = transact(family->fd, &message, &answer.header);
    if (error != 0)
        return error;
    settings->ifindex = find(&answer.header, NAPI_IFINDEX, &ifindex) ? (int)ifindex : 0;
    if (!find(&answer.header, NAPI_DEFER_HARD_IRQS, &defer) ||
        !find(&answer.header, NAPI_GRO_FLUSH_TIMEOUT, &settings->gro_flush_timeout_nanos))
        return EOPNOTSUPP;
    settings->defer_hard_irqs = (uint32_t)defer;
    return 0;
}

int sv_netdev_set_napi(const struct sv_netdev_family *family, uint32_t napi_id, const struct sv_napi_settings *settings)
{
    struct message message;
    union answer answer;
    begin(&message, family->id, CMD_NAPI_SET);
    put_number(&message, NAPI_ID, napi_id);
    put_number(&message, NAPI_DEFER_HARD_IRQS, settings->defer_hard_irqs);
    put(&message, NAPI_GRO_FLUSH_TIMEOUT, &settings->gro_flush_timeout_nanos,
        sizeof settings->gro_flush_timeout_nanos);
    return transact(family->fd, &message, &answer.header);
}

/*
 * No instance has this number. A kernel that knows the command says so (or that it is not permitted) and sets nothing.
 */
bool sv_netdev_has_napi_settings(const struct sv_netdev_family *family)
{
    static const struct sv_napi_settings none;
    return family->fd >= 0 && sv_netdev_set_napi(family, UINT32_MAX, &none) != EOPNOTSUPP;
}
