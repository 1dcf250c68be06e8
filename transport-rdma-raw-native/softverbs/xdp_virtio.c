/* SPDX-License-Identifier: Apache-2.0 */
#include "xdp_mode.h"

#include <linux/if_ether.h>
#include <linux/rtnetlink.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Feature bits of <linux/virtio_net.h>: frames that the device may send, and buffers into which it receives. */
enum { FEATURE_MTU = 3, FEATURE_RECEIVE_TSO4 = 7, FEATURE_RECEIVE_TSO6 = 8, FEATURE_RECEIVE_ECN = 9,
       FEATURE_RECEIVE_UFO = 10, FEATURE_MRG_RXBUF = 15, FEATURE_RECEIVE_USO4 = 54, FEATURE_RECEIVE_USO6 = 55 };

static bool may_send_gso_frames(const char *features)
{
    static const unsigned alone[] = {FEATURE_RECEIVE_TSO4, FEATURE_RECEIVE_TSO6, FEATURE_RECEIVE_ECN,
                                     FEATURE_RECEIVE_UFO};
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++)
        if (features[alone[i]] == '1')
            return true;
    return features[FEATURE_RECEIVE_USO4] == '1' && features[FEATURE_RECEIVE_USO6] == '1';
}

bool sv_xdp_virtio_runs_programs(const char *features_path, uint32_t max_mtu)
{
    char features[72] = "";
    FILE *file = fopen(features_path, "re");
    if (file == NULL)
        return true;
    bool read = fgets(features, sizeof features, file) != NULL;
    fclose(file);
    if (!read || strlen(features) <= FEATURE_RECEIVE_USO6 || features[FEATURE_MRG_RXBUF] == '1')
        return true;
    return !may_send_gso_frames(features) && (features[FEATURE_MTU] != '1' || max_mtu <= ETH_DATA_LEN);
}

/* ---- the interface's largest MTU ---- */

static uint32_t max_mtu_of(const struct nlmsghdr *answer, ssize_t length)
{
    uint32_t max_mtu = 0;
    if (length < 0 || !NLMSG_OK(answer, (size_t)length) || answer->nlmsg_type != RTM_NEWLINK)
        return 0;
    int left = (int)IFLA_PAYLOAD(answer);
    for (struct rtattr *a = IFLA_RTA(NLMSG_DATA(answer)); RTA_OK(a, left); a = RTA_NEXT(a, left))
        if (a->rta_type == IFLA_MAX_MTU && RTA_PAYLOAD(a) == sizeof max_mtu)
            memcpy(&max_mtu, RTA_DATA(a), sizeof max_mtu);
    return max_mtu;
}

/* Returns the largest MTU in bytes, or 0 if the kernel does not report it. */
static uint32_t query_max_mtu(int ifindex)
{
    alignas(struct nlmsghdr) char answer[16384];
    struct {
        struct nlmsghdr header;
        struct ifinfomsg info;
    } request = {
        .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
        .info = {.ifi_family = AF_UNSPEC, .ifi_index = ifindex},
    };
    uint32_t max_mtu = 0;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd >= 0 && send(fd, &request, sizeof request, 0) == sizeof request)
        max_mtu = max_mtu_of((const struct nlmsghdr *)answer, recv(fd, answer, sizeof answer, 0));
    if (fd >= 0)
        close(fd);
    return max_mtu;
}

bool sv_xdp_runs_programs(const char *netdev, int ifindex)
{
    char driver[SV_XDP_DRIVER_BYTES], version[SV_XDP_DRIVER_BYTES], path[64];
    /*
     * First, because /sys may belong to another network namespace, where an interface of this name often has another
     * driver.
     */
    sv_xdp_read_driver(netdev, driver, version);
    if (strcmp(driver, "virtio_net") != 0)
        return true;
    snprintf(path, sizeof path, "/sys/class/net/%s/device/features", netdev);
    return sv_xdp_virtio_runs_programs(path, query_max_mtu(ifindex));
}
