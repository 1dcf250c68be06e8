/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of step 3 of the receive path: finds the rules of one frame. See receive.h. The caller holds the sender's
 * sq.lock or the receiver's lock, which keeps rules alive.
 */
#include "receive.h"

#include <string.h>

static struct sv_rule *load_rule(struct sv_rule *_Atomic *from)
{
    return atomic_load_explicit(from, memory_order_acquire);
}

static struct sv_rq *target_queue(struct sv_qp *qp, const union sv_key *key)
{
    if (qp->ind_table == NULL)
        return &qp->rq;
    return &qp->ind_table->wqs[sv_rss_hash(qp->rss, key) & qp->ind_table->mask]->rq;
}

struct search {
    const union sv_key *key;
    const struct sv_qp *sender;
    bool multicast;
    bool blocked;
    struct sv_verdict *verdict;
};

/* Adds the rules of a chain to the verdict. Returns true if one takes the frame, which ends the search. */
static bool apply_chain(struct search *search, struct sv_rule *rule)
{
    struct sv_verdict *verdict = search->verdict;
    bool taken = false;

    for (; rule != NULL; rule = load_rule(&rule->next_same)) {
        taken |= !rule->dont_trap;
        if (rule->drop) {
            verdict->drop_reason = SV_DROP_RULE;
            verdict->drop_counters = rule->counters;
        } else if (search->multicast && rule->qp == search->sender && search->sender->blocks_self_multicast) {
            search->blocked = true;
        } else if (verdict->target_count < SV_MAX_TARGETS) {
            struct sv_target *target = &verdict->target[verdict->target_count++];
            target->rq = target_queue(rule->qp, search->key);
            target->counters = rule->counters;
            target->tag = rule->tag;
            target->accepts_gso = rule->accepts_gso;
        } else {
            verdict->copies_lost++;
        }
    }
    return taken;
}

static struct sv_rule *probe(struct sv_subtable *subtable, const union sv_key *key)
{
    for (uint32_t i = sv_subtable_hash(subtable, key);; i++) {
        struct sv_rule *rule = load_rule(&subtable->slots[i & subtable->slot_mask]);
        if (rule == NULL)
            return NULL;
        bool same = rule != &sv_tombstone;
        for (uint32_t w = 0; same && w < subtable->word_count; w++)
            same = rule->key.words[subtable->word_index[w]] ==
                   (key->words[subtable->word_index[w]] & subtable->mask[w]);
        if (same)
            return rule;
    }
}

static void search_rules(struct sv_flow_table *table, const struct sv_directory *directory, struct search *search)
{
    apply_chain(search, load_rule(&table->sniffer));
    for (uint32_t i = 0; i < directory->subtable_count; i++)
        if (apply_chain(search, probe(directory->subtable[i], search->key)))
            return;
    if (search->multicast)
        apply_chain(search, load_rule(&table->multicast_default));
    apply_chain(search, load_rule(&table->all_default));
}

/* Returns the number of the frame's bytes at its `data`. The head of a short GSO frame may exceed the frame. */
static uint32_t head_bytes(const struct sv_frame *frame)
{
    bool is_complete = frame->rest == NULL || frame->rest->head_bytes > frame->length;
    return is_complete ? frame->length : frame->rest->head_bytes;
}

void sv_flow_search(struct sv_flow_table *table, const struct sv_qp *sender, const struct sv_frame *frame,
                    struct sv_cached_verdict *cache, uint64_t generation)
{
    const struct sv_directory *directory = atomic_load_explicit(&table->directory, memory_order_acquire);
    union sv_key key;
    struct sv_verdict *verdict = &cache->verdict;
    struct search search = {.key = &key, .sender = sender, .multicast = frame->data[0] & 1, .verdict = verdict};

    verdict->layout = sv_parse_key(frame->data, head_bytes(frame), directory->wants_inner, &key);
    verdict->target_count = 0;
    verdict->copies_lost = 0;
    verdict->drop_reason = SV_DROP_NO_MATCH;
    verdict->drop_counters = NULL;
    search_rules(table, directory, &search);
    if (search.blocked && verdict->drop_reason == SV_DROP_NO_MATCH)
        verdict->drop_reason = SV_DROP_BLOCKED_SELF;

    uint8_t mask[SV_WINDOW_BYTES];
    bool inside_tunnel = key.outer.layers & SV_LAYER_VXLAN;
    cache->word_count =
        inside_tunnel ? 0 : sv_window_mask(&directory->used_mask.outer, &key.outer, verdict->layout, mask);
    cache->generation = 0;
    if (cache->word_count == 0 || frame->length < cache->word_count * 8)
        return;
    memcpy(cache->mask, mask, sizeof mask);
    memcpy(cache->header, frame->data, cache->word_count * 8); /* the mask is zero beyond the header */
    cache->generation = generation;
}
