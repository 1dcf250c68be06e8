/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the interface by rtnetlink: see netdev_port.h. */
#define _GNU_SOURCE
#include "link_query.h"
#include "netdev_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { RECEIVE_BUFFER_BYTES = 1 << 20 };

/* ---- messages ---- */

static bool is_up(unsigned flags)
{
    return (flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
}

/*
 * An interface that is down or removed receives nothing. The program of a VLAN is on the interface below, which goes
 * on: the kernel gets the frames then.
 */
static void set_up(struct sv_netdev_port *port, bool up)
{
    if (port->vlan.ifindex != 0)
        sv_kernel_steering_pause(port->steering, !up);
    sv_device_set_port_up(port->device, up);
}

static void handle_removal(struct sv_netdev_port *port)
{
    sv_device_lock(port->device);
    set_up(port, false);
    sv_device_fail(port->device);
    sv_device_unlock(port->device);
}

static void handle_change(struct sv_netdev_port *port, const struct nlmsghdr *message)
{
    const struct ifinfomsg *info = NLMSG_DATA(message);
    const struct rtattr *attribute = IFLA_RTA(info);
    int left = (int)IFLA_PAYLOAD(message);
    sv_device_lock(port->device);
    set_up(port, is_up(info->ifi_flags) && !atomic_load(&port->device->failed));
    sv_device_unlock(port->device);
    for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
        uint32_t mtu = 0;
        if (attribute->rta_type == IFLA_ADDRESS && RTA_PAYLOAD(attribute) == sizeof port->device->mac &&
            memcmp(port->device->mac, RTA_DATA(attribute), sizeof port->device->mac) != 0)
            sv_netdev_port_record_mac(port, RTA_DATA(attribute));
        if (attribute->rta_type == IFLA_MTU && RTA_PAYLOAD(attribute) == sizeof mtu)
            memcpy(&mtu, RTA_DATA(attribute), sizeof mtu);
        if (mtu > 0)
            atomic_store(&port->device->mtu, mtu < port->max_mtu ? mtu : port->max_mtu);
    }
    sv_netdev_port_apply_mtu(port);
}

/*
 * Returns true for messages about an interface. Messages of other address families report a protocol's view and are
 * ignored: a bridge sends RTM_DELLINK of AF_BRIDGE when a port leaves it (br_ifinfo_notify() in
 * net/bridge/br_netlink.c).
 */
static bool is_about(int ifindex, const struct nlmsghdr *message)
{
    const struct ifinfomsg *info = NLMSG_DATA(message);
    return message->nlmsg_len >= NLMSG_LENGTH(sizeof *info) && info->ifi_family == AF_UNSPEC &&
           info->ifi_index == ifindex;
}

/* Returns true for the answer to request_state() if the interface no longer exists. */
static bool is_link_removed(const struct nlmsghdr *message)
{
    const struct nlmsgerr *answer = NLMSG_DATA(message);
    return message->nlmsg_type == NLMSG_ERROR && message->nlmsg_len >= NLMSG_LENGTH(sizeof answer->error) &&
           answer->error == -ENODEV;
}

/* Returns true for a message about the bond or a leg, which may have joined, left or become active. */
static bool is_about_legs(const struct sv_netdev_port *port, const struct nlmsghdr *message)
{
    const struct ifinfomsg *info = NLMSG_DATA(message);
    if (port->bond.ifindex == 0 || message->nlmsg_len < NLMSG_LENGTH(sizeof *info) ||
        (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK))
        return false;
    return info->ifi_index == port->bond.ifindex || sv_bond_find_leg(&port->bond, info->ifi_index) != NULL ||
           sv_link_number(sv_link_attribute(message, IFLA_MASTER), 0) == (uint32_t)port->bond.ifindex;
}

/* A removed interface may have left the bond before, and it may return with the same number and join again. */
static bool forget_removed_leg(struct sv_netdev_port *port, const struct nlmsghdr *message)
{
    const struct ifinfomsg *info = NLMSG_DATA(message);
    return port->bond.ifindex != 0 && message->nlmsg_type == RTM_DELLINK && is_about(info->ifi_index, message) &&
           port->kind->forget_leg(port, info->ifi_index);
}

