/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and destroys queue pairs. Only raw packet queue pairs exist, plain or over work queues (RSS). */
#include "receive.h"
#include "send.h"

#include <errno.h>
#include <stdlib.h>

static const uint32_t known_masks = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
                                    IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_IND_TABLE |
                                    IBV_QP_INIT_ATTR_RX_HASH;

static int check_common(struct sv_device *device, struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
    if (attr->qp_type != IBV_QPT_RAW_PACKET)
        return EOPNOTSUPP;
    if (atomic_load(&device->failed))
        return EIO;
    if (device->faults.raw_packet_error != 0)
        return device->faults.raw_packet_error;
    if (attr->comp_mask & ~known_masks)
        return EOPNOTSUPP;
    if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || attr->pd == NULL || attr->pd->context != context)
        return EINVAL;
    if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
        (attr->create_flags & ~(uint32_t)IBV_QP_CREATE_BLOCK_SELF_MCAST_LB))
        return EOPNOTSUPP;
    return attr->srq != NULL ? EINVAL : 0;
}

static int check_plain(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
    const struct ibv_qp_cap *cap = &attr->cap;
    if (attr->send_cq == NULL || attr->recv_cq == NULL || attr->send_cq->context != context ||
        attr->recv_cq->context != context)
        return EINVAL;
    if (cap->max_send_wr > SV_MAX_QP_WR || cap->max_recv_wr > SV_MAX_QP_WR || cap->max_send_sge > SV_MAX_SGE ||
        cap->max_recv_sge > SV_MAX_SGE || cap->max_inline_data > SV_MAX_INLINE)
        return EINVAL;
    if ((attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER) && attr->max_tso_header > SV_MAX_TSO_HEADER)
        return EINVAL;
    return (attr->comp_mask & IBV_QP_INIT_ATTR_RX_HASH) ? EINVAL : 0;
}

/* An RSS queue pair has no queues and no completion queues. */
static int check_rss(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
    if (!(attr->comp_mask & IBV_QP_INIT_ATTR_RX_HASH) || attr->rwq_ind_tbl == NULL ||
        attr->rwq_ind_tbl->context != context)
        return EINVAL;
    if (attr->recv_cq != NULL || attr->cap.max_recv_wr != 0 || attr->cap.max_recv_sge != 0)
        return EINVAL;
    if (attr->send_cq != NULL || attr->cap.max_send_wr != 0)
        return EOPNOTSUPP;
    return sv_rss_check(&attr->rx_hash_conf);
}

static int init_rss(struct sv_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
    qp->rss = sv_rss_create(attr->rx_hash_conf.rx_hash_key, attr->rx_hash_conf.rx_hash_fields_mask);
    if (qp->rss == NULL)
        return ENOMEM;
    qp->ind_table = (struct sv_ind_table *)attr->rwq_ind_tbl;
    atomic_fetch_add(&qp->ind_table->users, 1);
    atomic_init(&qp->state, IBV_QPS_RTS);
    qp->ibv.state = IBV_QPS_RTS;
    return 0;
}

static uint32_t at_least_one(uint32_t value)
{
    return value == 0 ? 1 : value;
}

static int init_plain(struct sv_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
    struct sv_sq *sq = &qp->sq;
    sq->size = attr->cap.max_send_wr == 0 ? 0 : sv_round_up_pow2(attr->cap.max_send_wr);
    sq->max_sge = at_least_one(attr->cap.max_send_sge);
    sq->max_inline = attr->cap.max_inline_data;
    sq->signal_all = attr->sq_sig_all != 0;
    if (attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER)
        sq->max_tso_header = attr->max_tso_header;
    sq->wr_ring.mask = sq->size == 0 ? 0 : sq->size - 1;
    sq->wr_ring.wr_ids = sv_alloc_zeroed((sq->wr_ring.mask + 1) * sizeof *sq->wr_ring.wr_ids);
    sq->scratch = malloc(SV_SCRATCH_BYTES);
    sq->cache = sv_alloc_zeroed(sizeof *sq->cache);
    int error = sv_rq_init(&qp->rq, qp->device, attr->cap.max_recv_wr, at_least_one(attr->cap.max_recv_sge));
    if (error != 0 || sq->wr_ring.wr_ids == NULL || sq->scratch == NULL || sq->cache == NULL)
        return ENOMEM;
    qp->rq.pd = (struct sv_pd *)attr->pd;
    qp->rq.cq = (struct sv_cq *)attr->recv_cq;
    atomic_store_explicit(&qp->rq.cq->has_receives, true, memory_order_relaxed);
    qp->rq.qp = qp;
    qp->rq.reports_checksum = true;
    qp->cap = (struct ibv_qp_cap){.max_send_wr = sq->size, .max_recv_wr = qp->rq.size, .max_send_sge = sq->max_sge,
                                  .max_recv_sge = qp->rq.max_sge, .max_inline_data = sq->max_inline};
    qp->ibv.send_cq = attr->send_cq;
    qp->ibv.recv_cq = attr->recv_cq;
    atomic_fetch_add(&((struct sv_cq *)attr->send_cq)->users, 1);
    atomic_fetch_add(&((struct sv_cq *)attr->recv_cq)->users, 1);
    return 0;
}

