/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_XDP_INTERFACE_H
#define SV_XDP_INTERFACE_H

#include "wire.h"

/* Properties that an interface needs so that AF_XDP sees all its frames unchanged, as its driver reports (ethtool). */

/*
 * The name of an interface's driver, as ethtool has it, or "" if there is none, and its version: that of the kernel if
 * the driver came with it, but some of these have one of their own. Needs no open port.
 */
enum { SV_XDP_DRIVER_BYTES = 32 };
void sv_xdp_driver(const char *netdev, char driver[SV_XDP_DRIVER_BYTES], char version[SV_XDP_DRIVER_BYTES]);
/* Returns 0 and the number of receive queues; or EOPNOTSUPP if the driver does not report it. */
int sv_xdp_receive_queues(const struct sv_wire *wire, uint32_t *queues);
/* Whether the interface is on top of another one. The kernel removes VLAN tags on the way. */
bool sv_xdp_is_above(const struct sv_wire *wire);
/*
 * Whether it is such an interface, or moves VLAN tags from frames to metadata (rx-vlan-offload). An XDP program does
 * not see the metadata, so a tagged frame looks untagged. Of veth this cannot be known: the peer decides.
 */
bool sv_xdp_hides_tags(const struct sv_wire *wire);

/* Where on their way frames are seen. GRO comes before TC, and before generic XDP on an interface above another. */
enum sv_xdp_place { SV_XDP_AT_DRIVER, SV_XDP_AT_STACK, SV_XDP_AT_TC };

/*
 * Whether frames may come with the checksums and lengths of frames that hardware is still to complete: from a sender on
 * this host at the other end, or merged by the kernel. SOFTVERBS_PARTIAL_CHECKSUMS in the environment overrides it: "on"
 * or "off". Returns 0, or an errno with the reason explained.
 */
int sv_xdp_partial(const struct sv_wire *wire, enum sv_xdp_place place, bool *partial);

#endif
