/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_ENDPOINT_H
#define PROGRAMS_ENDPOINT_H

#include "template.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* A raw packet queue pair with its memory, for C programs on any provider: libibverbs only. */

/* Slots are not a power of two apart: at 2048 bytes the heads of all frames would share two sets of the L1 cache. */
enum { QUEUE = 1024, SLOT = 2112, MAX_BURST = 64 };

/* QUEUE slots to receive into, MAX_BURST to send from. */
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
    /* Slots whose frames are sent back from where they lie, in the order of sending. */
    uint64_t in_send[QUEUE];
    unsigned in_send_head;
    unsigned in_send_tail;
};

/* Ends the program. */
void die(const char *what, int error) __attribute__((noreturn));
double now_seconds(void);
/* Each thread its own core, so that the figure is one of cores and not of the scheduler. */
void pin_to(unsigned nth_allowed_core);

struct ibv_context *open_device(const char *name);
/* Ready to send and receive, with all receives posted. `rule` may be NULL: nothing is received. */
void endpoint_create(struct endpoint *endpoint, struct ibv_context *context, struct ibv_pd *pd,
                     struct ibv_flow_attr *rule);
void endpoint_destroy(struct endpoint *endpoint);

void check_status(const struct ibv_wc *wc);
void post_receives(struct endpoint *endpoint, const uint64_t *slots, unsigned count);
/* Sends the first `count` of endpoint->send as one list, the last one signalled. */
void send_list(struct endpoint *endpoint, unsigned count);
/* The n-th slot to send from. */
static inline uint8_t *send_slot(const struct endpoint *endpoint, unsigned n)
{
    return endpoint->memory + (size_t)(QUEUE + n) * SLOT;
}

/* Takes up to `burst` completions and sends each frame back with the MAC addresses swapped; returns how many. */
unsigned echo_frames(struct endpoint *endpoint, unsigned burst);

#endif
