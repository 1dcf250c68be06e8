/* SPDX-License-Identifier: Apache-2.0 */
/* Step 4 of the receive path: delivers a run of frames to a receive queue. Acquires each lock once per run. */
#include "receive.h"

#include "checksum.h"
#include "rings.h"
#include "gso_frame.h"

static enum ibv_wc_status scatter(const struct sv_rq *rq, const struct ibv_sge *wqe, const struct sv_frame *frame)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < rq->max_sge && done < frame->length; i++) {
        uint32_t part = frame->length - done;
        if (part > wqe[i].length)
            part = wqe[i].length;
        if (part == 0)
            continue;       /* also true for unused elements, which have no key */
        uint8_t *to = sv_mr_translate(rq->device->mrs, rq->pd, wqe[i].lkey, wqe[i].addr, part,
                                      IBV_ACCESS_LOCAL_WRITE);
        if (to == NULL)
            return IBV_WC_LOC_PROT_ERR;
        sv_frame_copy(to, frame, done, part);
        done += part;
    }
    return done == frame->length ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
}

/* Returns the status that a test has injected for the next receive: see fault.c. */
static enum ibv_wc_status consume_injected_status(struct sv_rq *rq)
{
    enum ibv_wc_status status = (enum ibv_wc_status)rq->injected_status;
    rq->injected_status = 0;
    rq->counters.injected_errors++;
    return status;
}

