/* SPDX-License-Identifier: Apache-2.0 */
/* See netdev_port.h. */
#include "netdev_port.h"

#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>

int sv_mac_filter_type(const struct sv_rule_spec *spec, const uint8_t own_mac[6])
{
    static const uint8_t full[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t none[6];
    const uint8_t *mask = spec->mask.outer.dst_mac;
    const uint8_t *mac = spec->value.outer.dst_mac;
    if (spec->type == IBV_FLOW_ATTR_MC_DEFAULT)
        return PACKET_MR_ALLMULTI;
    if (spec->type != IBV_FLOW_ATTR_NORMAL)
        return PACKET_MR_PROMISC;
    if (memcmp(mask, full, 6) != 0)
        return memcmp(mask, none, 6) != 0 ? PACKET_MR_PROMISC : -1;
    if (memcmp(mac, full, 6) == 0 || memcmp(mac, own_mac, 6) == 0)
        return -1;
    return mac[0] & 1 ? PACKET_MR_MULTICAST : PACKET_MR_UNICAST;
}

void sv_mac_filter_change(int socket, int ifindex, int type, const uint8_t mac[6], int option)
{
    if (type < 0)
        return;
    struct packet_mreq request = {.mr_ifindex = ifindex, .mr_type = (unsigned short)type, .mr_alen = 6};
    memcpy(request.mr_address, mac, 6);
    /* Fails for interfaces without such a filter, which accept every frame. */
    (void)!setsockopt(socket, SOL_PACKET, option, &request, sizeof request);
}
