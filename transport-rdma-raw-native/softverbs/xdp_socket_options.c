/* SPDX-License-Identifier: Apache-2.0 */
/* Options of AF_XDP sockets, for the library and the broker. */
#include "xdp_queue.h"

#include <errno.h>

#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9     /* Linux 6.17 */
#endif

int sv_xdp_set_ring_size(int fd, int option, uint32_t entries)
{
    return setsockopt(fd, SOL_XDP, option, &entries, sizeof entries) == 0 ? 0 : errno;
}

void sv_xdp_raise_limits(int fd)
{
    /* Sends a whole burst with each call. Older kernels send 32 frames. */
    const int budget = SV_BURST;
    (void)setsockopt(fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof budget);
    /* The default suffices for about 90 frames that a card has not sent yet, but all chunks may be pending. */
    sv_raise_send_buffer(fd);
}
