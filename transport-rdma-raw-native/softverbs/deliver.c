/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a receive queue with a run of frames: each lock is taken once per run. */
#include "checksum.h"
#include "copy.h"
#include "cq_ring.h"
#include "device.h"

static inline struct sv_recv_wqe *wqe_at(const struct sv_rq *rq, uint32_t index)
{
    return (struct sv_recv_wqe *)(rq->ring + (size_t)(index & (rq->size - 1)) * rq->stride);
}

static enum ibv_wc_status scatter(const struct sv_rq *rq, const struct sv_recv_wqe *wqe, const struct sv_frame *frame)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < wqe->num_sge && done < frame->length; i++) {
        uint32_t part = frame->length - done;
        if (part > wqe->sge[i].length)
            part = wqe->sge[i].length;
        uint8_t *to = sv_mr_translate(rq->device->mrs, rq->pd, wqe->sge[i].lkey, wqe->sge[i].addr, part,
                                      IBV_ACCESS_LOCAL_WRITE);
        if (to == NULL)
            return IBV_WC_LOC_PROT_ERR;
        sv_copy(to, frame->data + done, part);
        done += part;
    }
    return done == frame->length ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
}

static inline enum ibv_wc_status fill(struct sv_rq *rq, const struct sv_recv_wqe *wqe, const struct sv_frame *frame)
{
    if (SV_UNLIKELY(rq->fail_next != 0)) {
        enum ibv_wc_status status = (enum ibv_wc_status)rq->fail_next;
        rq->fail_next = 0;
        rq->counters.injected_errors++;
        return status;
    }
    enum ibv_wc_status status;
    if (SV_LIKELY(wqe->num_sge == 1 && wqe->sge[0].length >= frame->length)) {
        uint8_t *to = sv_mr_translate(rq->device->mrs, rq->pd, wqe->sge[0].lkey, wqe->sge[0].addr, frame->length,
                                      IBV_ACCESS_LOCAL_WRITE);
        if (SV_LIKELY(to != NULL)) {
            sv_copy(to, frame->data, frame->length);
            return IBV_WC_SUCCESS;
        }
        status = IBV_WC_LOC_PROT_ERR;
    } else {
        status = scatter(rq, wqe, frame);
    }
    if (status == IBV_WC_LOC_PROT_ERR)
        rq->counters.protection_errors++;
    else if (status == IBV_WC_LOC_LEN_ERR)
        rq->counters.length_errors++;
    return status;
}

static void enter_error(struct sv_rq *rq, bool overrun)
{
    if (rq->qp != NULL)
        sv_qp_enter_error_delivering(rq->qp);
    else
        sv_wq_enter_error_delivering(rq->wq);
    if (!overrun)
        return;
    struct ibv_async_event event;
    if (rq->qp != NULL)
        event = (struct ibv_async_event){.element.qp = &rq->qp->ibv, .event_type = IBV_EVENT_QP_FATAL};
    else
        event = (struct ibv_async_event){.element.wq = &rq->wq->ibv, .event_type = IBV_EVENT_WQ_FATAL};
    sv_async_raise(sv_context_of(rq->pd->ibv.context), &event);
}

/* How many of `count` frames the posted receives can take; looks at the poster's index only when it must. */
static inline unsigned receives_for(struct sv_rq *rq, unsigned count)
{
    uint32_t available = rq->posted_seen - rq->delivered;
    if (available < count) {
        rq->posted_seen = atomic_load_explicit(&rq->posted, memory_order_acquire);
        available = rq->posted_seen - rq->delivered;
    }
    return available < count ? available : count;
}

/*
 * Work requests were written by another core, completions and buffers were read by it: each line comes over at a cost of
 * about 100 ns, so they are asked for well ahead, the buffers half as far as the work requests that name them.
 */
enum { PREFETCH_BUFFERS = 12, PREFETCH_REQUESTS = 24 };

