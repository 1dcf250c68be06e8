/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_EVENTS_H
#define CX_EVENTS_H

/*
 * Event files: completion channels and asynchronous events. The descriptor is an eventfd that counts the queued events,
 * so that poll, epoll and O_NONBLOCK work; the events are in a list.
 *
 * uverbs reports to a program that destroys an object how many of its events were read, and libibverbs waits until as
 * many were acknowledged. So events count when they are read, and unread ones are withdrawn.
 */

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

struct cx_event;

/* The events of an object; guarded by the file's mutex. */
struct cx_event_source {
    uint32_t completions_read;
    uint32_t async_read;
};

enum cx_event_type { CX_COMPLETION_EVENTS, CX_ASYNC_EVENTS };

struct cx_events {
    int fd;
    enum cx_event_type type;
    pthread_mutex_t mutex;
    struct cx_event *first;
    struct cx_event *last;
    uint32_t references;            /* the descriptor and the objects that name it; guarded by the mutex */
};

/* Creates the file and its descriptor; NULL with errno. The descriptor has the first reference. */
struct cx_events *cx_events_open(enum cx_event_type type);
struct cx_events *cx_events_hold(struct cx_events *events);
void cx_events_release(struct cx_events *events);

/* Queues an event. `element` is its name in the program, `type` an enum ib_event_type for asynchronous ones. */
void cx_events_push(struct cx_events *events, struct cx_event_source *source, uint64_t element, uint32_t type);
/* Withdraws the unread events of `source`. */
void cx_events_forget(struct cx_events *events, struct cx_event_source *source);
/* read(2) on the descriptor. */
ssize_t cx_events_read(struct cx_events *events, void *to, size_t bytes);

#endif
