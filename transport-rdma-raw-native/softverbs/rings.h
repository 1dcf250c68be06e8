/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_RINGS_H
#define SV_RINGS_H

/* Entries of completion queues and receive queues, and how they are prefetched. */

#include "objects.h"

/* ---- completion queues ---- */

/*
 * Returns the entry for the completion with the index `produced`, or NULL if the queue is full or has overrun before.
 * To add completions, acquire cq->produce_lock, fill the entries from sv_cq_produced() on, and publish them together.
 */
static inline struct sv_cqe *sv_cq_slot(struct sv_cq *cq, uint32_t produced)
{
    if (SV_UNLIKELY(produced - cq->consumed_seen >= cq->capacity)) {
        cq->consumed_seen = atomic_load_explicit(&cq->consumed, memory_order_acquire);
        if (produced - cq->consumed_seen >= cq->capacity)
            return NULL;
    }
    return SV_UNLIKELY(cq->has_overrun) ? NULL : &cq->ring[produced & cq->mask];
}

static inline uint32_t sv_cq_produced(const struct sv_cq *cq)
{
    return cq->cached_produced;
}

/* ---- receive queues ---- */

static inline struct ibv_sge *sv_rq_wqe(const struct sv_rq *rq, uint32_t index)
{
    return &rq->ring[(index & (rq->size - 1)) * rq->max_sge];
}

/*
 * Another core wrote the work requests and last touched completions and buffers. Fetching such a cache line takes about
 * 100 ns, with about a dozen fetches at a time. So lines are prefetched: work requests one burst ahead, their buffers
 * while the burst is being built, completions within the burst.
 */
enum { SV_PREFETCH_REQUESTS = SV_BURST, SV_PREFETCH_COMPLETIONS = 16, SV_ENTRIES_PER_LINE = 4 };

/*
 * Prefetches the buffer of the n-th next receive. Reads without the lock: a stale or torn value costs one useless
 * fetch. The thread sanitizer therefore skips this function.
 */
__attribute__((no_sanitize("thread"))) static inline void sv_rq_prefetch_buffer(const struct sv_rq *rq, uint32_t n)
{
    uint32_t delivered = atomic_load_explicit(&rq->delivered, memory_order_relaxed);
    uint32_t posted = atomic_load_explicit(&rq->posted_seen, memory_order_relaxed);
    if (posted - delivered > n)
        sv_prefetch_write((const void *)(uintptr_t)sv_rq_wqe(rq, delivered + n)->addr);
}

#endif
