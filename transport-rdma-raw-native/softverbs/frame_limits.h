/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a frame may be, for softverbs and the emulated ConnectX. The lengths are without the frame check sequence.
 *
 * The rule is that of Linux's packet sockets (packet_extra_vlan_len_allowed() in net/packet/af_packet.c): the MTU
 * counts what follows the Ethernet header, and a frame with an 802.1Q tag may be four bytes longer. No other tag makes
 * room for itself. A ConnectX takes four bytes more of every frame (MLX5E_ETH_HARD_MTU in the mlx5 driver); the
 * transport does not use that. For Java the same rule is in io.rdmaraw.wire.FrameLength.
 */
#ifndef SV_FRAME_LIMITS_H
#define SV_FRAME_LIMITS_H

#include "wire_defs.h"

#include <stdbool.h>
#include <stdint.h>

/* How many bytes the longest frame has beyond the MTU. */
enum { SV_MAX_OVERHEAD = ETH_HLEN + SV_VLAN_HLEN };

/* `frame`: at least an Ethernet header. */
static inline bool sv_frame_fits(uint32_t mtu, const uint8_t *frame, uint32_t length)
{
    if (__builtin_expect(length <= mtu + ETH_HLEN, 1))
        return true;
    return length <= mtu + SV_MAX_OVERHEAD && frame[SV_ETHERTYPE_AT] == ETH_P_8021Q >> 8 &&
           frame[SV_ETHERTYPE_AT + 1] == (ETH_P_8021Q & 0xff);
}

#endif
