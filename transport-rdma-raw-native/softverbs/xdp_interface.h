/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_XDP_INTERFACE_H
#define SV_XDP_INTERFACE_H

#include "wire.h"

/* What an interface must be like for AF_XDP to see all its frames as they are: asked of its driver (ethtool). */

/* 0 and how many receive queues it has; or EOPNOTSUPP: its driver does not tell. */
int sv_xdp_receive_queues(const struct sv_wire *wire, uint32_t *queues);
/* Whether the interface gets its frames from others: on the way the kernel takes VLAN tags out, also those in frames. */
bool sv_xdp_is_above(const struct sv_wire *wire);
/*
 * Whether it is one of these, or takes VLAN tags out of frames and gives them beside (rx-vlan-offload): an XDP program
 * does not see those, so a frame of a VLAN looks like one without a tag. Of veth it is not known: there the peer decides.
 */
bool sv_xdp_hides_tags(const struct sv_wire *wire);

#endif
