/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_RQ_RING_H
#define SV_RQ_RING_H

#include "copy.h"
#include "objects.h"

static inline struct ibv_sge *sv_rq_wqe(const struct sv_rq *rq, uint32_t index)
{
    return &rq->ring[(index & (rq->size - 1)) * rq->max_sge];
}

/*
 * Another core wrote the work requests and last touched completions and buffers. Each line comes over at a cost of
 * about 100 ns, a dozen at a time at most. So lines are prefetched: work requests one burst ahead, the buffers that
 * they name while the burst is being built, completions within the burst.
 */
enum { SV_PREFETCH_REQUESTS = SV_BURST, SV_PREFETCH_COMPLETIONS = 16, SV_PER_LINE = 4 };

/*
 * Prefetches the buffer of the n-th next receive. It reads without the lock: a stale or torn value costs a wasted fetch
 * only. So the thread sanitizer skips this function.
 */
__attribute__((no_sanitize("thread"))) static inline void sv_rq_prefetch_buffer(const struct sv_rq *rq, uint32_t n)
{
    uint32_t delivered = atomic_load_explicit(&rq->delivered, memory_order_relaxed);
    uint32_t posted = atomic_load_explicit(&rq->posted_seen, memory_order_relaxed);
    if (posted - delivered > n)
        sv_prefetch_write((const void *)(uintptr_t)sv_rq_wqe(rq, delivered + n)->addr);
}

#endif
