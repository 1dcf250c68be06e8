/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_SEND_H
#define SV_SEND_H

/* Builds the frames of a post_send call (send.c), one burst at a time. */

#include "device.h"
#include "rings.h"

/* ---- burst.c ---- */

/*
 * The scratch area of a send queue. Frames that cannot be sent from the program's memory are built here: those of
 * several elements, those to which a checksum is added, and segments of TSO sends. The area is free again when the
 * burst has been transmitted.
 */
enum { SV_SCRATCH_BYTES = 192 * 1024, SV_MAX_FRAME_BYTES = 9000 + SV_MAX_OVERHEAD };

/* Frames and completions of work requests that have been processed but not passed on yet. */
struct sv_burst {
    struct sv_qp *qp;
    const struct sv_rq *likely_rq;  /* the receive queue of the last frame, probably that of the next ones; or NULL */
    unsigned frame_count;
    unsigned completion_count;
    bool error;
    struct sv_frame frame[SV_BURST];
    struct sv_cqe completion[SV_BURST];
};

/* Transmits the frames of the burst, if any, and frees the scratch area. The completions stay in the burst. */
void sv_burst_transmit(struct sv_burst *burst);
/*
 * Reserves `bytes` of the scratch area for a frame, at most SV_SCRATCH_BYTES. If the area or the burst is full, calls
 * sv_burst_transmit() first. Memory reserved earlier must then not be used any more.
 */
uint8_t *sv_burst_reserve_scratch(struct sv_burst *burst, uint32_t bytes);

/* The burst has room: a full one is transmitted at the end of each work request and in sv_burst_reserve_scratch(). */
static inline void sv_burst_add_frame(struct sv_burst *burst, const uint8_t *data, uint32_t length)
{
    if (burst->likely_rq != NULL)
        sv_rq_prefetch_buffer(burst->likely_rq, burst->frame_count);
    burst->frame[burst->frame_count].data = data;
    burst->frame[burst->frame_count].rest = NULL;
    burst->frame[burst->frame_count].checksums_done = false;
    burst->frame[burst->frame_count++].length = length;
}

/* ---- tso.c ---- */

/* Returns 0 if a TSO send may be posted, or an errno. */
int sv_tso_check(const struct sv_sq *sq, const struct ibv_send_wr *wr, uint32_t payload);
/* Passes a TSO send to the port as one request if the port segments it, else adds its segments to the burst. */
enum ibv_wc_status sv_tso_send(struct sv_burst *burst, const struct ibv_send_wr *wr, uint32_t payload);

#endif