static void free_qp(struct sv_qp *qp)
{
    sv_rq_destroy(&qp->rq);
    free(qp->sq.wr_ring.wr_ids);
    free(qp->sq.scratch);
    free(qp->sq.cache);
    free(qp->rss);
    free(qp);
}

struct ibv_qp *sv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
    struct sv_device *device = sv_device_of(context);
    bool rss = attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE;
    int error = sv_consume_injected_error(device, SOFTVERBS_CALL_CREATE_QP);
    if (error == 0)
        error = check_common(device, context, attr);
    if (error == 0)
        error = rss ? check_rss(context, attr) : check_plain(context, attr);
    if (error != 0)
        return sv_fail(error);
    struct sv_qp *qp = sv_alloc_zeroed(sizeof *qp);
    if (qp == NULL)
        return sv_fail(ENOMEM);
    qp->device = device;
    qp->ibv.context = context;
    qp->ibv.qp_context = attr->qp_context;
    qp->ibv.pd = attr->pd;
    qp->ibv.qp_type = attr->qp_type;
    qp->blocks_self_multicast = (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
                                (attr->create_flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB);
    pthread_mutex_init(&qp->ibv.mutex, NULL);
    pthread_cond_init(&qp->ibv.cond, NULL);
    error = rss ? init_rss(qp, attr) : init_plain(qp, attr);
    if (error != 0) {
        free_qp(qp);
        return sv_fail(error);
    }
    atomic_fetch_add(&((struct sv_pd *)attr->pd)->users, 1);
    atomic_fetch_add(&sv_context_of(context)->objects, 1);
    sv_device_add_qp(device, qp);
    attr->cap = qp->cap;
    return &qp->ibv;
}

SV_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp_init_attr_ex ex = {
        .qp_context = attr->qp_context,
        .send_cq = attr->send_cq,
        .recv_cq = attr->recv_cq,
        .srq = attr->srq,
        .cap = attr->cap,
        .qp_type = attr->qp_type,
        .sq_sig_all = attr->sq_sig_all,
        .comp_mask = IBV_QP_INIT_ATTR_PD,
        .pd = pd,
    };
    struct ibv_qp *qp = sv_create_qp_ex(pd->context, &ex);
    if (qp != NULL)
        attr->cap = ex.cap;
    return qp;
}

/* Counts received frames that were not polled, which are lost. */
static void count_unpolled(struct sv_device *device, uint32_t frames)
{
    sv_device_lock(device);
    device->closed_received.not_ready += frames;
    sv_device_unlock(device);
}

static void drop_references(struct sv_qp *qp)
{
    sv_rq_clear_gso_wq(&qp->rq);
    if (qp->ind_table != NULL) {
        atomic_fetch_sub(&qp->ind_table->users, 1);
    } else {
        struct sv_cq *send_cq = (struct sv_cq *)qp->ibv.send_cq;
        struct sv_cq *recv_cq = (struct sv_cq *)qp->ibv.recv_cq;
        sv_cq_purge(send_cq, &qp->sq.wr_ring);
        count_unpolled(qp->device, sv_cq_purge(recv_cq, &qp->rq.wr_ring));
        atomic_fetch_sub(&send_cq->users, 1);
        atomic_fetch_sub(&recv_cq->users, 1);
    }
    atomic_fetch_sub(&((struct sv_pd *)qp->ibv.pd)->users, 1);
    atomic_fetch_sub(&sv_context_of(qp->ibv.context)->objects, 1);
}

SV_EXPORT int ibv_destroy_qp(struct ibv_qp *ibqp)
{
    struct sv_qp *qp = (struct sv_qp *)ibqp;
    struct sv_device *device = qp->device;
    int error = sv_consume_injected_error(device, SOFTVERBS_CALL_DESTROY_QP);
    if (error == 0)
        error = sv_device_remove_qp(device, qp);
    if (error != 0)
        return error;

    sv_async_withdraw_events(sv_context_of(ibqp->context), qp);
    pthread_mutex_lock(&ibqp->mutex);
    while (ibqp->events_completed != qp->async_events_reported)
        pthread_cond_wait(&ibqp->cond, &ibqp->mutex);
    pthread_mutex_unlock(&ibqp->mutex);
    drop_references(qp);
    pthread_mutex_destroy(&ibqp->mutex);
    pthread_cond_destroy(&ibqp->cond);
    free_qp(qp);
    return 0;
}

SV_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
    (void)qp;       /* no queue pair has send_ops_flags */
    return NULL;
}
