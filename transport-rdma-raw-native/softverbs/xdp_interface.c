/* SPDX-License-Identifier: Apache-2.0 */
#include "xdp_interface.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

/* 0 or an errno: EOPNOTSUPP from drivers that do not know the question. */
static int ask(const struct sv_wire *wire, void *question)
{
    struct ifreq request;
    memset(&request, 0, sizeof request);
    memcpy(request.ifr_name, wire->netdev, sizeof request.ifr_name);
    request.ifr_data = question;
    return ioctl(wire->filters, SIOCETHTOOL, &request) == 0 ? 0 : errno;
}

int sv_xdp_receive_queues(const struct sv_wire *wire, uint32_t *queues)
{
    struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
    if (ask(wire, &channels) != 0)
        return EOPNOTSUPP;
    *queues = channels.rx_count + channels.combined_count;
    return 0;
}

static bool is_veth(const struct sv_wire *wire)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    return ask(wire, &info) == 0 && strcmp(info.driver, "veth") == 0;
}

bool sv_xdp_hides_tags(const struct sv_wire *wire)
{
    struct ethtool_value flags = {.cmd = ETHTOOL_GFLAGS};
    return ask(wire, &flags) == 0 && (flags.data & ETH_FLAG_RXVLAN) != 0 && !is_veth(wire);
}
