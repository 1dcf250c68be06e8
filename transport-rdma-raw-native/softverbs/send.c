/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post_send. Frames are sent on the caller's thread. A call builds its work requests into bursts, passes each burst to
 * the port in one call, and then adds the completions under one lock.
 */
#include "send.h"

#include "checksum.h"

#include <errno.h>

static void add_completions(struct sv_burst *burst)
{
    struct sv_cq *cq = (struct sv_cq *)burst->qp->ibv.send_cq;
    unsigned lost = 0;

    sv_spin_lock(&cq->produce_lock);
    uint32_t produced = sv_cq_produced(cq);
    for (unsigned i = 0; i < burst->completion_count; i++) {
        struct sv_cqe *cqe = sv_cq_slot(cq, produced);
        if (SV_UNLIKELY(cqe == NULL)) {
            sv_cq_overrun(cq);
            lost++;
            continue;
        }
        *cqe = burst->completion[i];
        produced++;
    }
    bool must_notify = sv_cq_publish(cq, produced, burst->error);
    sv_spin_unlock(&cq->produce_lock);
    if (SV_UNLIKELY(must_notify))
        sv_channel_notify(cq);
    burst->completion_count = 0;
    if (SV_UNLIKELY(lost > 0)) {
        burst->qp->sq.counters.cq_overruns += lost;
        if (!cq->ignore_overrun && atomic_load_explicit(&burst->qp->state, memory_order_relaxed) != IBV_QPS_ERR) {
            struct ibv_async_event event = {.element.qp = &burst->qp->ibv, .event_type = IBV_EVENT_QP_FATAL};
            sv_qp_enter_error(burst->qp);
            sv_async_raise(sv_context_of(burst->qp->ibv.context), &event);
        }
    }
}

static void finish_burst(struct sv_burst *burst)
{
    sv_burst_transmit(burst);
    if (burst->completion_count > 0)
        add_completions(burst);
}

/* Copies a work request's gather list. */
static enum ibv_wc_status gather_elements(const struct sv_qp *qp, const struct ibv_send_wr *wr, uint8_t *to)
{
    for (int i = 0; i < wr->num_sge; i++) {
        const struct ibv_sge *sge = &wr->sg_list[i];
        const uint8_t *from = (const uint8_t *)(uintptr_t)sge->addr;
        if (sge->length == 0)
            continue;
        if (!(wr->send_flags & IBV_SEND_INLINE))
            from = sv_mr_translate(qp->device->mrs, (const struct sv_pd *)qp->ibv.pd, sge->lkey, sge->addr,
                                   sge->length, 0);
        if (from == NULL)
            return IBV_WC_LOC_PROT_ERR;
        sv_copy(to, from, sge->length);
        to += sge->length;
    }
    return IBV_WC_SUCCESS;
}

static inline bool fits_mtu(const struct sv_device *device, const uint8_t *data, uint32_t length)
{
    return sv_frame_fits(atomic_load_explicit(&device->mtu, memory_order_relaxed), data, length);
}

/* Builds a frame that has to be copied, because it has several elements or needs a checksum. */
static enum ibv_wc_status build_copy(struct sv_burst *burst, const struct ibv_send_wr *wr, uint32_t length)
{
    if (length > SV_MAX_FRAME_BYTES)
        return IBV_WC_LOC_LEN_ERR;
    uint8_t *copy = sv_burst_reserve_scratch(burst, length);
    enum ibv_wc_status status = gather_elements(burst->qp, wr, copy);
    if (status != IBV_WC_SUCCESS)
        return status;
    if (!fits_mtu(burst->qp->device, copy, length))
        return IBV_WC_LOC_LEN_ERR;
    if (wr->send_flags & IBV_SEND_IP_CSUM) {
        struct sv_headers headers;
        sv_checksum_fill(copy, length, sv_parse_headers(copy, length, &headers));
    }
    sv_burst_add_frame(burst, copy, length);
    return IBV_WC_SUCCESS;
}

static inline enum ibv_wc_status build_frame(struct sv_burst *burst, const struct ibv_send_wr *wr, uint32_t length)
{
    struct sv_qp *qp = burst->qp;
    if (SV_UNLIKELY(qp->sq.injected_status != 0)) {
        enum ibv_wc_status status = (enum ibv_wc_status)qp->sq.injected_status;
        qp->sq.injected_status = 0;
        qp->sq.counters.injected_errors++;
        return status;
    }
    if (SV_UNLIKELY(wr->opcode == IBV_WR_TSO))
        return sv_tso_send(burst, wr, length);
    if (wr->num_sge != 1 || (wr->send_flags & IBV_SEND_IP_CSUM))
        return build_copy(burst, wr, length);
    const uint8_t *data = (const uint8_t *)(uintptr_t)wr->sg_list->addr;
    if (!(wr->send_flags & IBV_SEND_INLINE)) {
        data = sv_mr_translate(qp->device->mrs, (const struct sv_pd *)qp->ibv.pd, wr->sg_list->lkey,
                               wr->sg_list->addr, length, 0);
        if (SV_UNLIKELY(data == NULL))
            return IBV_WC_LOC_PROT_ERR;
    }
    if (SV_UNLIKELY(!fits_mtu(qp->device, data, length)))
        return IBV_WC_LOC_LEN_ERR;
    __builtin_prefetch(data);
    sv_burst_add_frame(burst, data, length);
    return IBV_WC_SUCCESS;
}

