/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_SEND_H
#define SV_SEND_H

/* Builds the frames of a post_send call (send.c), one burst at a time. */

#include "device.h"
#include "rings.h"

/* ---- burst.c ---- */

/*
 * The scratch area, in which gathered, inlined or changed frames are built. It is reused after the burst was
 * transmitted.
 */
enum { SV_SCRATCH_BYTES = 192 * 1024, SV_MAX_FRAME = 9000 + SV_MAX_OVERHEAD };

struct sv_burst {
    struct sv_qp *qp;
    const struct sv_rq *likely; /* the receive queue of the last frame, probably that of the next ones too; or NULL */
    unsigned frames;
    unsigned completions;
    bool error;
    struct sv_frame frame[SV_BURST];
    struct sv_cqe completion[SV_BURST];
};

void sv_burst_transmit(struct sv_burst *burst);
/*
 * Reserves `bytes` of the scratch area for a frame. If the area or the burst is full, transmits the burst first, so the
 * burst may be empty afterwards.
 */
uint8_t *sv_burst_scratch(struct sv_burst *burst, uint32_t bytes);

/* The burst has room: a full one is transmitted at the end of each work request and in sv_burst_scratch(). */
static inline void sv_burst_add_frame(struct sv_burst *burst, const uint8_t *data, uint32_t length)
{
    if (burst->likely != NULL)
        sv_rq_prefetch_buffer(burst->likely, burst->frames);
    burst->frame[burst->frames].data = data;
    burst->frame[burst->frames].rest = NULL;
    burst->frame[burst->frames++].length = length;
}

/* ---- tso.c ---- */

/* Returns 0 if a large send may be posted, or an errno. */
int sv_tso_check(const struct sv_sq *sq, const struct ibv_send_wr *wr, uint32_t payload);
/* Passes a large send to the wire as a whole if the wire segments it, else adds its segments to the burst. */
enum ibv_wc_status sv_tso_send(struct sv_burst *burst, const struct ibv_send_wr *wr, uint32_t payload);

#endif
