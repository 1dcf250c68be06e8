/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers of drivers/infiniband/core/nldev.c of Linux: devices, ports and their network interfaces. See kernel.h.
 */
#include "kernel.h"

#include <errno.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    REQUEST_BYTES = 4096,
    ANSWER_BYTES = 8192,
    NODE_TYPE_CA = 1,
    PORT_STATE_DOWN = 1,
    PORT_STATE_ACTIVE = 4,
    PHYS_STATE_DISABLED = 3,
    PHYS_STATE_LINK_UP = 5,
    NETNS_MODE_SHARED = 1,
    FIRST_INTERFACE_INDEX = 1 << 30,    /* no interface of the kernel has such an index */
    INTERFACES_PER_PORT = 256,
};

struct cx_netlink {
    int kernel_fd;                  /* socket that sends the answers */
};

/* A datagram of messages. */
struct answer {
    _Alignas(NLMSG_ALIGNTO) uint8_t bytes[ANSWER_BYTES];
    uint32_t length;
    uint32_t message;               /* offset of the last message */
};

static const uint32_t none;

/* ---- sockets ---- */

static int bind_anywhere(int fd)
{
    const struct sockaddr_nl any = {.nl_family = AF_NETLINK};
    return bind(fd, (const struct sockaddr *)&any, sizeof any);
}

static void close_netlink(struct cx_file *file)
{
    cx_netlink_close(file->netlink);
}

int cx_netlink_socket(int type)
{
    int fd = cx_real()->socket(AF_NETLINK, type, NETLINK_USERSOCK);
    if (fd < 0)
        return -1;
    struct cx_netlink *netlink = malloc(sizeof *netlink);
    int error = netlink == NULL ? ENOMEM : 0;
    if (error == 0) {
        netlink->kernel_fd = cx_real()->socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_USERSOCK);
        if (netlink->kernel_fd < 0 || bind_anywhere(netlink->kernel_fd) != 0)
            error = errno;
    }
    const struct cx_file file = {.netlink = netlink, .close = close_netlink};
    if (error == 0)
        error = cx_file_add(fd, &file);
    if (error == 0)
        return fd;
    if (netlink != NULL)
        cx_netlink_close(netlink);
    cx_real()->close(fd);
    errno = error;
    return -1;
}

void cx_netlink_close(struct cx_netlink *netlink)
{
    if (netlink->kernel_fd >= 0)
        cx_real()->close(netlink->kernel_fd);
    free(netlink);
}

/* ---- messages ---- */

static void begin(struct answer *answer, const struct nlmsghdr *request, uint16_t type, uint16_t flags)
{
    answer->message = answer->length;
    const struct nlmsghdr header = {
        .nlmsg_len = NLMSG_HDRLEN, .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = request->nlmsg_seq,
        .nlmsg_pid = request->nlmsg_pid,
    };
    memcpy(answer->bytes + answer->length, &header, sizeof header);
    answer->length += NLMSG_HDRLEN;
}

static void end(struct answer *answer)
{
    struct nlmsghdr header;
    memcpy(&header, answer->bytes + answer->message, sizeof header);
    header.nlmsg_len = answer->length - answer->message;
    memcpy(answer->bytes + answer->message, &header, sizeof header);
}

static void put_bytes(struct answer *answer, const void *from, uint32_t bytes)
{
    memset(answer->bytes + answer->length, 0, NLMSG_ALIGN(bytes));
    memcpy(answer->bytes + answer->length, from, bytes);
    answer->length += NLMSG_ALIGN(bytes);
}

static void put(struct answer *answer, uint16_t type, const void *value, uint32_t bytes)
{
    const struct nlattr attribute = {.nla_len = (uint16_t)(NLA_HDRLEN + bytes), .nla_type = type};
    put_bytes(answer, &attribute, sizeof attribute);
    put_bytes(answer, value, bytes);
}

static void put_u8(struct answer *answer, uint16_t type, uint8_t value)
{
    put(answer, type, &value, sizeof value);
}

static void put_u32(struct answer *answer, uint16_t type, uint32_t value)
{
    put(answer, type, &value, sizeof value);
}

static void put_u64(struct answer *answer, uint16_t type, uint64_t value)
{
    put(answer, type, &value, sizeof value);
}

static void put_text(struct answer *answer, uint16_t type, const char *text)
{
    put(answer, type, text, (uint32_t)strlen(text) + 1);
}

/* ---- contents, as in nldev.c ---- */

static void put_handle(struct answer *answer, const struct cx_device *device)
{
    put_u32(answer, RDMA_NLDEV_ATTR_DEV_INDEX, device->index);
    put_text(answer, RDMA_NLDEV_ATTR_DEV_NAME, device->name);
}

unsigned cx_interface_index(const struct cx_device *device, uint32_t port)
{
    const char *name = cx_port_interface(device, port);
    if (name == NULL || cx_has_setup("other-namespace"))
        return 0;
    unsigned real = if_nametoindex(name);
    uint32_t before = device->own_port - port;
    return real != 0 ? real : FIRST_INTERFACE_INDEX + before * INTERFACES_PER_PORT + device->index;
}

