/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_EVENTS_H
#define CX_EVENTS_H

/*
 * The files that a program reads events from: completion channels and asynchronous events. The descriptor is an eventfd
 * that counts what is queued, so that poll, epoll and O_NONBLOCK work by themselves; the events are in a list.
 *
 * uverbs tells a program that destroys an object how many of its events were read, and libibverbs waits until as many
 * were acknowledged. So events count when they are read, and those that nobody read are taken back.
 */

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

struct cx_event;

/* What an object has to do with events; guarded by the file's mutex. */
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

/* Makes the file and its descriptor; NULL with errno. It has one reference, the descriptor's. */
struct cx_events *cx_events_open(enum cx_event_type type);
struct cx_events *cx_events_hold(struct cx_events *events);
void cx_events_release(struct cx_events *events);

/* Queues an event: `element` is the object's name in the program, `type` an enum ib_event_type of asynchronous ones. */
void cx_events_push(struct cx_events *events, struct cx_event_source *source, uint64_t element, uint32_t type);
/* Takes back what `source` has queued and nobody has read. */
void cx_events_forget(struct cx_events *events, struct cx_event_source *source);
/* read(2) on the descriptor. */
ssize_t cx_events_read(struct cx_events *events, void *to, size_t bytes);

#endif
