/* SPDX-License-Identifier: Apache-2.0 */
/* See sockets.h. */
#include "sockets.h"

#include <net/if.h>

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int interface_mac(int socket, const char *netdev, uint8_t mac[6])
{
    struct ifreq request;
    memset(&request, 0, sizeof request);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", netdev);
    if (ioctl(socket, SIOCGIFHWADDR, &request) != 0)
        return errno;
    int type = request.ifr_hwaddr.sa_family;
    if (type != ARPHRD_ETHER && type != ARPHRD_LOOPBACK)
        return EOPNOTSUPP;
    memcpy(mac, request.ifr_hwaddr.sa_data, 6);
    return 0;
}

uint32_t interface_receive_queues(int socket, const char *netdev)
{
    struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
    struct ifreq request;
    memset(&request, 0, sizeof request);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", netdev);
    request.ifr_data = (void *)&channels;
    return ioctl(socket, SIOCETHTOOL, &request) == 0 ? channels.rx_count + channels.combined_count : 0;
}
