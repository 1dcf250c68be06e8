/* SPDX-License-Identifier: Apache-2.0 */
#include "xdp_mode.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Returns 0 or an errno: EOPNOTSUPP from drivers without this query. */
static int ethtool_ioctl(const char *netdev, void *command)
{
    struct ifreq request;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memset(&request, 0, sizeof request);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", netdev);
    request.ifr_data = command;
    int error = fd < 0 || ioctl(fd, SIOCETHTOOL, &request) != 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return error;
}

int sv_xdp_get_receive_queues(const char *netdev, uint32_t *queues)
{
    struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
    if (ethtool_ioctl(netdev, &channels) != 0)
        return EOPNOTSUPP;
    *queues = channels.rx_count + channels.combined_count;
    return 0;
}

void sv_xdp_read_driver(const char *netdev, char driver[SV_XDP_DRIVER_BYTES], char version[SV_XDP_DRIVER_BYTES])
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    driver[0] = version[0] = '\0';
    if (ethtool_ioctl(netdev, &info) != 0)
        return;
    snprintf(driver, SV_XDP_DRIVER_BYTES, "%.*s", SV_XDP_DRIVER_BYTES - 1, info.driver);
    snprintf(version, SV_XDP_DRIVER_BYTES, "%.*s", SV_XDP_DRIVER_BYTES - 1, info.version);
}

static bool driver_is_one_of(const char *netdev, const char *const *names, size_t count)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    bool is = false;
    if (ethtool_ioctl(netdev, &info) != 0)
        return false;
    for (size_t i = 0; i < count; i++)
        is |= strcmp(info.driver, names[i]) == 0;
    return is;
}

/*
 * Returns true if frames arrive exactly as the TCP of a sender on this host has left them. A card is always behind a
 * wire, on which checksums are complete. There, accepting the sum of the pseudo header would accept a second value as
 * correct.
 */
static bool has_senders_on_host(const char *netdev, unsigned flags)
{
    static const char *const names[] = {"bridge", "ipvlan", "ipvtap", "macvlan", "macvtap", "netkit", "tun", "veth",
                                        "vif", "virtio_net"};
    return (flags & IFF_LOOPBACK) || driver_is_one_of(netdev, names, sizeof names / sizeof names[0]);
}

/*
 * Returns true for interfaces stacked on another one, which may have merged frames (GRO), such as TCP of two segments
 * below the MTU. GRO verifies the checksums of merged frames and leaves the sum of the pseudo header.
 */
static bool has_merged_frames(const char *netdev)
{
    static const char *const names[] = {"802.1Q VLAN Support", "bonding", "geneve", "macsec", "openvswitch", "team",
                                        "vxlan"};
    return driver_is_one_of(netdev, names, sizeof names / sizeof names[0]);
}

int sv_xdp_detect_partial_checksums(const char *netdev, unsigned flags, enum sv_xdp_hook hook,
                                    bool *partial_checksums)
{
    const char *env_value = getenv("SOFTVERBS_PARTIAL_CHECKSUMS");
    if (env_value != NULL && *env_value != '\0') {
        *partial_checksums = strcmp(env_value, "on") == 0;
        return *partial_checksums || strcmp(env_value, "off") == 0
                   ? 0 : sv_explain(EINVAL, "SOFTVERBS_PARTIAL_CHECKSUMS is '%s': use on or off", env_value);
    }
    *partial_checksums = hook == SV_XDP_HOOK_TC || has_senders_on_host(netdev, flags) ||
                         (hook == SV_XDP_HOOK_GENERIC && has_merged_frames(netdev));
    return 0;
}

bool sv_xdp_is_stacked(const char *netdev)
{
    static const char *const names[] = {"bonding", "bridge", "ipvlan", "macvlan", "openvswitch", "team"};
    return driver_is_one_of(netdev, names, sizeof names / sizeof names[0]);
}

bool sv_xdp_hides_vlan_tags(const char *netdev)
{
    static const char *const veth[] = {"veth"};
    struct ethtool_value flags = {.cmd = ETHTOOL_GFLAGS};
    return sv_xdp_is_stacked(netdev) ||
           (ethtool_ioctl(netdev, &flags) == 0 && (flags.data & ETH_FLAG_RXVLAN) != 0 &&
            !driver_is_one_of(netdev, veth, 1));
}
