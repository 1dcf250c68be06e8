/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a raw packet queue pair, with the kernel's rules for the attributes of each transition.
 *
 * For mlx5_ib such a queue pair consists of a receive queue and a send queue with a state each. The driver keeps the
 * state that it last set (qp->state). An error changes the state of one half only, and the driver learns of it only by
 * a query.
 */
#include "commands.h"

#include <errno.h>

struct transition {
    bool valid;
    uint32_t required;
    uint32_t optional;
};

enum { STATES = IBV_QPS_ERR + 1 };

#define ANY_TO_RESET_OR_ERROR [IBV_QPS_RESET] = {true, 0, 0}, [IBV_QPS_ERR] = {true, 0, 0}

static const struct transition transitions[STATES][STATES] = {
    [IBV_QPS_RESET] = {[IBV_QPS_RESET] = {true, 0, 0}, [IBV_QPS_INIT] = {true, IBV_QP_PORT, 0}},
    [IBV_QPS_INIT] = {ANY_TO_RESET_OR_ERROR, [IBV_QPS_INIT] = {true, 0, IBV_QP_PORT}, [IBV_QPS_RTR] = {true, 0, 0}},
    [IBV_QPS_RTR] = {ANY_TO_RESET_OR_ERROR, [IBV_QPS_RTS] = {true, 0, IBV_QP_CUR_STATE}},
    [IBV_QPS_RTS] = {ANY_TO_RESET_OR_ERROR, [IBV_QPS_RTS] = {true, 0, IBV_QP_CUR_STATE}},
    /* The kernel has no way back to RTS for raw packets (modify_raw_packet_qp()). */
    [IBV_QPS_SQE] = {ANY_TO_RESET_OR_ERROR},
    [IBV_QPS_ERR] = {ANY_TO_RESET_OR_ERROR},
};

static int check_transition(uint32_t from, uint32_t to, const struct ib_uverbs_modify_qp *request)
{
    if (to >= STATES || !transitions[from][to].valid)
        return EINVAL;
    const struct transition *t = &transitions[from][to];
    uint32_t mask = request->attr_mask;
    if ((mask & t->required) != t->required || (mask & ~(t->required | t->optional | IBV_QP_STATE)) != 0)
        return EINVAL;
    if ((mask & IBV_QP_CUR_STATE) && request->cur_qp_state != from)
        return EINVAL;
    return 0;
}

/*
 * ib_uverbs refuses ports that the device does not have, and create_flow_rule_vport_sq() (ib_rep.c, called by
 * modify_raw_packet_qp()) those of an e-switch without a representor.
 */
static int check_port(const struct cx_device *device, const struct ib_uverbs_modify_qp *request)
{
    return (request->attr_mask & IBV_QP_PORT) && cx_port_interface(device, request->port_num) == NULL ? EINVAL : 0;
}

void cx_ring_reset(struct cx_ring *ring)
{
    ring->consumed = 0;
    ring->produced = 0;
    if (ring->record != NULL)
        atomic_store(ring->record, 0);
}

static bool any_half_failed(const struct cx_qp *qp)
{
    return (qp->has_sq && qp->sq.state == CX_QUEUE_ERROR) || (qp->has_rq && qp->rq.state == CX_QUEUE_ERROR);
}

static void apply(struct cx_qp *qp, uint32_t to)
{
    if (to == IBV_QPS_ERR) {
        qp->state = to;
        cx_qp_enter_error(qp);
        return;
    }
    if (to == IBV_QPS_RESET) {
        /* Handles pending doorbells first, because a command does not overtake them. */
        cx_doorbells_scan(qp->object.context->device);
        qp->sq.bounded = qp->sq.blueflame = false;
        cx_sq_count_unreported(qp);
        cx_ring_reset(&qp->sq.ring);
        cx_ring_reset(&qp->rq.ring);
        qp->sq.rung = false;
        qp->sq.injected_syndrome = 0;
        qp->rq.injected_syndrome = 0;
        qp->port = 0;
    }
    qp->state = to;
    qp->sq.state = to == IBV_QPS_RTS ? CX_QUEUE_READY : CX_QUEUE_OFF;
    /* The receiving half is ready from INIT on (modify_raw_packet_qp()). */
    qp->rq.state = CX_QUEUE_READY;
    if (to == IBV_QPS_RESET)
        qp->rq.state = CX_QUEUE_OFF;
    /* Requests rung before the queue was ready are executed now. */
    qp->sq.rung = qp->sq.state == CX_QUEUE_READY;
}

