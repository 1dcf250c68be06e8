/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOOD_FIXTURE_H
#define FLOOD_FIXTURE_H

/* Helpers for floods of a device on AF_XDP. */

#include "bpf_layout.h"
#include "port_xdp.h"
#include "wire_fixture.h"

#include <sched.h>

enum { SYNS = 4096, SYN_RING = 1024, SYN_PORT = 2000, TCP_FLAGS = 47, TCP_SEQUENCE = 38, SYN_FLAG = 2 };
enum { LIMITED_SECONDS = 1 };         /* a limit lasts this long after the poll that found the ring full */
enum { REPEATED_SECONDS = 8 };        /* a later repetition does not count (SV_BPF_SEEN_MAX_AGE) */
enum { MAX_FLOODS = 40 };             /* a flood whose time has run out, as on a busy machine, is repeated */

static inline struct softverbs_queue_counters received_by(const struct wire *wire)
{
    struct softverbs_counters counters;
    CHECK_EQ(0, softverbs_query_counters(wire->world[1].context, &counters));
    return counters.received;
}

/*
 * The kernel usually handles a frame within the call that sends it, and on a busy machine later, in ksoftirqd. The next
 * functions wait for frames that are not polled yet.
 */
static inline void await_lost_syns(const struct wire *wire, uint64_t lost)
{
    struct timespec start = now();
    while (received_by(wire).syn_ring_full < lost && !overdue(start))
        sched_yield();
    CHECK_EQ(lost, received_by(wire).syn_ring_full);
}

static inline const struct sv_xdp_queue *receiving_queue(const struct wire *wire)
{
    const struct sv_device *device = (const struct sv_device *)(const void *)wire->world[1].context->device;
    const struct xdp_port *port = device->port;
    return port->queue[0];
}

static inline void await_in_main_ring(const struct wire *wire, uint32_t frames)
{
    const struct sv_xdp_queue *queue = receiving_queue(wire);
    struct timespec start = now();
    while (sv_xdp_queue_produced(queue) - queue->main.rx.position < frames && !overdue(start))
        sched_yield();
    CHECK_EQ(frames, sv_xdp_queue_produced(queue) - queue->main.rx.position);
}

static inline bool is_within(struct timespec since, double seconds)
{
    struct timespec at = now();
    return (double)(at.tv_sec - since.tv_sec) + (double)(at.tv_nsec - since.tv_nsec) / 1e9 < seconds;
}

static inline void wait_until(struct timespec start, double seconds)
{
    do
        sched_yield();
    while (is_within(start, seconds));
}

#endif