static inline enum ibv_wc_status fill_receive(struct sv_rq *rq, const struct ibv_sge *wqe, const struct sv_frame *frame)
{
    if (SV_UNLIKELY(rq->injected_status != 0))
        return consume_injected_status(rq);
    enum ibv_wc_status status;
    if (SV_LIKELY(wqe[0].length >= frame->length)) {
        uint8_t *to = sv_mr_translate(rq->device->mrs, rq->pd, wqe[0].lkey, wqe[0].addr, frame->length,
                                      IBV_ACCESS_LOCAL_WRITE);
        if (SV_LIKELY(to != NULL)) {
            if (SV_LIKELY(frame->rest == NULL))
                sv_copy(to, frame->data, frame->length);
            else
                sv_frame_copy(to, frame, 0, frame->length);
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
        sv_qp_enter_error_locked(rq->qp);
    else
        sv_wq_enter_error_locked(rq->wq);
    if (!overrun)
        return;
    struct ibv_async_event event;
    if (rq->qp != NULL)
        event = (struct ibv_async_event){.element.qp = &rq->qp->ibv, .event_type = IBV_EVENT_QP_FATAL};
    else
        event = (struct ibv_async_event){.element.wq = &rq->wq->ibv, .event_type = IBV_EVENT_WQ_FATAL};
    sv_async_raise(sv_context_of(rq->pd->ibv.context), &event);
}

/* Returns how many of `count` frames the posted receives can hold. Reads the poster's index only if necessary. */
static inline unsigned available_receives(struct sv_rq *rq, unsigned count)
{
    uint32_t delivered = atomic_load_explicit(&rq->delivered, memory_order_relaxed);
    uint32_t available = atomic_load_explicit(&rq->posted_seen, memory_order_relaxed) - delivered;
    if (available < count + SV_PREFETCH_REQUESTS) {
        uint32_t posted = atomic_load_explicit(&rq->posted, memory_order_acquire);
        atomic_store_explicit(&rq->posted_seen, posted, memory_order_relaxed);
        available = posted - delivered;
    }
    return available < count ? available : count;
}

static inline void prefetch_ahead(const struct sv_rq *rq, uint32_t posted, uint32_t delivered, const struct sv_cq *cq,
                                  uint32_t produced)
{
    if (delivered % SV_ENTRIES_PER_LINE == 0 && posted - delivered > SV_PREFETCH_REQUESTS)
        __builtin_prefetch(sv_rq_wqe(rq, delivered + SV_PREFETCH_REQUESTS));
    if (produced % SV_ENTRIES_PER_LINE == 0)
        sv_prefetch_write(&cq->ring[(produced + SV_PREFETCH_COMPLETIONS) & cq->mask]);
}

/* Returns true if the error stops the queue. As with mlx5, other errors concern one frame only. */
static inline bool stops_queue(enum ibv_wc_status status)
{
    return status == IBV_WC_LOC_PROT_ERR || status == IBV_WC_LOC_QP_OP_ERR || status == IBV_WC_WR_FLUSH_ERR;
}

/* Delivers up to `count` frames; returns the number of work requests used. Sets *error if the last one stops it. */
static inline unsigned deliver_frames(struct sv_rq *rq, const struct sv_frame *frames, const uint8_t *indexes,
                                      const uint32_t *tags, unsigned count, bool *error, bool *overrun)
{
    struct sv_cq *cq = rq->cq;
    uint32_t delivered = atomic_load_explicit(&rq->delivered, memory_order_relaxed);
    uint32_t posted = atomic_load_explicit(&rq->posted_seen, memory_order_relaxed);
    uint64_t bytes = 0;
    unsigned failed = 0;
    unsigned i;

    sv_spin_lock(&cq->produce_lock);
    uint32_t produced = sv_cq_produced(cq);
    for (i = 0; i < count && !*error; i++) {
        const struct sv_frame *frame = &frames[indexes[i]];
        const struct ibv_sge *wqe = sv_rq_wqe(rq, delivered);
        struct sv_cqe *cqe = sv_cq_slot(cq, produced);
        if (SV_UNLIKELY(cqe == NULL)) {
            sv_cq_overrun(cq);
            *overrun = true;
            break;
        }
        prefetch_ahead(rq, posted, delivered, cq, produced);
        enum ibv_wc_status status = fill_receive(rq, wqe, frame);
        produced++;
        if (SV_UNLIKELY(status != IBV_WC_SUCCESS)) {
            *cqe = sv_cqe_make(&rq->wr_ring, delivered++, SV_CQE_RECV, status, 0, rq->number);
            failed++;
            *error = stops_queue(status);
            continue;
        }
        *cqe = sv_cqe_make(&rq->wr_ring, delivered++, SV_CQE_RECV, status, frame->length, tags[i]);
        bytes += frame->length;
        if (rq->reports_checksum && (SV_UNLIKELY(frame->checksums_done) ? frame->layout.l3 == 4 && frame->layout.l4 != 0
                                                                        : sv_checksum_verify(frame)))
            cqe->info |= SV_CQE_CHECKSUM_OK;
    }
    atomic_store_explicit(&rq->delivered, delivered, memory_order_relaxed);
    rq->counters.frames += i - failed;
    rq->counters.bytes += bytes;
    bool must_notify = sv_cq_publish(cq, produced, failed > 0);
    sv_spin_unlock(&cq->produce_lock);
    if (SV_UNLIKELY(must_notify))
        sv_channel_notify(cq);
    return i;
}

/*
 * Adds the completion of an unsegmented GSO frame. Returns false if the completion queue is full. The caller holds
 * deliver_lock.
 */
static bool complete_gso_frame(struct sv_rq *rq, enum ibv_wc_status status, uint32_t length, uint32_t tag)
{
    struct sv_cq *cq = rq->cq;
    uint32_t delivered = atomic_load_explicit(&rq->delivered, memory_order_relaxed);
    bool good = status == IBV_WC_SUCCESS;
    bool must_notify = false;
    sv_spin_lock(&cq->produce_lock);
    uint32_t produced = sv_cq_produced(cq);
    struct sv_cqe *cqe = sv_cq_slot(cq, produced);
    if (cqe != NULL) {
        *cqe = sv_cqe_make(&rq->wr_ring, delivered, SV_CQE_RECV, status, good ? length : 0, good ? tag : rq->number);
        cqe->info |= good ? SV_CQE_CHECKSUM_OK : 0;
        atomic_store_explicit(&rq->delivered, delivered + 1, memory_order_relaxed);
        rq->counters.frames += good;
        rq->counters.bytes += good ? length : 0;
        must_notify = sv_cq_publish(cq, produced + 1, !good);
    } else {
        sv_cq_overrun(cq);
        rq->counters.cq_overruns++;
    }
    sv_spin_unlock(&cq->produce_lock);
    if (SV_UNLIKELY(must_notify))
        sv_channel_notify(cq);
    return cqe != NULL;
}

/*
 * Returns true if the next receive suits the frame: it is long enough, and the frame fills at least half of it.
 * Otherwise a receiver would use much more memory than it has data.
 */
static bool fits_receive(const struct ibv_sge *element, uint32_t length)
{
    return length <= element->length && length >= element->length / 2;
}

/* The caller holds deliver_lock. */
static enum ibv_wc_status copy_gso_frame(struct sv_rq *rq, const struct ibv_sge *element,
                                         const struct sv_gso_frame *gso_frame, bool *lost)
{
    if (SV_UNLIKELY(rq->injected_status != 0))
        return consume_injected_status(rq);
    uint8_t *to = sv_mr_translate(rq->device->mrs, rq->pd, element->lkey, element->addr, gso_frame->length,
                                  IBV_ACCESS_LOCAL_WRITE);
    rq->counters.protection_errors += to == NULL;
    *lost = to != NULL && !gso_frame->copy(gso_frame, to);
    return to != NULL ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR;
}

/* The caller holds deliver_lock. */
static enum sv_gso_delivery deliver_gso_frame(struct sv_rq *rq, const struct sv_gso_frame *gso_frame, uint32_t tag)
{
    bool lost = false;
    if (atomic_load_explicit(&rq->state, memory_order_relaxed) != SV_RQ_READY || available_receives(rq, 1) == 0)
        return SV_GSO_REFUSED;
    const struct ibv_sge *element = sv_rq_wqe(rq, atomic_load_explicit(&rq->delivered, memory_order_relaxed));
    if (!fits_receive(element, gso_frame->length))
        return SV_GSO_REFUSED;
    enum ibv_wc_status status = copy_gso_frame(rq, element, gso_frame, &lost);
    if (lost)
        return SV_GSO_LOST;
    bool completed = complete_gso_frame(rq, status, gso_frame->length, tag);
    if (stops_queue(status) || (!completed && !rq->cq->ignore_overrun))
        enter_error(rq, !completed);
    if (status != IBV_WC_SUCCESS)
        return SV_GSO_REFUSED;          /* the frame has not been read yet */
    return completed ? SV_GSO_DELIVERED : SV_GSO_LOST;
}

enum sv_gso_delivery sv_rq_deliver_gso(struct sv_rq *rq, const struct sv_gso_frame *gso_frame, uint32_t tag)
{
    sv_spin_lock(&rq->deliver_lock);
    enum sv_gso_delivery result = deliver_gso_frame(rq, gso_frame, tag);
    sv_spin_unlock(&rq->deliver_lock);
    return result;
}

SV_HOT void sv_rq_deliver(struct sv_rq *rq, const struct sv_frame *frames, const uint8_t *indexes,
                          const uint32_t *tags, unsigned count)
{
    bool error = false;
    bool overrun = false;

    sv_spin_lock(&rq->deliver_lock);
    if (SV_UNLIKELY(atomic_load_explicit(&rq->state, memory_order_relaxed) != SV_RQ_READY)) {
        rq->counters.not_ready += count;
        sv_spin_unlock(&rq->deliver_lock);
        return;
    }
    unsigned usable = available_receives(rq, count);
    unsigned used = 0;
    if (SV_LIKELY(usable > 0))
        used = deliver_frames(rq, frames, indexes, tags, usable, &error, &overrun);
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
