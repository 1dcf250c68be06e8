/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_ENDPOINT_H
#define PROGRAMS_ENDPOINT_H

#include "template.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* A raw packet queue pair with its memory, for C programs on any provider. Uses libibverbs only. */

/* Slots are not a power of two apart: at 2048 bytes the heads of all frames would share two sets of the L1 cache. */
enum { QUEUE_ENTRIES = 1024, SLOT_BYTES = 2112, MAX_BURST = 64 };

/* QUEUE_ENTRIES slots to receive into, and MAX_BURST to send from. */
struct endpoint {
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    struct ibv_flow *flow;
    uint8_t *memory;
    struct ibv_recv_wr recv[MAX_BURST];
    struct ibv_sge recv_sge[MAX_BURST];
    struct ibv_send_wr send[MAX_BURST];
    struct ibv_sge send_sge[MAX_BURST];
    /* Slots that are being sent back in place, in the order of sending. */
    uint64_t in_send[QUEUE_ENTRIES];
    unsigned in_send_head;
    unsigned in_send_tail;
};

/* Prints an error and ends the program. */
void die(const char *what, int error) __attribute__((noreturn));
double now_seconds(void);
/* Pins the thread to a separate core, so that the result does not depend on the scheduler. */
void pin_to(unsigned nth_allowed_core);

struct ibv_context *open_device(const char *name);
/*
 * Creates an endpoint that is ready to send and receive, with all receives posted. Without a `rule` it receives
 * nothing.
 */
void endpoint_create(struct endpoint *endpoint, struct ibv_context *context, struct ibv_pd *pd,
                     struct ibv_flow_attr *rule);
void endpoint_destroy(struct endpoint *endpoint);

void check_status(const struct ibv_wc *wc);
void post_receives(struct endpoint *endpoint, const uint64_t *slots, unsigned count);
/* Sends the first `count` of endpoint->send as one list, the last one signalled. */
void send_list(struct endpoint *endpoint, unsigned count);
/* Returns the n-th slot to send from. */
static inline uint8_t *send_slot(const struct endpoint *endpoint, unsigned n)
{
    return endpoint->memory + (size_t)(QUEUE_ENTRIES + n) * SLOT_BYTES;
}

/* Polls up to `burst` completions and sends each frame back with the MAC addresses swapped. Returns their number. */
unsigned echo_frames(struct endpoint *endpoint, unsigned burst);

#endif
