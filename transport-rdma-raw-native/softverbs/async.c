/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous events: a list per context, and an eventfd in semaphore mode with one token per event. */
#include "device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sv_async_raise(struct sv_context *context, const struct ibv_async_event *event)
{
    struct sv_async_node *node = malloc(sizeof *node);
    if (node == NULL)
        return;     /* the kernel's event queue is bounded as well */
    node->event = *event;
    node->next = NULL;
    const uint64_t one = 1;
    pthread_mutex_lock(&context->async_mutex);
    if (context->async_last != NULL)
        context->async_last->next = node;
    else
        context->async_first = node;
    context->async_last = node;
    while (write(context->verbs.context.async_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_mutex_unlock(&context->async_mutex);
}

/* Raises an event of the port or the device in every context. The caller holds the device's mutex. */
void sv_async_raise_all(struct sv_device *device, enum ibv_event_type type)
{
    struct ibv_async_event event = {.event_type = type};
    if (type == IBV_EVENT_PORT_ACTIVE || type == IBV_EVENT_PORT_ERR)
        event.element.port_num = SV_PORT_NUM;
    for (struct sv_context *context = device->contexts; context != NULL; context = context->next)
        sv_async_raise(context, &event);
}

static uint32_t *reported_counter(const struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        return &((struct sv_cq *)event->element.cq)->async_events_reported;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return &((struct sv_qp *)event->element.qp)->async_events_reported;
    case IBV_EVENT_WQ_FATAL:
        return &((struct sv_wq *)event->element.wq)->async_events_reported;
    default:
        return NULL;
    }
}

SV_EXPORT int ibv_get_async_event(struct ibv_context *public, struct ibv_async_event *event)
{
    struct sv_context *context = sv_context_of(public);
    struct sv_async_node *node = NULL;
    while (node == NULL) {
        uint64_t one;
        if (read(public->async_fd, &one, sizeof one) != sizeof one)
            return -1;
        pthread_mutex_lock(&context->async_mutex);
        node = context->async_first;    /* NULL: the object was destroyed after the token had been read */
        if (node != NULL) {
            context->async_first = node->next;
            if (context->async_first == NULL)
                context->async_last = NULL;
            uint32_t *reported = reported_counter(&node->event);
            if (reported != NULL)
                ++*reported;
        }
        pthread_mutex_unlock(&context->async_mutex);
    }
    *event = node->event;
    free(node);
    return 0;
}

static void acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
    pthread_mutex_lock(mutex);
    ++*completed;
    pthread_cond_broadcast(cond);
    pthread_mutex_unlock(mutex);
}

SV_EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR: {
        struct ibv_cq *cq = event->element.cq;
        acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed);
        break;
    }
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_QP_LAST_WQE_REACHED: {
        struct ibv_qp *qp = event->element.qp;
        acknowledge(&qp->mutex, &qp->cond, &qp->events_completed);
        break;
    }
    case IBV_EVENT_WQ_FATAL: {
        struct ibv_wq *wq = event->element.wq;
        acknowledge(&wq->mutex, &wq->cond, &wq->events_completed);
        break;
    }
    default:
        break;
    }
}

/* Drops the unread events of an object that is being destroyed. */
void sv_async_withdraw_events(struct sv_context *context, const void *element)
{
    pthread_mutex_lock(&context->async_mutex);
    struct sv_async_node **link = &context->async_first;
    context->async_last = NULL;
    while (*link != NULL) {
        struct sv_async_node *node = *link;
        /* The object's address is at the same place for every kind of object. */
        if (reported_counter(&node->event) != NULL && node->event.element.cq == element) {
            *link = node->next;
            free(node);
            (void)sv_token_try_wait(context->verbs.context.async_fd);
        } else {
            context->async_last = node;
            link = &node->next;
        }
    }
    pthread_mutex_unlock(&context->async_mutex);
}

void sv_async_discard_events(struct sv_context *context)
{
    while (context->async_first != NULL) {
        struct sv_async_node *node = context->async_first;
        context->async_first = node->next;
        free(node);
    }
}
