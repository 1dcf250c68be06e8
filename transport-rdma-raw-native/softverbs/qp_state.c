/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of a raw packet queue pair, with the kernel's rules for the attributes of each transition. */
#include "device.h"

#include <errno.h>
#include <string.h>

struct transition {
    bool valid;
    int required;
    int optional;
};

/* Row: from, column: to, as in ib_modify_qp_is_ok() of the kernel. RESET and ERR can follow nearly every state. */
static const struct transition transitions[IBV_QPS_ERR + 1][IBV_QPS_ERR + 1] = {
    [IBV_QPS_RESET] = {[IBV_QPS_RESET] = {true, 0, 0}, [IBV_QPS_INIT] = {true, IBV_QP_PORT, 0}},
    [IBV_QPS_INIT] = {[IBV_QPS_RESET] = {true, 0, 0}, [IBV_QPS_ERR] = {true, 0, 0},
                      [IBV_QPS_INIT] = {true, 0, IBV_QP_PORT}, [IBV_QPS_RTR] = {true, 0, 0}},
    [IBV_QPS_RTR] = {[IBV_QPS_RESET] = {true, 0, 0}, [IBV_QPS_ERR] = {true, 0, 0},
                     [IBV_QPS_RTS] = {true, 0, IBV_QP_CUR_STATE}},
    [IBV_QPS_RTS] = {[IBV_QPS_RESET] = {true, 0, 0}, [IBV_QPS_ERR] = {true, 0, 0},
                     [IBV_QPS_RTS] = {true, 0, IBV_QP_CUR_STATE},
                     [IBV_QPS_SQD] = {true, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY}},
    [IBV_QPS_SQD] = {[IBV_QPS_RESET] = {true, 0, 0}, [IBV_QPS_ERR] = {true, 0, 0},
                     [IBV_QPS_RTS] = {true, 0, IBV_QP_CUR_STATE}, [IBV_QPS_SQD] = {true, 0, 0}},
    [IBV_QPS_SQE] = {[IBV_QPS_RESET] = {true, 0, 0}, [IBV_QPS_ERR] = {true, 0, 0},
                     [IBV_QPS_RTS] = {true, 0, IBV_QP_CUR_STATE}},
    [IBV_QPS_ERR] = {[IBV_QPS_RESET] = {true, 0, 0}, [IBV_QPS_ERR] = {true, 0, 0}},
};

static int check_transition(enum ibv_qp_state from, enum ibv_qp_state to, const struct ibv_qp_attr *attr, int mask)
{
    if ((unsigned)to > IBV_QPS_ERR || !transitions[from][to].valid)
        return EINVAL;
    const struct transition *t = &transitions[from][to];
    if ((mask & t->required) != t->required || (mask & ~(t->required | t->optional | IBV_QP_STATE)))
        return EINVAL;
    if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != from)
        return EINVAL;
    return (mask & IBV_QP_PORT) && attr->port_num != SV_PORT_NUM ? EINVAL : 0;
}

/*
 * Moves the queue pair to ERR: posted work requests complete as flushed. The caller holds deliver_lock. A later poster
 * sees the state, or its work requests are seen here: see the fence in sv_rq_post().
 */
