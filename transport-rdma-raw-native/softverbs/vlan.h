/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_VLAN_H
#define SV_VLAN_H

#include "flow.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * The VLAN interface of a port on the interface below it (its parent). No VLAN interface has a driver with native XDP
 * or zero copy, so in these modes the port opens the parent. Frames have the tag on the parent only: rules for the
 * eBPF programs match it, and the rings of AF_XDP remove and insert it. Queue pairs and the library's flow table see
 * untagged frames.
 */
struct sv_vlan {
    int ifindex;                /* index of the VLAN interface; 0: the port is not that of a VLAN */
    int parent_ifindex;
    uint16_t id;
};

/*
 * Finds the VLAN of an interface and stores its ifindex 0 if the interface is not a VLAN. Returns 0 or an errno with an
 * explanation: the parent is in another network namespace, or the VLAN is one of 802.1ad.
 */
int sv_vlan_find(const char *netdev, int ifindex, struct sv_vlan *vlan);
/*
 * Converts a rule for untagged frames to one for the frames of the VLAN. Returns 0, or EOPNOTSUPP for a rule that
 * matches a tag itself or takes all frames of the interface.
 */
int sv_vlan_convert_rule(const struct sv_vlan *vlan, const struct sv_rule_spec *spec, struct sv_rule_spec *tagged);

/* Writes the tag, with priority 0. */
static inline void sv_vlan_write_tag(const struct sv_vlan *vlan, uint8_t tag[SV_VLAN_HLEN])
{
    tag[0] = ETH_P_8021Q >> 8;
    tag[1] = ETH_P_8021Q & 0xff;
    tag[2] = (uint8_t)(vlan->id >> 8);
    tag[3] = (uint8_t)vlan->id;
}

/*
 * Removes the tag, of any priority, by moving the MAC addresses. Returns the beginning of the untagged frame, or NULL
 * if the frame is not one of this VLAN.
 */
static inline uint8_t *sv_vlan_remove_tag(const uint8_t tag[SV_VLAN_HLEN], uint8_t *frame, uint32_t length)
{
    const uint8_t *at = frame + SV_ETHERTYPE_AT;
    if (length < ETH_HLEN + SV_VLAN_HLEN || at[0] != tag[0] || at[1] != tag[1] || (at[2] & 0x0f) != tag[2] ||
        at[3] != tag[3])
        return NULL;
    memmove(frame + SV_VLAN_HLEN, frame, SV_ETHERTYPE_AT);
    return frame + SV_VLAN_HLEN;
}

#endif
