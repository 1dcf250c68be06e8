/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion channels. An eventfd in semaphore mode holds one token per event, so the descriptor can be polled, blocks
 * in ibv_get_cq_event() and obeys O_NONBLOCK. A separate list contains the completion queues with events.
 *
 * On a network interface, the channel may get the interface's sockets (event_source.c). Arriving frames then make the
 * descriptor readable too, and ibv_get_cq_event() moves them to the receive queues. If they raise no event, it fails
 * with EAGAIN. Therefore only a channel whose descriptor the program has made non-blocking gets the sockets.
 */
#define _GNU_SOURCE
#include "device.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* After this number of consecutive calls without an event, the receive thread moves the frames again. */
enum { MAX_IDLE_POLLS = 4 };

/* ---- life ---- */

/* On a network interface the public descriptor is an epoll instance, to which the interface's sockets can be added. */
static int open_descriptors(struct sv_channel *channel, const struct sv_device *device)
{
    struct epoll_event token = {.events = EPOLLIN};
    channel->ibv.fd = channel->token_fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    if (channel->token_fd < 0)
        return errno;
    if (device->ops->poll_channel == NULL)
        return 0;
    channel->ibv.fd = epoll_create1(EPOLL_CLOEXEC);
    if (channel->ibv.fd >= 0 && epoll_ctl(channel->ibv.fd, EPOLL_CTL_ADD, channel->token_fd, &token) == 0)
        return 0;
    int error = errno;
    if (channel->ibv.fd >= 0)
        close(channel->ibv.fd);
    close(channel->token_fd);
    return error;
}

SV_EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    int error = sv_consume_injected_error(sv_device_of(context), SOFTVERBS_CALL_CREATE_COMP_CHANNEL);
    if (error != 0)
        return sv_fail(error);
    struct sv_channel *channel = sv_alloc_zeroed(sizeof *channel);
    if (channel == NULL)
        return sv_fail(ENOMEM);
    channel->ibv.context = context;
    error = open_descriptors(channel, sv_device_of(context));
    if (error != 0) {
        free(channel);
        return sv_fail(error);
    }
    pthread_mutex_init(&channel->mutex, NULL);
    atomic_fetch_add(&sv_context_of(context)->objects, 1);
    return &channel->ibv;
}

/* Returns the interface's sockets from the channel to the receive thread, which then moves the frames. */
static void return_sockets(struct sv_channel *channel)
{
    struct sv_device *device = sv_device_of(channel->ibv.context);
    if (device->ops->return_sockets != NULL)
        device->ops->return_sockets(device, channel);
}

SV_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
    struct sv_channel *channel = (struct sv_channel *)ibv;
    pthread_mutex_lock(&channel->mutex);
    bool busy = ibv->refcnt != 0;
    pthread_mutex_unlock(&channel->mutex);
    if (busy)
        return EBUSY;
    return_sockets(channel);
    if (ibv->fd != channel->token_fd)
        close(ibv->fd);
    close(channel->token_fd);
    pthread_mutex_destroy(&channel->mutex);
    atomic_fetch_sub(&sv_context_of(ibv->context)->objects, 1);
    free(channel);
    return 0;
}

