/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes the burst of a queue pair (struct sv_burst in send.h) to the device, and manages the queue pair's scratch
 * area. Frames that have to be built lie in that area until they are transmitted. Each transmission therefore frees the
 * whole area, and reserving memory in a full area transmits the burst first.
 */
#include "send.h"

void sv_burst_transmit(struct sv_burst *burst)
{
    if (burst->frame_count > 0) {
        burst->qp->device->ops->transmit(burst->qp->device, burst->qp, burst->frame, burst->frame_count);
        burst->frame_count = 0;
    }
    burst->qp->sq.scratch_used_bytes = 0;
}

uint8_t *sv_burst_reserve_scratch(struct sv_burst *burst, uint32_t bytes)
{
    struct sv_sq *sq = &burst->qp->sq;
    if (sq->scratch_used_bytes + bytes > SV_SCRATCH_BYTES || burst->frame_count == SV_BURST)
        sv_burst_transmit(burst);
    uint8_t *room = sq->scratch + sq->scratch_used_bytes;
    sq->scratch_used_bytes += (bytes + 15) & ~15u;
    return room;
}