static inline void prefetch_ahead(const struct sv_rq *rq, uint32_t delivered, const struct sv_cq *cq, uint32_t produced)
{
    uint32_t posted = rq->posted_seen;
    if (posted - delivered > PREFETCH_REQUESTS)
        __builtin_prefetch(wqe_at(rq, delivered + PREFETCH_REQUESTS));
    if (posted - delivered > PREFETCH_BUFFERS)
        sv_prefetch_write((const void *)(uintptr_t)wqe_at(rq, delivered + PREFETCH_BUFFERS)->sge[0].addr);
    sv_prefetch_write(&cq->ring[(produced + PREFETCH_BUFFERS) & cq->mask]);
}

/* Delivers up to `count` frames; returns how many work requests were used. Sets *error when the last one failed. */
static inline unsigned deliver_some(struct sv_rq *rq, const struct sv_frame *frames, const uint8_t *indexes,
                                    const uint32_t *tags, unsigned count, bool *error, bool *overrun)
{
    struct sv_cq *cq = rq->cq;
    uint32_t delivered = rq->delivered;
    uint64_t bytes = 0;
    unsigned i;

    sv_spin_lock(&cq->produce_lock);
    uint32_t produced = sv_cq_produced(cq);
    for (i = 0; i < count && !*error; i++) {
        const struct sv_frame *frame = &frames[indexes[i]];
        const struct sv_recv_wqe *wqe = wqe_at(rq, delivered);
        struct sv_cqe *cqe = sv_cq_slot(cq, produced);
        if (SV_UNLIKELY(cqe == NULL)) {
            sv_cq_overrun(cq);
            *overrun = true;
            break;
        }
        prefetch_ahead(rq, delivered, cq, produced);
        enum ibv_wc_status status = fill(rq, wqe, frame);
        cqe->wr_id = wqe->wr_id;
        cqe->retired = &rq->retired;
        cqe->retire_to = ++delivered;
        cqe->byte_len = frame->length;
        cqe->status = (uint8_t)status;
        cqe->opcode = IBV_WC_RECV;
        cqe->vendor_err = 0;
        cqe->wc_flags = 0;
        cqe->qp_num = tags[i];
        produced++;
        if (SV_UNLIKELY(status != IBV_WC_SUCCESS)) {
            cqe->qp_num = rq->number;
            cqe->vendor_err = (uint8_t)status;
            *error = true;
            continue;
        }
        bytes += frame->length;
        if (rq->reports_checksum && sv_checksum_verify(frame))
            cqe->wc_flags = IBV_WC_IP_CSUM_OK;
    }
    rq->delivered = delivered;
    rq->counters.frames += i - *error;
    rq->counters.bytes += bytes;
    sv_cq_publish(cq, produced, *error);
    sv_spin_unlock(&cq->produce_lock);
    return i;
}

SV_HOT void sv_rq_deliver(struct sv_rq *rq, const struct sv_frame *frames, const uint8_t *indexes,
                          const uint32_t *tags, unsigned count)
{
    bool error = false;
    bool overrun = false;

    sv_spin_lock(&rq->deliver_lock);
    if (SV_UNLIKELY(atomic_load_explicit(&rq->state, memory_order_relaxed) != SV_RQ_ON)) {
        rq->counters.not_ready += count;
        sv_spin_unlock(&rq->deliver_lock);
        return;
    }
    unsigned usable = receives_for(rq, count);
    unsigned used = 0;
    if (SV_LIKELY(usable > 0))
        used = deliver_some(rq, frames, indexes, tags, usable, &error, &overrun);
    if (SV_UNLIKELY(used < count)) {
        if (overrun)
            rq->counters.cq_overruns += count - used;
        else if (error)
            rq->counters.not_ready += count - used;
        else
            rq->counters.no_receive += count - used;
    }
    if (SV_UNLIKELY(error || (overrun && !rq->cq->ignore_overrun)))
        enter_error(rq, overrun);
    sv_spin_unlock(&rq->deliver_lock);
}
