/* SPDX-License-Identifier: Apache-2.0 */
/* Work queues and indirection tables: the receive side of RSS. */
#include "receive.h"

#include <errno.h>
#include <stdlib.h>

static int post_wq_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
    return sv_rq_post(&((struct sv_wq *)ibwq)->rq, wr, bad_wr);
}

static int check_wq(struct sv_device *device, const struct ibv_context *context, const struct ibv_wq_init_attr *attr)
{
    if (atomic_load(&device->failed))
        return EIO;
    if (device->faults.raw_packet_error != 0)
        return device->faults.raw_packet_error;
    if (attr->wq_type != IBV_WQT_RQ || attr->pd == NULL || attr->cq == NULL || attr->pd->context != context ||
        attr->cq->context != context)
        return EINVAL;
    if (attr->max_wr == 0 || attr->max_wr > SV_MAX_QP_WR || attr->max_sge > SV_MAX_SGE)
        return EINVAL;
    if (attr->comp_mask & ~(uint32_t)IBV_WQ_INIT_ATTR_FLAGS)
        return EINVAL;
    return (attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS) && attr->create_flags != 0 ? EOPNOTSUPP : 0;
}

struct ibv_wq *sv_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
    struct sv_device *device = sv_device_of(context);
    int error = sv_consume_injected_error(device, SOFTVERBS_CALL_CREATE_WQ);
    if (error == 0)
        error = check_wq(device, context, attr);
    if (error != 0)
        return sv_fail(error);
    struct sv_wq *wq = sv_alloc_zeroed(sizeof *wq);
    if (wq == NULL)
        return sv_fail(ENOMEM);
    if (sv_rq_init(&wq->rq, device, attr->max_wr, attr->max_sge == 0 ? 1 : attr->max_sge) != 0) {
        free(wq);
        return sv_fail(ENOMEM);
    }
    wq->rq.pd = (struct sv_pd *)attr->pd;
    wq->rq.cq = (struct sv_cq *)attr->cq;
    atomic_store_explicit(&wq->rq.cq->has_receives, true, memory_order_relaxed);
    wq->rq.wq = wq;
    wq->ibv.context = context;
    wq->ibv.pd = attr->pd;
    wq->ibv.cq = attr->cq;
    wq->ibv.wq_type = attr->wq_type;
    wq->ibv.state = IBV_WQS_RESET;
    wq->ibv.post_recv = post_wq_recv;
    attr->max_wr = wq->rq.size;
    attr->max_sge = wq->rq.max_sge;
    atomic_fetch_add(&wq->rq.pd->users, 1);
    atomic_fetch_add(&wq->rq.cq->users, 1);
    atomic_fetch_add(&sv_context_of(context)->objects, 1);
    sv_device_add_wq(device, wq);
    return &wq->ibv;
}

/* The caller holds deliver_lock; see sv_qp_enter_error_locked(). */
void sv_wq_enter_error_locked(struct sv_wq *wq)
{
    atomic_store_explicit(&wq->rq.state, SV_RQ_ERROR, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    sv_rq_flush(&wq->rq);
}

static enum ibv_wq_state current_state(const struct sv_wq *wq)
{
    switch (atomic_load_explicit(&wq->rq.state, memory_order_relaxed)) {
    case SV_RQ_READY:
        return IBV_WQS_RDY;
    case SV_RQ_ERROR:
        return IBV_WQS_ERR;
    default:
        return IBV_WQS_RESET;
    }
}

static int change_state(struct sv_wq *wq, enum ibv_wq_state from, enum ibv_wq_state to)
{
    if (to == IBV_WQS_RESET) {
        sv_rq_reset(&wq->rq);
        atomic_store_explicit(&wq->rq.state, SV_RQ_RESET, memory_order_relaxed);
        return 0;
    }
    if (to == IBV_WQS_RDY) {
        if (from == IBV_WQS_ERR)
            return EINVAL;
        atomic_store_explicit(&wq->rq.state, SV_RQ_READY, memory_order_relaxed);
        return 0;
    }
    if (from == IBV_WQS_RESET)
        return EINVAL;
    sv_wq_enter_error_locked(wq);
    return 0;
}

int sv_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr)
{
    struct sv_wq *wq = (struct sv_wq *)ibwq;
    int error = sv_consume_injected_error(wq->rq.device, SOFTVERBS_CALL_MODIFY_WQ);
    if (error != 0)
        return error;
    if (attr->attr_mask & IBV_WQ_ATTR_FLAGS)
        return EOPNOTSUPP;
    if (attr->attr_mask & ~(uint32_t)(IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE))
        return EINVAL;
    if ((attr->attr_mask & IBV_WQ_ATTR_STATE) && attr->wq_state > IBV_WQS_ERR)
        return EINVAL;

    sv_spin_lock(&wq->rq.post_lock);
    sv_spin_lock(&wq->rq.deliver_lock);
    enum ibv_wq_state from = current_state(wq);
    if ((attr->attr_mask & IBV_WQ_ATTR_CURR_STATE) && attr->curr_wq_state != from)
        error = EINVAL;
    else if (attr->attr_mask & IBV_WQ_ATTR_STATE)
        error = change_state(wq, from, attr->wq_state);
    if (error == 0)
        ibwq->state = current_state(wq);
    sv_spin_unlock(&wq->rq.deliver_lock);
    sv_spin_unlock(&wq->rq.post_lock);
    return error;
}

