/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Striding receive queues ("multi-packet receive queues"). A request is a buffer of many strides. A frame starts at the
 * first free stride and occupies the strides that its length needs. If it does not fit into the rest of the request, a
 * completion without a frame, a filler, returns the rest to the program, and the frame starts the next request.
 *
 * A completion contains its number of strides in bits 16 to 30 of byte_cnt, and the number of the first one.
 */
#include "engine.h"

enum { SEGMENT_BYTES = 16 };

/* The segment that links requests, and the signature segment. */
static uint32_t data_segments_at(const struct cx_rq *rq)
{
    return SEGMENT_BYTES + (rq->signature ? SEGMENT_BYTES : 0);
}

static void describe(const struct cx_rq *rq, uint32_t count, struct cx_completion *completion)
{
    completion->wqe_id = rq->ring.consumed;
    completion->wqe_counter = (uint16_t)rq->strides.next;
    completion->strides = (uint16_t)count;
    completion->uidx = rq->uidx;
}

void cx_strides_consume_rest(struct cx_rq *rq, struct cx_completion *completion)
{
    describe(rq, rq->strides.per_request - rq->strides.next, completion);
    cx_strides_consume(rq, completion);
}

static void release_rest(struct cx_rq *rq)
{
    struct cx_completion completion = {.opcode = MLX5_CQE_RESP_SEND, .filler = true};
    cx_strides_consume_rest(rq, &completion);
    cx_cq_add(rq->cq, &completion);
}

enum cx_placed cx_strides_place(struct cx_rq *rq, uint32_t length, struct cx_completion *completion)
{
    const struct cx_strides *strides = &rq->strides;
    uint32_t count = (length + (1u << strides->shift) - 1) >> strides->shift;
    if (count > strides->per_request)
        return CX_TOO_LONG;
    if (!cx_rq_has_request(rq))
        return CX_NO_REQUEST;
    if (strides->next + count > strides->per_request) {
        release_rest(rq);
        if (!cx_rq_has_request(rq))
            return CX_NO_REQUEST;
    }
    describe(rq, count, completion);
    return CX_PLACED;
}

uint8_t cx_strides_fill(const struct cx_rq *rq, const struct sv_frame *frame)
{
    uint32_t first = rq->strides.next;
    if (cx_is_mutant(CX_MUTANT_STRIDES_OVERLAP) && first > 0)
        first--;
    return cx_rq_scatter(rq, data_segments_at(rq), first << rq->strides.shift, frame);
}

void cx_strides_consume(struct cx_rq *rq, const struct cx_completion *completion)
{
    rq->strides.next += completion->strides;
    if (rq->strides.next == rq->strides.per_request) {
        rq->strides.next = 0;
        rq->ring.consumed++;
    }
}
