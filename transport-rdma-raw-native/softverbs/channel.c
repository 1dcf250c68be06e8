/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion channels: an eventfd in semaphore mode holds one token per event, so that the descriptor can be polled,
 * blocks in ibv_get_cq_event() and obeys O_NONBLOCK; which completion queues have events is a list beside it.
 */
#define _GNU_SOURCE
#include "device.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

SV_EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    int error = sv_fault(sv_device_of(context), SOFTVERBS_CALL_CREATE_COMP_CHANNEL);
    if (error != 0)
        return sv_fail(error);
    struct sv_channel *channel = sv_alloc_zeroed(sizeof *channel);
    if (channel == NULL)
        return sv_fail(ENOMEM);
    channel->ibv.context = context;
    channel->ibv.fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    if (channel->ibv.fd < 0) {
        error = errno;
        free(channel);
        return sv_fail(error);
    }
    pthread_mutex_init(&channel->mutex, NULL);
    atomic_fetch_add(&sv_context_of(context)->objects, 1);
    return &channel->ibv;
}

SV_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
    struct sv_channel *channel = (struct sv_channel *)ibv;
    pthread_mutex_lock(&channel->mutex);
    bool busy = ibv->refcnt != 0;
    pthread_mutex_unlock(&channel->mutex);
    if (busy)
        return EBUSY;
    close(ibv->fd);
    pthread_mutex_destroy(&channel->mutex);
    atomic_fetch_sub(&sv_context_of(ibv->context)->objects, 1);
    free(channel);
    return 0;
}

static void token_put(int fd)
{
    const uint64_t one = 1;
    while (write(fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* Takes a token back, if there is one, without waiting, whatever the descriptor's mode is. */
void sv_token_take(int fd)
{
    uint64_t one;
    struct iovec vector = {&one, sizeof one};
    if (preadv2(fd, &vector, 1, -1, RWF_NOWAIT) >= 0 || errno == EAGAIN)
        return;
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    if (poll(&readable, 1, 0) == 1 && read(fd, &one, sizeof one) < 0)
        return;
}

static void append(struct sv_channel *channel, struct sv_cq *cq)
{
    cq->next_pending = NULL;
    if (channel->last != NULL)
        channel->last->next_pending = cq;
    else
        channel->first = cq;
    channel->last = cq;
}

static void remove_first(struct sv_channel *channel)
{
    channel->first = channel->first->next_pending;
    if (channel->first == NULL)
        channel->last = NULL;
}

void sv_channel_notify(struct sv_cq *cq)
{
    struct sv_channel *channel = (struct sv_channel *)cq->ibv.channel;
    if (channel == NULL)
        return;
    pthread_mutex_lock(&channel->mutex);
    if (cq->events_pending++ == 0)
        append(channel, cq);
    token_put(channel->ibv.fd);
    pthread_mutex_unlock(&channel->mutex);
}

SV_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **cq_out, void **cq_context)
{
    struct sv_channel *channel = (struct sv_channel *)ibv;
    struct sv_cq *cq = NULL;
    while (cq == NULL) {
        uint64_t one;
        if (read(ibv->fd, &one, sizeof one) != sizeof one)
            return -1;
        pthread_mutex_lock(&channel->mutex);
        cq = channel->first;        /* NULL: the queue was destroyed after the token had been read */
        if (cq != NULL) {
            remove_first(channel);
            cq->events_got++;
            if (--cq->events_pending > 0)
                append(channel, cq);
        }
        pthread_mutex_unlock(&channel->mutex);
    }
    *cq_out = (struct ibv_cq *)&cq->ibv;
    *cq_context = cq->ibv.cq_context;
    return 0;
}

SV_EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
    pthread_mutex_lock(&cq->mutex);
    cq->comp_events_completed += nevents;
    pthread_cond_broadcast(&cq->cond);
    pthread_mutex_unlock(&cq->mutex);
}

/* The completion queue goes: its events that nobody got go with it, those got must be acknowledged first. */
void sv_channel_forget(struct sv_cq *cq)
{
    struct sv_channel *channel = (struct sv_channel *)cq->ibv.channel;
    if (channel == NULL)
        return;
    pthread_mutex_lock(&channel->mutex);
    struct sv_cq *previous = NULL;
    for (struct sv_cq *c = channel->first; c != NULL; previous = c, c = c->next_pending) {
        if (c != cq)
            continue;
        *(previous != NULL ? &previous->next_pending : &channel->first) = cq->next_pending;
        if (channel->last == cq)
            channel->last = previous;
        break;
    }
    for (; cq->events_pending > 0; cq->events_pending--)
        sv_token_take(channel->ibv.fd);
    uint32_t got = cq->events_got;
    pthread_mutex_unlock(&channel->mutex);

    pthread_mutex_lock(&cq->ibv.mutex);
    while (cq->ibv.comp_events_completed != got)
        pthread_cond_wait(&cq->ibv.cond, &cq->ibv.mutex);
    pthread_mutex_unlock(&cq->ibv.mutex);
}
