/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOOD_FIXTURE_H
#define FLOOD_FIXTURE_H

/* Helpers for floods of a device on AF_XDP. */

#include "bpf_layout.h"
#include "wire_fixture.h"

#include <sched.h>

enum { SYNS = 4096, SYN_RING = 1024, SYN_PORT = 2000, TCP_FLAGS = 47, TCP_SEQUENCE = 38, SYN_FLAG = 2 };

static inline struct softverbs_queue_counters received_by(const struct wire *wire)
{
    struct softverbs_counters counters;
    CHECK_EQ(0, softverbs_query_counters(wire->world[1].context, &counters));
    return counters.received;
}

static inline void wait_until(struct timespec start, double seconds)
{
    struct timespec at;
    do {
        sched_yield();
        at = now();
    } while ((double)(at.tv_sec - start.tv_sec) + (double)(at.tv_nsec - start.tv_nsec) / 1e9 < seconds);
}

#endif