/* fill_dev_info() */
static void put_device(struct answer *answer, const struct cx_device *device)
{
    put_handle(answer, device);
    put_u32(answer, RDMA_NLDEV_ATTR_PORT_INDEX, device->own_port);
    put_u64(answer, RDMA_NLDEV_ATTR_CAP_FLAGS, 0);
    put_text(answer, RDMA_NLDEV_ATTR_FW_VERSION, "16.35.2000");
    put_u64(answer, RDMA_NLDEV_ATTR_NODE_GUID, be64toh(cx_guid(device)));
    put_u64(answer, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, be64toh(cx_guid(device)));
    put_u8(answer, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, NODE_TYPE_CA);
    put_text(answer, RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce");
}

/* fill_port_info(). It omits an interface that is in another network namespace than the program. */
static void put_port(struct answer *answer, const struct cx_device *device, uint32_t port)
{
    const bool up = cx_port_interface(device, port) != NULL && (port != device->own_port || device->port_up);
    put_handle(answer, device);
    put_u32(answer, RDMA_NLDEV_ATTR_PORT_INDEX, port);
    put_u8(answer, RDMA_NLDEV_ATTR_PORT_STATE, up ? PORT_STATE_ACTIVE : PORT_STATE_DOWN);
    put_u8(answer, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, up ? PHYS_STATE_LINK_UP : PHYS_STATE_DISABLED);
    unsigned index = cx_interface_index(device, port);
    if (index == 0)
        return;
    put_u32(answer, RDMA_NLDEV_ATTR_NDEV_INDEX, index);
    put_text(answer, RDMA_NLDEV_ATTR_NDEV_NAME, cx_port_interface(device, port));
}

/* nldev_get_chardev(), of uverbs: the character device is that of /dev/null, as in the tree of files. */
static void put_chardev(struct answer *answer, const struct cx_device *device)
{
    char name[16];
    snprintf(name, sizeof name, "uverbs%u", device->index);
    put_u64(answer, RDMA_NLDEV_ATTR_CHARDEV, makedev(1, 3));
    put_u64(answer, RDMA_NLDEV_ATTR_CHARDEV_ABI, 1);
    put_text(answer, RDMA_NLDEV_ATTR_CHARDEV_NAME, name);
}

/* Returns the value of an attribute of the request, or NULL if it has none of this size. */
static const uint8_t *attribute_of(const struct nlmsghdr *request, uint16_t type, uint32_t bytes)
{
    const uint8_t *at = (const uint8_t *)request + NLMSG_HDRLEN;
    uint32_t left = request->nlmsg_len - NLMSG_HDRLEN;
    struct nlattr attribute;
    while (left >= sizeof attribute) {
        memcpy(&attribute, at, sizeof attribute);
        if (attribute.nla_len < sizeof attribute || attribute.nla_len > left)
            return NULL;
        if ((attribute.nla_type & NLA_TYPE_MASK) == type)
            return attribute.nla_len - NLA_HDRLEN >= (int)bytes ? at + NLA_HDRLEN : NULL;
        uint32_t step = NLA_ALIGN(attribute.nla_len);
        if (step > left)
            return NULL;
        at += step;
        left -= step;
    }
    return NULL;
}

static const struct cx_device *device_of(const struct nlmsghdr *request)
{
    const uint8_t *value = attribute_of(request, RDMA_NLDEV_ATTR_DEV_INDEX, sizeof(uint32_t));
    uint32_t index;
    if (value == NULL)
        return NULL;
    memcpy(&index, value, sizeof index);
    return cx_device_by_index(index);
}

/* Returns the port that a request names, or 0 if it names none. */
static uint32_t port_of(const struct nlmsghdr *request)
{
    const uint8_t *value = attribute_of(request, RDMA_NLDEV_ATTR_PORT_INDEX, sizeof(uint32_t));
    uint32_t port = 0;
    if (value != NULL)
        memcpy(&port, value, sizeof port);
    return port;
}

static bool is_port_query(const struct nlmsghdr *request, const struct cx_device *device)
{
    return port_of(request) >= 1 && port_of(request) <= device->own_port;
}

static bool is_uverbs_query(const struct nlmsghdr *request)
{
    const uint8_t *value = attribute_of(request, RDMA_NLDEV_ATTR_CHARDEV_TYPE, sizeof "uverbs");
    return value != NULL && memcmp(value, "uverbs", sizeof "uverbs") == 0;
}

static const uint16_t get_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);
static const uint16_t port_get_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET);
static const uint16_t get_chardev_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET_CHARDEV);
static const uint16_t sys_get_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET);