static void handle_message(struct sv_netdev_port *port, const struct nlmsghdr *message)
{
    const int ifindex = sv_netdev_port_host_ifindex(port);
    /* The interface below a VLAN may move to another network namespace. The VLAN stays without it. */
    bool is_removed = is_link_removed(message) ||
                      (message->nlmsg_type == RTM_DELLINK &&
                       (is_about(ifindex, message) || is_about(port->ifindex, message)));
    if (is_removed)
        handle_removal(port);
    else if (message->nlmsg_type == RTM_NEWLINK && is_about(ifindex, message))
        handle_change(port, message);
}

/* ---- lost messages ---- */

/* Requests the state. The answer looks like an unsolicited message and is handled as one. */
static int request_state(const struct sv_netdev_port *port)
{
    struct {
        struct nlmsghdr header;
        struct ifinfomsg info;
    } request = {
        .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
        .info = {.ifi_family = AF_UNSPEC, .ifi_index = sv_netdev_port_host_ifindex(port)},
    };
    return send(port->netlink_fd, &request, sizeof request, 0) == sizeof request ? 0 : errno;
}

/*
 * The kernel reports once that it had no room for a message (ENOBUFS). It omits further messages until the socket is
 * empty (NETLINK_S_CONGESTED in net/netlink/af_netlink.c). So the state is requested only when the socket is empty.
 */
void sv_link_process(struct sv_netdev_port *port)
{
    alignas(struct nlmsghdr) char buffer[16384];
    bool lost = false;
    while (!atomic_load(&port->stopping)) {
        ssize_t length = recv(port->netlink_fd, buffer, sizeof buffer, MSG_DONTWAIT);
        lost |= length < 0 && errno == ENOBUFS;
        if (length < 0 && (errno == ENOBUFS || errno == EINTR))
            continue;
        if (length <= 0)
            break;
        /* Signed, because a length that is not aligned would end below 0. */
        ssize_t left = length;
        for (const struct nlmsghdr *m = (struct nlmsghdr *)buffer; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
            handle_message(port, m);
            if (forget_removed_leg(port, m) || is_about_legs(port, m))
                port->legs_due_millis = SV_LEGS_DUE_NOW;
        }
    }
    if (lost && port->bond.ifindex != 0)
        port->legs_due_millis = SV_LEGS_DUE_NOW;
    if (lost)
        (void)request_state(port);
}

/* ---- opening ---- */

/*
 * Filters out messages of other interfaces, of which a host may have thousands. The filter loads in network byte order,
 * the message is in host byte order. Without the filter everything still works.
 */
static void filter_link_messages(int fd, int ifindex, int other_ifindex)
{
    enum {
        TYPE_AT = offsetof(struct nlmsghdr, nlmsg_type),
        INDEX_AT = NLMSG_HDRLEN + offsetof(struct ifinfomsg, ifi_index),
    };
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, TYPE_AT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWLINK), 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELLINK), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, INDEX_AT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl((uint32_t)ifindex), 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl((uint32_t)other_ifindex), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    (void)!setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

/*
 * Opens the socket, which receives messages from now on. Requests the state once, for changes since the interface was
 * first read.
 */
int sv_link_open(struct sv_netdev_port *port)
{
    const int bytes = RECEIVE_BUFFER_BYTES;
    struct sockaddr_nl groups = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    struct ifreq request;
    port->netlink_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (port->netlink_fd < 0)
        return errno;
    /* Any interface may join a bond. */
    if (port->bond.ifindex == 0)
        filter_link_messages(port->netlink_fd, sv_netdev_port_host_ifindex(port), port->ifindex);
    if (setsockopt(port->netlink_fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        (void)!setsockopt(port->netlink_fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (bind(port->netlink_fd, (struct sockaddr *)&groups, sizeof groups) != 0)
        return errno;
    memset(&request, 0, sizeof request);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", strchr(port->device->ibv.name, ':') + 1);
    if (ioctl(port->mac_filter_fd, SIOCGIFFLAGS, &request) != 0)
        return errno;
    atomic_store(&port->device->port_up, is_up((unsigned short)request.ifr_flags));
    return request_state(port);
}