/* Checks for the errors that mlx5 reports before it queues anything. Stores the sum of the elements in *length. */
static inline int check_request(const struct sv_sq *sq, const struct ibv_send_wr *wr, uint32_t *length)
{
    if (SV_UNLIKELY(wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_TSO))
        return EINVAL;
    if (SV_UNLIKELY((uint32_t)wr->num_sge > sq->max_sge))
        return ENOMEM;
    uint64_t sum = 0;
    for (int i = 0; i < wr->num_sge; i++)
        sum += wr->sg_list[i].length;
    if (SV_UNLIKELY(sum > SV_MAX_TSO_PAYLOAD))
        sum = SV_MAX_TSO_PAYLOAD + 1;       /* too long in any case, which completes as LOC_LEN_ERR */
    *length = (uint32_t)sum;
    if (SV_UNLIKELY(wr->opcode == IBV_WR_TSO))
        return sv_tso_check(sq, wr, *length);
    if (SV_UNLIKELY(sum < SV_MIN_SEND_BYTES))
        return EINVAL;
    return SV_UNLIKELY((wr->send_flags & IBV_SEND_INLINE) && sum > sq->max_inline) ? ENOMEM : 0;
}

static inline void complete_request(struct sv_burst *burst, const struct ibv_send_wr *wr, enum ibv_wc_status status,
                                    uint32_t length)
{
    struct sv_sq *sq = &burst->qp->sq;
    uint32_t index = sq->head - 1;
    sq->wr_ring.wr_ids[index & sq->wr_ring.mask] = wr->wr_id;
    burst->completion[burst->completion_count++] =
        sv_cqe_make(&sq->wr_ring, index, wr->opcode == IBV_WR_TSO ? SV_CQE_TSO : SV_CQE_SEND, status, length,
                    burst->qp->ibv.qp_num);
}

static void fail_request(struct sv_burst *burst, const struct ibv_send_wr *wr, enum ibv_wc_status status)
{
    struct softverbs_queue_counters *counters = &burst->qp->sq.counters;
    if (status == IBV_WC_LOC_LEN_ERR)
        counters->length_errors++;
    else if (status == IBV_WC_LOC_PROT_ERR)
        counters->protection_errors++;
    else if (status == IBV_WC_WR_FLUSH_ERR)
        counters->flushed++;
    burst->error = true;
    complete_request(burst, wr, status, 0);
    finish_burst(burst);      /* sends earlier frames and completes them first */
    if (atomic_load_explicit(&burst->qp->state, memory_order_relaxed) != IBV_QPS_ERR)
        sv_qp_enter_error(burst->qp);
}

static inline bool queue_full(struct sv_sq *sq, uint32_t *retired)
{
    if (SV_LIKELY(sq->head - *retired < sq->size))
        return false;
    *retired = atomic_load_explicit(&sq->wr_ring.retired, memory_order_acquire);
    return sq->head - *retired >= sq->size;
}

static inline void send_one(struct sv_burst *burst, const struct ibv_send_wr *wr, uint32_t length)
{
    struct sv_sq *sq = &burst->qp->sq;
    enum ibv_wc_status status = IBV_WC_WR_FLUSH_ERR;
    if (SV_LIKELY(atomic_load_explicit(&burst->qp->state, memory_order_relaxed) != IBV_QPS_ERR))
        status = build_frame(burst, wr, length);
    sq->head++;
    if (SV_UNLIKELY(status != IBV_WC_SUCCESS))
        fail_request(burst, wr, status);
    else if ((wr->send_flags & IBV_SEND_SIGNALED) || sq->signal_all)
        complete_request(burst, wr, IBV_WC_SUCCESS, length);
    if (burst->frame_count == SV_BURST || burst->completion_count == SV_BURST)
        finish_burst(burst);
}

/*
 * Returns the first cached target, or NULL if there is none or the flow rules have changed since it was cached. The
 * caller holds sq.lock, which keeps the target alive.
 */
static inline const struct sv_rq *likely_target(const struct sv_qp *qp)
{
    const struct sv_cached_verdict *cache = qp->sq.cache;
    if (cache->generation != atomic_load_explicit(&qp->device->flows.generation, memory_order_acquire))
        return NULL;
    return cache->verdict.target_count > 0 ? cache->verdict.target[0].rq : NULL;
}

SV_HOT int sv_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
    struct sv_qp *qp = (struct sv_qp *)ibqp;
    struct sv_sq *sq = &qp->sq;
    struct sv_burst burst;
    int error = 0;

    burst.qp = qp;
    burst.frame_count = burst.completion_count = 0;
    burst.error = false;
    sv_spin_lock(&sq->lock);
    enum ibv_qp_state state = atomic_load_explicit(&qp->state, memory_order_relaxed);
    if (SV_UNLIKELY((state != IBV_QPS_RTS && state != IBV_QPS_ERR) || qp->ind_table != NULL)) {
        *bad_wr = wr;
        error = EINVAL;
        wr = NULL;
    }
    burst.likely_rq = wr != NULL ? likely_target(qp) : NULL;
    uint32_t retired = atomic_load_explicit(&sq->wr_ring.retired, memory_order_acquire);
    for (; wr != NULL; wr = wr->next) {
        uint32_t length = 0;
        error = SV_UNLIKELY(queue_full(sq, &retired)) ? ENOMEM : check_request(sq, wr, &length);
        if (SV_UNLIKELY(error != 0)) {
            *bad_wr = wr;
            break;
        }
        send_one(&burst, wr, length);
    }
    finish_burst(&burst);
    sv_spin_unlock(&sq->lock);
    return error;
}
