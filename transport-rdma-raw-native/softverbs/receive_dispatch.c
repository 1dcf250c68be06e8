/* SPDX-License-Identifier: Apache-2.0 */
/* Step 3 of the receive path: groups a burst of frames into runs per receive queue. See receive.h. */
#include "receive.h"

#include <string.h>

enum { MAX_OPEN_RUNS = 8 };

/* The frames of a burst that go to one receive queue, in order. */
struct run {
    struct sv_rq *rq;
    unsigned count;
    uint8_t index[SV_BURST];
    uint32_t tag[SV_BURST];
};

struct runs {
    const struct sv_frame *frames;
    unsigned count;
    struct run run[MAX_OPEN_RUNS];
};

static void deliver_all(struct runs *runs)
{
    for (unsigned i = 0; i < runs->count; i++) {
        struct run *run = &runs->run[i];
        if (run->count > 0)
            sv_rq_deliver(run->rq, runs->frames, run->index, run->tag, run->count);
    }
    runs->count = 0;
}

static inline void add_to_run(struct runs *runs, struct sv_rq *rq, unsigned index, uint32_t tag)
{
    struct run *run = NULL;
    for (unsigned i = 0; i < runs->count; i++) {
        if (runs->run[i].rq == rq) {
            run = &runs->run[i];
            break;
        }
    }
    /* A queue receives each frame of a burst once per matching rule, so a run may fill up early. */
    if (run == NULL || SV_UNLIKELY(run->count == SV_BURST)) {
        if (run != NULL || runs->count == MAX_OPEN_RUNS)
            deliver_all(runs);
        run = &runs->run[runs->count++];
        run->rq = rq;
        run->count = 0;
    }
    run->index[run->count] = (uint8_t)index;
    run->tag[run->count++] = tag;
}

static inline uint64_t masked_difference(const struct sv_cached_verdict *cache, const uint8_t *data, uint32_t words)
{
    uint64_t difference = 0;
    for (uint32_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, data + i * 8, 8);
        difference |= (word ^ cache->header[i]) & cache->mask[i];
    }
    return difference;
}

static inline bool is_same_flow(const struct sv_cached_verdict *cache, const struct sv_frame *frame,
                                uint64_t generation)
{
    if (SV_UNLIKELY(cache->generation != generation))
        return false;
    /* Comparing the whole window is faster than comparing a part. Beyond the part the mask is zero. */
    if (SV_LIKELY(frame->length >= SV_WINDOW_BYTES))
        return masked_difference(cache, frame->data, SV_WINDOW_BYTES / 8) == 0;
    return frame->length >= cache->word_count * 8 && masked_difference(cache, frame->data, cache->word_count) == 0;
}

static void count_match(struct sv_counters *counters, uint32_t length)
{
    atomic_fetch_add_explicit(&counters->packets, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counters->bytes, length, memory_order_relaxed);
}

static void drop(const struct sv_verdict *verdict, struct softverbs_queue_counters *counters, uint32_t length)
{
    if (verdict->drop_reason == SV_DROP_RULE)
        counters->dropped_by_rule++;
    else if (verdict->drop_reason == SV_DROP_BLOCKED_SELF)
        counters->blocked_self++;
    else
        counters->no_match++;
    if (verdict->drop_counters != NULL)
        count_match(verdict->drop_counters, length);
}

SV_HOT void sv_dispatch(struct sv_flow_table *flows, const struct sv_qp *sender, struct sv_cached_verdict *cache,
                        struct softverbs_queue_counters *counters, struct sv_frame *frames, unsigned count)
{
    struct runs runs;
    struct sv_verdict *verdict = &cache->verdict;
    uint64_t generation = atomic_load_explicit(&flows->generation, memory_order_acquire);

    runs.frames = frames;
    runs.count = 0;
    for (unsigned i = 0; i < count; i++) {
        struct sv_frame *frame = &frames[i];
        if (!is_same_flow(cache, frame, generation))
            sv_flow_search(flows, sender, frame, cache, generation);
        frame->layout = verdict->layout;
        for (uint32_t t = 0; t < verdict->target_count; t++) {
            add_to_run(&runs, verdict->target[t].rq, i, verdict->target[t].tag);
            if (SV_UNLIKELY(verdict->target[t].counters != NULL))
                count_match(verdict->target[t].counters, frame->length);
        }
        counters->too_many_copies += verdict->copies_lost;
        if (SV_UNLIKELY(verdict->target_count == 0 || verdict->drop_reason == SV_DROP_RULE))
            drop(verdict, counters, frame->length);
    }
    deliver_all(&runs);
}

void sv_receiver_dispatch(struct sv_receiver *receiver, struct sv_device *device, struct sv_frame *frames,
                          unsigned count)
{
    receiver->counters.copied += count;
    sv_dispatch(&device->flows, NULL, receiver->cache, &receiver->counters, frames, count);
}
