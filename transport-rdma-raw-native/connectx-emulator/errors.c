/* SPDX-License-Identifier: Apache-2.0 */
/* Moves queues to the error state, and raises asynchronous events. */
#include "engine.h"

void cx_raise(struct cx_object *object, enum ibv_event_type type)
{
    if (object->context->async != NULL)
        cx_events_push(object->context->async, &object->events, object->user_handle, type);
}

void cx_raise_all(struct cx_device *device, enum ibv_event_type type, uint32_t port)
{
    for (struct cx_context *context = device->contexts; context != NULL; context = context->next)
        if (context->async != NULL)
            cx_events_push(context->async, NULL, port, type);
}

void cx_sq_enter_error(struct cx_qp *qp)
{
    qp->sq.state = CX_QUEUE_ERROR;
    cx_sq_flush(qp);
}

void cx_rq_enter_error(struct cx_rq *rq)
{
    rq->state = CX_QUEUE_ERROR;
    cx_rq_flush(rq);
}

void cx_qp_enter_error(struct cx_qp *qp)
{
    if (qp->has_sq)
        cx_sq_enter_error(qp);
    if (qp->has_rq)
        cx_rq_enter_error(&qp->rq);
}
