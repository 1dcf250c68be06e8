/* SPDX-License-Identifier: Apache-2.0 */
/* Receive queues: posting, reset and flush. receive_deliver.c fills the receives. */
#include "device.h"
#include "rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sv_rq_init(struct sv_rq *rq, struct sv_device *device, uint32_t max_wr, uint32_t max_sge)
{
    rq->device = device;
    rq->size = max_wr == 0 ? 0 : sv_round_up_pow2(max_wr);
    rq->max_sge = max_sge;
    size_t slots = rq->size == 0 ? 1 : rq->size;
    rq->ring = sv_alloc_zeroed(slots * max_sge * sizeof *rq->ring);
    rq->wr_ring.wr_ids = sv_alloc_zeroed(slots * sizeof *rq->wr_ring.wr_ids);
    rq->wr_ring.mask = (uint32_t)slots - 1;
    return rq->ring == NULL || rq->wr_ring.wr_ids == NULL ? ENOMEM : 0;
}

void sv_rq_destroy(struct sv_rq *rq)
{
    free(rq->ring);
    free(rq->wr_ring.wr_ids);
}

/* The caller holds post_lock and deliver_lock. */
void sv_rq_reset(struct sv_rq *rq)
{
    /* The frames of these completions are lost. */
    rq->counters.not_ready += sv_cq_purge(rq->cq, &rq->wr_ring);
    atomic_store_explicit(&rq->posted, 0, memory_order_relaxed);
    atomic_store_explicit(&rq->wr_ring.retired, 0, memory_order_relaxed);
    atomic_store_explicit(&rq->delivered, 0, memory_order_relaxed);
    atomic_store_explicit(&rq->posted_seen, 0, memory_order_relaxed);
    rq->injected_status = 0;
}

/* Completes all posted receives as flushed. The caller holds deliver_lock. */
void sv_rq_flush(struct sv_rq *rq)
{
    uint32_t posted = atomic_load_explicit(&rq->posted, memory_order_acquire);
    uint32_t delivered = atomic_load_explicit(&rq->delivered, memory_order_relaxed);
    for (; delivered != posted; delivered++) {
        struct sv_cqe cqe = sv_cqe_make(&rq->wr_ring, delivered, SV_CQE_RECV, IBV_WC_WR_FLUSH_ERR, 0, rq->number);
        rq->counters.flushed++;
        sv_cq_push(rq->cq, &cqe);
    }
    atomic_store_explicit(&rq->delivered, delivered, memory_order_relaxed);
    atomic_store_explicit(&rq->posted_seen, posted, memory_order_relaxed);
}

static inline int store(struct sv_rq *rq, uint32_t index, const struct ibv_recv_wr *wr)
{
    if (SV_UNLIKELY((uint32_t)wr->num_sge > rq->max_sge))
        return EINVAL;
    struct ibv_sge *wqe = sv_rq_wqe(rq, index);
    rq->wr_ring.wr_ids[index & (rq->size - 1)] = wr->wr_id;
    for (int i = 0; i < wr->num_sge; i++)
        wqe[i] = wr->sg_list[i];
    for (uint32_t i = (uint32_t)wr->num_sge; i < rq->max_sge; i++)
        wqe[i].length = 0;
    return 0;
}

SV_HOT int sv_rq_post(struct sv_rq *rq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
    int error = 0;

    sv_spin_lock(&rq->post_lock);
    uint32_t posted = atomic_load_explicit(&rq->posted, memory_order_relaxed);
    uint32_t retired = atomic_load_explicit(&rq->wr_ring.retired, memory_order_acquire);
    if (SV_UNLIKELY(atomic_load_explicit(&rq->state, memory_order_relaxed) == SV_RQ_RESET)) {
        *bad_wr = wr;
        error = EINVAL;
        wr = NULL;
    }
    for (; wr != NULL; wr = wr->next) {
        error = SV_UNLIKELY(posted - retired >= rq->size) ? ENOMEM : store(rq, posted, wr);
        if (SV_UNLIKELY(error != 0)) {
            *bad_wr = wr;
            break;
        }
        posted++;
    }
    atomic_store_explicit(&rq->posted, posted, memory_order_release);
    /*
     * Pairs with sv_qp_enter_error_locked(): it sees these receives, or this thread sees the state and flushes
     * them.
     */
    atomic_thread_fence(memory_order_seq_cst);
    if (SV_UNLIKELY(atomic_load_explicit(&rq->state, memory_order_relaxed) == SV_RQ_ERROR)) {
        sv_spin_lock(&rq->deliver_lock);
        sv_rq_flush(rq);
        sv_spin_unlock(&rq->deliver_lock);
    }
    sv_spin_unlock(&rq->post_lock);
    return error;
}

SV_HOT int sv_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
    struct sv_qp *qp = (struct sv_qp *)ibqp;
    if (SV_UNLIKELY(qp->ind_table != NULL)) {
        *bad_wr = wr;
        return EINVAL;
    }
    return sv_rq_post(&qp->rq, wr, bad_wr);
}
