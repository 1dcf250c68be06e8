/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See send.h. Frames of a burst may lie in the scratch area, so the area is reused only after they were transmitted.
 */
#include "send.h"

void sv_burst_transmit(struct sv_burst *burst)
{
    if (burst->frames > 0) {
        burst->qp->device->ops->transmit(burst->qp->device, burst->qp, burst->frame, burst->frames);
        burst->frames = 0;
    }
    burst->qp->sq.scratch_used = 0;
}

uint8_t *sv_burst_scratch(struct sv_burst *burst, uint32_t bytes)
{
    struct sv_sq *sq = &burst->qp->sq;
    if (sq->scratch_used + bytes > SV_SCRATCH_BYTES || burst->frames == SV_BURST)
        sv_burst_transmit(burst);
    uint8_t *room = sq->scratch + sq->scratch_used;
    sq->scratch_used += (bytes + 15) & ~15u;
    return room;
}