int sv_destroy_wq(struct ibv_wq *ibwq)
{
    struct sv_wq *wq = (struct sv_wq *)ibwq;
    struct sv_device *device = wq->rq.device;
    if (atomic_load(&wq->users) != 0)
        return EBUSY;
    sv_device_remove_wq(device, wq);
    sv_async_withdraw_events(sv_context_of(ibwq->context), wq);
    pthread_mutex_lock(&ibwq->mutex);
    while (ibwq->events_completed != wq->async_events_reported)
        pthread_cond_wait(&ibwq->cond, &ibwq->mutex);
    pthread_mutex_unlock(&ibwq->mutex);
    sv_rq_clear_gso_wq(&wq->rq);
    /* Received frames that were not polled are lost. */
    sv_device_lock(device);
    device->closed_received.not_ready += sv_cq_purge(wq->rq.cq, &wq->rq.wr_ring);
    sv_device_unlock(device);
    atomic_fetch_sub(&wq->rq.pd->users, 1);
    atomic_fetch_sub(&wq->rq.cq->users, 1);
    atomic_fetch_sub(&sv_context_of(ibwq->context)->objects, 1);
    sv_rq_destroy(&wq->rq);
    free(wq);
    return 0;
}

struct ibv_rwq_ind_table *sv_create_rwq_ind_table(struct ibv_context *context,
                                                  struct ibv_rwq_ind_table_init_attr *attr)
{
    int error = sv_consume_injected_error(sv_device_of(context), SOFTVERBS_CALL_CREATE_IND_TABLE);
    if (error == 0 && (attr->comp_mask != 0 || attr->log_ind_tbl_size > 31 ||
                       (1u << attr->log_ind_tbl_size) > SV_MAX_IND_TABLE))
        error = EINVAL;
    if (error != 0)
        return sv_fail(error);
    uint32_t size = 1u << attr->log_ind_tbl_size;
    for (uint32_t i = 0; i < size; i++)
        if (attr->ind_tbl[i] == NULL || attr->ind_tbl[i]->context != context)
            return sv_fail(EINVAL);
    struct sv_ind_table *table = sv_alloc_zeroed(sizeof *table + size * sizeof table->wqs[0]);
    if (table == NULL)
        return sv_fail(ENOMEM);
    for (uint32_t i = 0; i < size; i++) {
        table->wqs[i] = (struct sv_wq *)attr->ind_tbl[i];
        atomic_fetch_add(&table->wqs[i]->users, 1);
    }
    table->mask = size - 1;
    table->ibv.context = context;
    table->ibv.ind_tbl_num = table->ibv.ind_tbl_handle = (int)atomic_fetch_add(&sv_context_of(context)->objects, 1);
    return &table->ibv;
}

int sv_destroy_rwq_ind_table(struct ibv_rwq_ind_table *ibtable)
{
    struct sv_ind_table *table = (struct sv_ind_table *)ibtable;
    if (atomic_load(&table->users) != 0)
        return EBUSY;
    for (uint32_t i = 0; i <= table->mask; i++)
        atomic_fetch_sub(&table->wqs[i]->users, 1);
    atomic_fetch_sub(&sv_context_of(ibtable->context)->objects, 1);
    free(table);
    return 0;
}