void sv_qp_enter_error_locked(struct sv_qp *qp)
{
    atomic_store_explicit(&qp->state, IBV_QPS_ERR, memory_order_relaxed);
    atomic_store_explicit(&qp->rq.state, SV_RQ_ERROR, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    sv_rq_flush(&qp->rq);
}

void sv_qp_enter_error(struct sv_qp *qp)
{
    sv_spin_lock(&qp->rq.deliver_lock);
    sv_qp_enter_error_locked(qp);
    sv_spin_unlock(&qp->rq.deliver_lock);
}

static void reset(struct sv_qp *qp)
{
    sv_cq_purge((struct sv_cq *)qp->ibv.send_cq, &qp->sq.wr_ring);
    qp->sq.head = 0;
    qp->sq.injected_status = 0;
    atomic_store_explicit(&qp->sq.wr_ring.retired, 0, memory_order_relaxed);
    sv_rq_reset(&qp->rq);
}

/* The caller holds sq.lock, post_lock and deliver_lock. */
static void apply_locked(struct sv_qp *qp, enum ibv_qp_state to)
{
    static const enum sv_rq_state rq_states[] = {
        [IBV_QPS_RESET] = SV_RQ_RESET, [IBV_QPS_INIT] = SV_RQ_INIT, [IBV_QPS_RTR] = SV_RQ_READY,
        [IBV_QPS_RTS] = SV_RQ_READY, [IBV_QPS_SQD] = SV_RQ_READY, [IBV_QPS_SQE] = SV_RQ_READY,
        [IBV_QPS_ERR] = SV_RQ_ERROR,
    };
    if (to == IBV_QPS_RESET)
        reset(qp);
    if (to == IBV_QPS_ERR) {
        sv_qp_enter_error_locked(qp);
    } else {
        atomic_store_explicit(&qp->state, to, memory_order_relaxed);
        atomic_store_explicit(&qp->rq.state, rq_states[to], memory_order_relaxed);
    }
}

/* The state is checked under the locks, because a delivery error may move the queue pair to ERR at any time. */
static int modify_locked(struct sv_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
    sv_spin_lock(&qp->sq.lock);
    sv_spin_lock(&qp->rq.post_lock);
    sv_spin_lock(&qp->rq.deliver_lock);
    enum ibv_qp_state from = atomic_load_explicit(&qp->state, memory_order_relaxed);
    enum ibv_qp_state to = (mask & IBV_QP_STATE) ? attr->qp_state : from;
    int error = check_transition(from, to, attr, mask);
    if (error == 0 && (from != to || to == IBV_QPS_RESET))
        apply_locked(qp, to);
    sv_spin_unlock(&qp->rq.deliver_lock);
    sv_spin_unlock(&qp->rq.post_lock);
    sv_spin_unlock(&qp->sq.lock);
    if (error != 0)
        return error;
    qp->ibv.state = to;
    if (mask & IBV_QP_PORT)
        qp->port_num = attr->port_num;
    if (to == IBV_QPS_RESET)
        qp->port_num = 0;
    if (from == IBV_QPS_RTS && to == IBV_QPS_SQD && (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) && attr->en_sqd_async_notify) {
        /* post_send transmits at once, so the send queue is already drained. */
        struct ibv_async_event event = {.element.qp = &qp->ibv, .event_type = IBV_EVENT_SQ_DRAINED};
        sv_async_raise(sv_context_of(qp->ibv.context), &event);
    }
    return 0;
}

SV_EXPORT int ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
    struct sv_qp *qp = (struct sv_qp *)ibqp;
    struct sv_device *device = qp->device;
    int error = sv_consume_injected_error(device, SOFTVERBS_CALL_MODIFY_QP);
    if (error == 0 && atomic_load(&device->failed))
        error = EIO;
    if (error != 0)
        return error;
    if (qp->ind_table != NULL || (mask & IBV_QP_RATE_LIMIT))
        return EOPNOTSUPP;
    sv_device_lock(device);
    error = modify_locked(qp, attr, mask);
    sv_device_unlock(device);
    return error;
}

SV_EXPORT int ibv_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
    struct sv_qp *qp = (struct sv_qp *)ibqp;
    int error = sv_consume_injected_error(qp->device, SOFTVERBS_CALL_QUERY_QP);
    if (error != 0)
        return error;
    if (qp->ind_table != NULL)
        return EOPNOTSUPP;
    (void)mask;     /* a hint of the attributes that the caller needs */
    memset(attr, 0, sizeof *attr);
    memset(init, 0, sizeof *init);
    attr->qp_state = attr->cur_qp_state = atomic_load_explicit(&qp->state, memory_order_relaxed);
    attr->cap = qp->cap;
    attr->port_num = (uint8_t)qp->port_num;
    init->qp_context = ibqp->qp_context;
    init->send_cq = ibqp->send_cq;
    init->recv_cq = ibqp->recv_cq;
    init->cap = qp->cap;
    init->qp_type = ibqp->qp_type;
    init->sq_sig_all = qp->sq.signal_all;
    ibqp->state = attr->qp_state;
    return 0;
}