/* nldev_get_dumpit(), nldev_port_get_dumpit() */
static int dump(const struct nlmsghdr *request, struct answer *answer)
{
    if (request->nlmsg_type == get_type) {
        for (unsigned i = 0; i < cx_device_count(); i++) {
            begin(answer, request, get_type, NLM_F_MULTI);
            put_device(answer, cx_device_by_index(i));
            end(answer);
        }
    } else if (request->nlmsg_type == port_get_type) {
        const struct cx_device *device = device_of(request);
        if (device == NULL)
            return EINVAL;
        for (uint32_t port = 1; port <= device->own_port; port++) {
            begin(answer, request, port_get_type, NLM_F_MULTI);
            put_port(answer, device, port);
            end(answer);
        }
    } else {
        return EINVAL;
    }
    begin(answer, request, NLMSG_DONE, NLM_F_MULTI);
    put_bytes(answer, &none, sizeof none);
    end(answer);
    return 0;
}

/*
 * nldev_get_doit(), nldev_port_get_doit(), nldev_sys_get_doit(), nldev_get_chardev(). The second one also answers with
 * the type of GET.
 */
static int answer_one(const struct nlmsghdr *request, struct answer *answer)
{
    const struct cx_device *device = device_of(request);
    if (request->nlmsg_type == sys_get_type) {
        begin(answer, request, sys_get_type, 0);
        put_u8(answer, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, NETNS_MODE_SHARED);
        put_u8(answer, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
    } else if (request->nlmsg_type == get_type && device != NULL) {
        begin(answer, request, get_type, 0);
        put_device(answer, device);
    } else if (request->nlmsg_type == port_get_type && device != NULL && is_port_query(request, device)) {
        begin(answer, request, get_type, 0);
        put_port(answer, device, port_of(request));
    } else if (request->nlmsg_type == get_chardev_type && device != NULL && is_uverbs_query(request)) {
        begin(answer, request, get_chardev_type, 0);
        put_chardev(answer, device);
    } else {
        return EINVAL;
    }
    end(answer);
    return 0;
}

/* Sends an error, or the acknowledgement that the request asked for. */
static void acknowledge(const struct nlmsghdr *request, struct answer *answer, int error)
{
    const struct nlmsgerr body = {.error = -error, .msg = *request};
    begin(answer, request, NLMSG_ERROR, 0);
    put_bytes(answer, &body, sizeof body);
    end(answer);
}

static int deliver(const struct cx_netlink *netlink, const struct sockaddr_nl *to, const struct answer *answer)
{
    ssize_t sent = cx_real()->sendto(netlink->kernel_fd, answer->bytes, answer->length, 0, (const struct sockaddr *)to,
                                     sizeof *to);
    return sent < 0 ? errno : 0;
}

static int serve(const struct cx_netlink *netlink, const struct sockaddr_nl *to, const struct nlmsghdr *request)
{
    struct answer answer = {.length = 0};
    bool dumps = (request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    int refused = dumps ? dump(request, &answer) : answer_one(request, &answer);
    int error = answer.length > 0 ? deliver(netlink, to, &answer) : 0;
    answer.length = 0;
    if (error == 0 && (refused != 0 || (!dumps && request->nlmsg_flags & NLM_F_ACK))) {
        acknowledge(request, &answer, refused);
        error = deliver(netlink, to, &answer);
    }
    return error;
}

/* ---- requests ---- */

ssize_t cx_netlink_send(struct cx_netlink *netlink, int fd, const void *from, size_t bytes)
{
    _Alignas(NLMSG_ALIGNTO) uint8_t copy[REQUEST_BYTES];
    struct sockaddr_nl requester;
    socklen_t asker_bytes = sizeof requester;
    if (bytes > sizeof copy) {
        errno = EMSGSIZE;
        return -1;
    }
    if (getsockname(fd, (struct sockaddr *)&requester, &asker_bytes) != 0)
        return -1;
    /* The kernel assigns an address to a socket when it first sends. */
    if (requester.nl_pid == 0 &&
        (bind_anywhere(fd) != 0 || getsockname(fd, (struct sockaddr *)&requester, &asker_bytes) != 0))
        return -1;
    memcpy(copy, from, bytes);
    size_t at = 0;
    while (bytes - at >= NLMSG_HDRLEN) {
        struct nlmsghdr *request = (struct nlmsghdr *)(void *)(copy + at);
        if (request->nlmsg_len < NLMSG_HDRLEN || request->nlmsg_len > bytes - at)
            break;
        request->nlmsg_pid = requester.nl_pid;
        int error = request->nlmsg_flags & NLM_F_REQUEST ? serve(netlink, &requester, request) : 0;
        if (error != 0) {
            errno = error;
            return -1;
        }
        size_t step = NLMSG_ALIGN(request->nlmsg_len);
        at += step < bytes - at ? step : bytes - at;
    }
    return (ssize_t)bytes;
}

ssize_t cx_netlink_sendmsg(struct cx_netlink *netlink, int fd, const struct msghdr *message)
{
    uint8_t flat[REQUEST_BYTES];
    size_t bytes = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        if (message->msg_iov[i].iov_len > sizeof flat - bytes) {
            errno = EMSGSIZE;
            return -1;
        }
        memcpy(flat + bytes, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
        bytes += message->msg_iov[i].iov_len;
    }
    return cx_netlink_send(netlink, fd, flat, bytes);
}