bool sv_channel_is_nonblocking(const struct sv_channel *channel)
{
    int flags = fcntl(channel->ibv.fd, F_GETFL);
    return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

/* ---- arming ---- */

/*
 * Returns true if the queue counts as armed for the interface: a rule steers frames to it, so arriving frames must wake
 * its readers. A queue without a rule gets send completions only, which the sending thread adds. Such a queue may stay
 * armed for ever. If it counted, no other channel could get the sockets (event_source.c).
 */
static bool awaits_frames(const struct sv_cq *cq)
{
    return cq->ibv.channel != NULL && cq->progress_device != NULL && cq->steering_rules > 0;
}

/* The caller holds the queue's produce lock. */
void sv_channel_on_cq_armed(struct sv_cq *cq)
{
    struct sv_channel *channel = (struct sv_channel *)cq->ibv.channel;
    if (awaits_frames(cq) && atomic_fetch_add(&channel->armed_cqs, 1) == 0)
        atomic_fetch_add(&cq->progress_device->armed_channels, 1);
}

/* The caller holds the produce lock, or nothing refers to the queue any more. */
void sv_channel_on_cq_disarmed(struct sv_cq *cq)
{
    struct sv_channel *channel = (struct sv_channel *)cq->ibv.channel;
    if (awaits_frames(cq) && atomic_fetch_sub(&channel->armed_cqs, 1) == 1)
        atomic_fetch_sub(&cq->progress_device->armed_channels, 1);
}

/*
 * Called before a new rule steers frames to the queue, which may be armed already. If the sockets cannot be watched,
 * the receive thread retries.
 */
void sv_channel_on_rule_added(struct sv_cq *cq)
{
    struct sv_device *device = sv_device_of(cq->ibv.context);
    sv_spin_lock(&cq->produce_lock);
    bool becomes_counted = cq->steering_rules++ == 0 && cq->armed != SV_ARM_NONE;
    if (becomes_counted)
        sv_channel_on_cq_armed(cq);
    sv_spin_unlock(&cq->produce_lock);
    if (becomes_counted && cq->ibv.channel != NULL && device->ops->arm != NULL)
        (void)device->ops->arm(device, cq);
}

/* Called when a rule no longer steers frames to the queue. */
void sv_channel_on_rule_removed(struct sv_cq *cq)
{
    sv_spin_lock(&cq->produce_lock);
    if (cq->steering_rules == 1 && cq->armed != SV_ARM_NONE)
        sv_channel_on_cq_disarmed(cq);
    cq->steering_rules--;
    sv_spin_unlock(&cq->produce_lock);
}

/* ---- events ---- */

static void token_post(int fd)
{
    const uint64_t one = 1;
    while (write(fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* Takes a token without blocking, even from a blocking descriptor. Returns false if there is none. */
bool sv_token_try_wait(int fd)
{
    uint64_t one;
    struct iovec vector = {&one, sizeof one};
    /* A direct system call, because musl 1.2.3 lacks preadv2(). The position, -1 for none, is split into two words. */
    if (syscall(SYS_preadv2, fd, &vector, 1, -1L, -1L, RWF_NOWAIT) >= 0)
        return true;
    if (errno == EAGAIN)
        return false;
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    return poll(&readable, 1, 0) == 1 && read(fd, &one, sizeof one) == sizeof one;
}

static void append_pending(struct sv_channel *channel, struct sv_cq *cq)
{
    cq->next_pending = NULL;
    if (channel->last_pending != NULL)
        channel->last_pending->next_pending = cq;
    else
        channel->first_pending = cq;
    channel->last_pending = cq;
}

static void remove_first(struct sv_channel *channel)
{
    channel->first_pending = channel->first_pending->next_pending;
    if (channel->first_pending == NULL)
        channel->last_pending = NULL;
}

/*
 * Removes the oldest event and returns its queue. Returns NULL if the queue was destroyed after the caller had taken
 * the token. The caller holds the mutex.
 */
static struct sv_cq *pop_event(struct sv_channel *channel)
{
    struct sv_cq *cq = channel->first_pending;
    if (cq == NULL)
        return NULL;
    remove_first(channel);
    channel->idle_polls = 0;
    cq->comp_events_reported++;
    if (--cq->events_pending > 0)
        append_pending(channel, cq);
    return cq;
}

void sv_channel_notify(struct sv_cq *cq)
{
    struct sv_channel *channel = (struct sv_channel *)cq->ibv.channel;
    if (channel == NULL)
        return;
    pthread_mutex_lock(&channel->mutex);
    if (cq->events_pending++ == 0)
        append_pending(channel, cq);
    if (channel->pollers > 0)
        channel->events_without_token++;
    else
        token_post(channel->token_fd);
    pthread_mutex_unlock(&channel->mutex);
}

/*
 * If the channel has the interface's sockets, moves frames in this thread rather than in the receive thread, which
 * saves two context switches per event. Returns the queue of an event, or NULL. An event raised during the move gets no
 * token at first, because this thread takes it. If several were raised, the others get their tokens afterwards.
 */
static struct sv_cq *poll_interface(struct sv_channel *channel, struct sv_device *device)
{
    struct sv_cq *cq = NULL;
    pthread_mutex_lock(&channel->mutex);
    channel->pollers++;
    pthread_mutex_unlock(&channel->mutex);
    bool polled = device->ops->poll_channel(device, channel);
    pthread_mutex_lock(&channel->mutex);
    channel->pollers--;
    if (channel->events_without_token > 0) {
        channel->events_without_token--;
        cq = pop_event(channel);
    }
    for (; channel->pollers == 0 && channel->events_without_token > 0; channel->events_without_token--)
        token_post(channel->token_fd);
    if (polled && cq == NULL)
        channel->idle_polls++;
    bool is_idle = channel->idle_polls >= MAX_IDLE_POLLS;
    pthread_mutex_unlock(&channel->mutex);
    /* All frames were for queues that other threads poll, so the receive thread can watch the sockets. */
    if (is_idle)
        return_sockets(channel);
    return cq;
}

/* Takes one token, blocking if the public descriptor blocks. Returns 0, or -1 with errno. */
static int await_token(struct sv_channel *channel)
{
    uint64_t one;
    if (channel->ibv.fd != channel->token_fd) {
        if (sv_channel_is_nonblocking(channel)) {
            if (sv_token_try_wait(channel->token_fd))
                return 0;
            errno = EAGAIN;
            return -1;
        }
        return_sockets(channel);
    }
    return read(channel->token_fd, &one, sizeof one) == sizeof one ? 0 : -1;
}

SV_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **cq_out, void **cq_context)
{
    struct sv_channel *channel = (struct sv_channel *)ibv;
    struct sv_device *device = sv_device_of(ibv->context);
    struct sv_cq *cq = NULL;
    if (device->ops->poll_channel != NULL)
        cq = poll_interface(channel, device);
    while (cq == NULL) {
        if (await_token(channel) != 0)
            return -1;
        pthread_mutex_lock(&channel->mutex);
        cq = pop_event(channel);
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

/* Drops the unread events of a completion queue and waits until the others are acknowledged. */
void sv_channel_withdraw_events(struct sv_cq *cq)
{
    struct sv_channel *channel = (struct sv_channel *)cq->ibv.channel;
    if (channel == NULL)
        return;
    pthread_mutex_lock(&channel->mutex);
    struct sv_cq *previous = NULL;
    for (struct sv_cq *c = channel->first_pending; c != NULL; previous = c, c = c->next_pending) {
        if (c != cq)
            continue;
        *(previous != NULL ? &previous->next_pending : &channel->first_pending) = cq->next_pending;
        if (channel->last_pending == cq)
            channel->last_pending = previous;
        break;
    }
    for (; cq->events_pending > 0; cq->events_pending--) {
        if (channel->events_without_token > 0)
            channel->events_without_token--;
        else
            (void)sv_token_try_wait(channel->token_fd);
    }
    uint32_t reported = cq->comp_events_reported;
    pthread_mutex_unlock(&channel->mutex);

    pthread_mutex_lock(&cq->ibv.mutex);
    while (cq->ibv.comp_events_completed != reported)
        pthread_cond_wait(&cq->ibv.cond, &cq->ibv.mutex);
    pthread_mutex_unlock(&cq->ibv.mutex);
}