static int modify(struct cx_command *command, const struct ib_uverbs_modify_qp *request)
{
    struct cx_qp *qp = cx_object_find(command->context, CX_QP, request->qp_handle);
    if (qp == NULL)
        return EINVAL;
    if (qp->ind_table != NULL)
        return EOPNOTSUPP;
    uint32_t to = request->attr_mask & IBV_QP_STATE ? request->qp_state : qp->state;
    int error = check_transition(qp->state, to, request);
    if (error == 0)
        error = check_port(command->context->device, request);
    if (error != 0)
        return error;
    /*
     * The driver names the state in which it believes the halves to be, which the device refuses for a half that has
     * failed. The receiving half comes first, so it has changed already if the sending half fails
     * (modify_raw_packet_qp()).
     */
    if (to != IBV_QPS_RESET && to != qp->state && any_half_failed(qp)) {
        if (to == IBV_QPS_ERR && qp->has_rq && qp->rq.state != CX_QUEUE_ERROR)
            cx_rq_enter_error(&qp->rq);
        return EINVAL;
    }
    if (request->attr_mask & IBV_QP_PORT)
        qp->port = request->port_num;
    if (to != qp->state || to == IBV_QPS_RESET)
        apply(qp, to);
    return 0;
}

int cx_modify_qp(struct cx_command *command)
{
    struct ib_uverbs_modify_qp request;
    CX_READ_CORE_REQUEST(command, &request);
    return modify(command, &request);
}

int cx_ex_modify_qp(struct cx_command *command)
{
    struct ib_uverbs_ex_modify_qp request;
    int error = CX_READ_CORE_REQUEST(command, &request);
    if (error != 0)
        return error;
    if (request.base.attr_mask & IBV_QP_RATE_LIMIT)
        return EOPNOTSUPP;
    error = modify(command, &request.base);
    const struct ib_uverbs_ex_modify_qp_resp response = {.response_length = sizeof response};
    if (error == 0)
        CX_CORE_RESPOND(command, &response);
    return error;
}

/*
 * Computes the state as sqrq_state_to_qp_state() does. Returns false if the driver warns (fatal with panic_on_warn) and
 * fails the query: the receiving half has failed and the sending half has not.
 */
static bool query_state(struct cx_qp *qp)
{
    bool rq_failed = qp->has_rq && qp->rq.state == CX_QUEUE_ERROR;
    bool sq_failed = qp->has_sq && qp->sq.state == CX_QUEUE_ERROR;
    if (rq_failed && qp->has_sq && !sq_failed)
        return false;
    if (rq_failed)
        qp->state = IBV_QPS_ERR;
    else if (sq_failed && qp->has_rq)
        qp->state = IBV_QPS_SQE;
    return true;
}

int cx_query_qp(struct cx_command *command)
{
    struct ib_uverbs_query_qp request;
    CX_READ_CORE_REQUEST(command, &request);
    struct cx_qp *qp = cx_object_find(command->context, CX_QP, request.qp_handle);
    if (qp == NULL)
        return EINVAL;
    if (qp->ind_table != NULL)
        return EOPNOTSUPP;
    if (!query_state(qp))
        return EINVAL;
    struct ib_uverbs_query_qp_resp response = {
        .max_send_wr = qp->cap.max_send_wr,
        .max_recv_wr = qp->cap.max_recv_wr,
        .max_send_sge = qp->cap.max_send_sge,
        .max_recv_sge = qp->cap.max_recv_sge,
        .max_inline_data = qp->cap.max_inline_data,
        .qp_state = (uint8_t)qp->state,
        .cur_qp_state = (uint8_t)qp->state,
        .port_num = qp->port,
        .sq_sig_all = qp->sq_sig_all,
    };
    CX_CORE_RESPOND(command, &response);
    return 0;
}
