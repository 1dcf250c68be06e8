/* SPDX-License-Identifier: Apache-2.0 */
/* See port_xdp.h, tuntap.rst of the kernel and netlink(7). */
#include "port_xdp.h"

#include "device.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Maximum frame length of any network interface that is_skb_forwardable() of the kernel accepts. */
enum { TAP_MTU = 65521 };

static int add_queue(struct sv_tap *tap)
{
    if (tap->queue_count == SV_TAP_MAX_QUEUES)
        return ENOSPC;
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return errno;
    struct ifreq request;
    memset(&request, 0, sizeof request);
    memcpy(request.ifr_name, tap->name, sizeof tap->name);
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE;
    if (ioctl(fd, TUNSETIFF, &request) != 0) {
        int error = errno;
        close(fd);
        return error;
    }
    memcpy(tap->name, request.ifr_name, sizeof tap->name);
    tap->queue_fds[tap->queue_count++] = fd;
    return 0;
}

/* Appends an attribute, which is the last one in all enclosing attributes. */
static struct rtattr *append_attribute(struct nlmsghdr *message, unsigned short type, const void *data, size_t bytes)
{
    struct rtattr *attribute = (struct rtattr *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));
    attribute->rta_type = type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(bytes);
    if (bytes > 0)
        memcpy(RTA_DATA(attribute), data, bytes);
    message->nlmsg_len = (unsigned)(NLMSG_ALIGN(message->nlmsg_len) + RTA_ALIGN(attribute->rta_len));
    return attribute;
}

struct newlink_request {
    struct nlmsghdr header;
    struct ifinfomsg info;
    char attributes[128];
};

static struct newlink_request begin_newlink(const struct sv_tap *tap)
{
    struct newlink_request request;
    memset(&request, 0, sizeof request);
    request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.info);
    request.header.nlmsg_type = RTM_NEWLINK;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    request.info.ifi_index = tap->ifindex;
    return request;
}

static int transact(int netlink, const struct newlink_request *request)
{
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
        char rest[256];
    } answer;
    if (send(netlink, request, request->header.nlmsg_len, 0) < 0 || recv(netlink, &answer, sizeof answer, 0) < 0)
        return errno;
    return -answer.error.error;
}

/* Disables IPv6 addresses and ARP, so that the host is not reachable there. Called before the interface is up. */
static int disable_ipv6_and_arp(const struct sv_tap *tap, int netlink)
{
    const uint32_t mtu = TAP_MTU;
    const uint8_t no_addresses = IN6_ADDR_GEN_MODE_NONE;
    struct newlink_request request = begin_newlink(tap);
    request.info.ifi_flags = request.info.ifi_change = IFF_NOARP;
    append_attribute(&request.header, IFLA_MTU, &mtu, sizeof mtu);
    if (access("/proc/net/if_inet6", F_OK) == 0) {
        struct rtattr *families = append_attribute(&request.header, IFLA_AF_SPEC, NULL, 0);
        struct rtattr *inet6 = append_attribute(&request.header, AF_INET6, NULL, 0);
        append_attribute(&request.header, IFLA_INET6_ADDR_GEN_MODE, &no_addresses, sizeof no_addresses);
        char *end = (char *)&request + request.header.nlmsg_len;
        families->rta_len = (unsigned short)(end - (char *)families);
        inet6->rta_len = (unsigned short)(end - (char *)inet6);
    }
    return transact(netlink, &request);
}

static int bring_up(const struct sv_tap *tap, int netlink)
{
    struct newlink_request request = begin_newlink(tap);
    request.info.ifi_flags = request.info.ifi_change = IFF_UP;
    return transact(netlink, &request);
}

static int configure(const struct sv_tap *tap)
{
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (netlink < 0)
        return errno;
    int error = disable_ipv6_and_arp(tap, netlink);
    if (error == 0)
        error = bring_up(tap, netlink);
    close(netlink);
    return error;
}

int sv_tap_open(struct sv_tap *tap)
{
    memset(tap, 0, sizeof *tap);
    snprintf(tap->name, sizeof tap->name, "rdmaraw%%d");
    int error = add_queue(tap);
    if (error == EPERM)
        return sv_explain(error, "creating a TAP interface is not permitted: SOFTVERBS_XDP_MODE=tap needs "
                          "CAP_NET_ADMIN");
    if (error == EACCES)
        return sv_explain(error, "SOFTVERBS_XDP_MODE=tap needs /dev/net/tun, which this user may not open: "
                          "chmod 0666 /dev/net/tun (the interface itself still needs CAP_NET_ADMIN)");
    if (error != 0)
        return sv_explain(error, "SOFTVERBS_XDP_MODE=tap needs /dev/net/tun, which can't be used: modprobe tun, and "
                          "in a container --device /dev/net/tun");
    tap->ifindex = (int)if_nametoindex(tap->name);
    error = configure(tap);
    return error == 0 ? 0 : sv_explain(error, "the TAP interface '%s' can't be brought up", tap->name);
}

int sv_tap_add_queue(struct sv_tap *tap)
{
    return add_queue(tap);
}

void sv_tap_remove_queue(struct sv_tap *tap)
{
    close(tap->queue_fds[--tap->queue_count]);
}

void sv_tap_close(struct sv_tap *tap)
{
    while (tap->queue_count > 0)
        sv_tap_remove_queue(tap);
    tap->ifindex = 0;
}
