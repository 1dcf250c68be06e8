/* SPDX-License-Identifier: Apache-2.0 */
/* What a post_send call has built and not yet handed to the wire. */
#ifndef SV_BURST_H
#define SV_BURST_H

#include "device.h"
#include "frame_limits.h"
#include "rq_ring.h"

/* Frames that are gathered, inlined or changed are built here; a burst leaves before it is reused. */
enum { SV_SCRATCH_BYTES = 192 * 1024, SV_MAX_FRAME = 9000 + SV_MAX_OVERHEAD };

struct sv_burst {
    struct sv_qp *qp;
    const struct sv_rq *likely; /* where the last frame went: the next ones will probably go there too. May be NULL */
    unsigned frames;
    unsigned completions;
    bool error;
    struct sv_frame frame[SV_BURST];
    struct sv_cqe completion[SV_BURST];
};

void sv_burst_transmit(struct sv_burst *burst);
/* Room for a frame of `bytes` in the scratch area; sends what is there when either is full. */
uint8_t *sv_burst_scratch(struct sv_burst *burst, uint32_t bytes);

/* There is room: a burst that is full leaves at the end of a work request and in sv_burst_scratch(). */
static inline void sv_burst_add_frame(struct sv_burst *burst, const uint8_t *data, uint32_t length)
{
    if (burst->likely != NULL)
        sv_rq_prefetch_buffer(burst->likely, burst->frames);
    burst->frame[burst->frames].data = data;
    burst->frame[burst->frames].rest = NULL;
    burst->frame[burst->frames++].length = length;
}

#endif
