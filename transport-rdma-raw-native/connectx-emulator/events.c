/* SPDX-License-Identifier: Apache-2.0 */
#include "base.h"

#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

struct cx_event {
    struct cx_event *next;
    struct cx_event_source *source;
    struct ib_uverbs_async_event_desc description;  /* the element of a completion event is at the same place */
};

struct cx_events *cx_events_open(enum cx_event_type type)
{
    struct cx_events *events = calloc(1, sizeof *events);
    if (events == NULL)
        return NULL;
    events->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    if (events->fd < 0) {
        free(events);
        return NULL;
    }
    events->type = type;
    events->references = 1;
    pthread_mutex_init(&events->mutex, NULL);
    return events;
}

struct cx_events *cx_events_get(struct cx_events *events)
{
    pthread_mutex_lock(&events->mutex);
    events->references++;
    pthread_mutex_unlock(&events->mutex);
    return events;
}

/* The caller that closes the file closes the descriptor. */
void cx_events_put(struct cx_events *events)
{
    pthread_mutex_lock(&events->mutex);
    uint32_t left = --events->references;
    pthread_mutex_unlock(&events->mutex);
    if (left > 0)
        return;
    while (events->first != NULL) {
        struct cx_event *event = events->first;
        events->first = event->next;
        free(event);
    }
    pthread_mutex_destroy(&events->mutex);
    free(events);
}

static void make_ready(const struct cx_events *events)
{
    const uint64_t one = 1;
    if (events->fd >= 0 && cx_real()->write(events->fd, &one, sizeof one) < 0)
        abort();        /* an eventfd holds 2^64 - 2 tokens */
}

void cx_events_push(struct cx_events *events, struct cx_event_source *source, uint64_t element, uint32_t type)
{
    struct cx_event *event = calloc(1, sizeof *event);
    if (event == NULL)
        return;
    event->source = source;
    event->description.element = element;
    event->description.event_type = type;
    pthread_mutex_lock(&events->mutex);
    if (events->fd < 0 || events->closed) {
        /* The program has closed the file, or the device was removed, so queued events would never be read. */
        pthread_mutex_unlock(&events->mutex);
        free(event);
        return;
    }
    if (events->first == NULL)
        events->first = event;
    else
        events->last->next = event;
    events->last = event;
    make_ready(events);
    pthread_mutex_unlock(&events->mutex);
}

/*
 * Takes the token of a withdrawn event, unless a reader has taken it already and finds the list shorter. Never blocks,
 * even on a blocking descriptor.
 */
static void take_token(int fd)
{
    uint64_t token;
    struct iovec vector = {&token, sizeof token};
    if (fd >= 0 && preadv2(fd, &vector, 1, -1, RWF_NOWAIT) < 0)
        return;
}

void cx_events_withdraw(struct cx_events *events, struct cx_event_source *source)
{
    pthread_mutex_lock(&events->mutex);
    struct cx_event **link = &events->first;
    events->last = NULL;
    while (*link != NULL) {
        struct cx_event *event = *link;
        if (event->source != source) {
            events->last = event;
            link = &event->next;
            continue;
        }
        *link = event->next;
        free(event);
        take_token(events->fd);
    }
    pthread_mutex_unlock(&events->mutex);
}

void cx_events_close(struct cx_events *events)
{
    pthread_mutex_lock(&events->mutex);
    while (events->first != NULL) {
        struct cx_event *event = events->first;
        events->first = event->next;
        free(event);
    }
    if (!events->closed)
        make_ready(events);
    events->closed = true;
    pthread_mutex_unlock(&events->mutex);
}

/* Returns true if reading fails. The descriptor then stays ready. */
static bool is_closed(struct cx_events *events)
{
    pthread_mutex_lock(&events->mutex);
    bool closed = events->closed && events->first == NULL;
    if (closed)
        make_ready(events);
    pthread_mutex_unlock(&events->mutex);
    return closed;
}

static struct cx_event *take_first(struct cx_events *events)
{
    pthread_mutex_lock(&events->mutex);
    struct cx_event *event = events->first;
    if (event != NULL) {
        events->first = event->next;
        if (event->source != NULL && events->type == CX_COMPLETION_EVENTS)
            event->source->comp_events_reported++;
        else if (event->source != NULL)
            event->source->async_events_reported++;
    }
    pthread_mutex_unlock(&events->mutex);
    return event;
}

ssize_t cx_events_read(struct cx_events *events, void *to, size_t bytes)
{
    size_t size = events->type == CX_COMPLETION_EVENTS ? sizeof(struct ib_uverbs_comp_event_desc)
                                                       : sizeof(struct ib_uverbs_async_event_desc);
    if (bytes < size) {
        errno = EINVAL;
        return -1;
    }
    for (;;) {
        uint64_t token;
        if (cx_real()->read(events->fd, &token, sizeof token) != sizeof token)
            return -1;
        struct cx_event *event = take_first(events);
        if (event == NULL && is_closed(events)) {
            errno = EIO;
            return -1;
        }
        if (event == NULL)
            continue;       /* withdrawn between the token and the list */
        memcpy(to, &event->description, size);
        free(event);
        return (ssize_t)size;
    }
}
