/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_CQ_RING_H
#define SV_CQ_RING_H

#include "objects.h"

/*
 * Adding completions, with cq->produce_lock held: reserve slots from `produced` on, fill them, publish once.
 * Reserving gives NULL when the queue is full or has overrun before.
 */
static inline struct sv_cqe *sv_cq_slot(struct sv_cq *cq, uint32_t produced)
{
    if (SV_UNLIKELY(produced - cq->consumed_seen >= cq->capacity)) {
        cq->consumed_seen = atomic_load_explicit(&cq->consumed, memory_order_acquire);
        if (produced - cq->consumed_seen >= cq->capacity)
            return NULL;
    }
    return SV_UNLIKELY(cq->overrun) ? NULL : &cq->ring[produced & cq->mask];
}

static inline uint32_t sv_cq_produced(const struct sv_cq *cq)
{
    return cq->next;
}

#endif
