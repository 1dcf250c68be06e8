/* SPDX-License-Identifier: Apache-2.0 */
/* The rules in force: see flow.h. The caller holds the writers' lock; readers do not. */
#include "device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SUBTABLES_PER_PRIORITY = 6, FIRST_SLOTS = 16 };

/*
 * Marks the slot of a removed rule, so that a search continues beyond it. No frame has these layers, so the key matches
 * none.
 */
const struct sv_rule sv_tombstone = {.key.outer.layers = 0xffff};

uint32_t sv_subtable_hash(const struct sv_subtable *subtable, const union sv_key *key)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < subtable->word_count; i++) {
        hash ^= key->words[subtable->word_index[i]] & subtable->mask[i];
        hash *= 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

static struct sv_directory *directory_of(const struct sv_flow_table *table)
{
    return atomic_load_explicit(&table->directory, memory_order_relaxed);
}

static struct sv_directory *new_directory(uint32_t subtables)
{
    struct sv_directory *directory = sv_alloc_zeroed(sizeof *directory +
                                                     (subtables + 1) * sizeof(struct sv_subtable *));
    if (directory != NULL)
        directory->subtable_count = subtables;
    return directory;
}

int sv_flow_table_init(struct sv_flow_table *table, void (*quiesce)(struct sv_flow_table *table))
{
    struct sv_directory *directory = new_directory(0);
    if (directory == NULL)
        return ENOMEM;
    atomic_init(&table->directory, directory);
    atomic_init(&table->generation, 1);
    atomic_init(&table->capacity, UINT32_MAX);
    table->quiesce = quiesce;
    return 0;
}

/* The table has neither rules nor readers. */
void sv_flow_table_destroy(struct sv_flow_table *table)
{
    struct sv_directory *directory = directory_of(table);
    for (uint32_t i = 0; i < directory->subtable_count; i++)
        free(directory->subtable[i]);
    free(directory);
}

static struct sv_subtable *new_subtable(uint32_t priority, const union sv_key *mask, uint32_t slots)
{
    struct sv_subtable *subtable = sv_alloc_zeroed(sizeof *subtable + slots * sizeof subtable->slots[0]);
    if (subtable == NULL)
        return NULL;
    subtable->priority = priority;
    subtable->slot_mask = slots - 1;
    for (uint32_t i = 0; i < SV_KEY_WORDS; i++) {
        if (mask->words[i] == 0)
            continue;
        subtable->mask[subtable->word_count] = mask->words[i];
        subtable->word_index[subtable->word_count++] = (uint8_t)i;
    }
    return subtable;
}

static void expand_mask(const struct sv_subtable *subtable, union sv_key *mask)
{
    memset(mask, 0, sizeof *mask);
    for (uint32_t i = 0; i < subtable->word_count; i++)
        mask->words[subtable->word_index[i]] = subtable->mask[i];
}

static bool has_mask(const struct sv_subtable *subtable, const union sv_key *mask)
{
    union sv_key own;
    expand_mask(subtable, &own);
    return memcmp(&own, mask, sizeof own) == 0;
}

static int find_subtable(struct sv_directory *directory, uint32_t priority, const union sv_key *mask)
{
    for (uint32_t i = 0; i < directory->subtable_count; i++)
        if (directory->subtable[i]->priority == priority && has_mask(directory->subtable[i], mask))
            return (int)i;
    return -1;
}

static struct sv_rule *_Atomic *find_slot(struct sv_subtable *subtable, const struct sv_rule *rule)
{
    for (uint32_t i = rule->hash;; i++) {
        struct sv_rule *_Atomic *slot = &subtable->slots[i & subtable->slot_mask];
        struct sv_rule *existing = atomic_load_explicit(slot, memory_order_relaxed);
        if (existing == NULL)
            return NULL;
        if (existing != &sv_tombstone && memcmp(&existing->key, &rule->key, sizeof rule->key) == 0)
            return slot;
    }
}

static void insert(struct sv_subtable *subtable, struct sv_rule *rule)
{
    for (uint32_t i = rule->hash;; i++) {
        struct sv_rule *_Atomic *slot = &subtable->slots[i & subtable->slot_mask];
        struct sv_rule *existing = atomic_load_explicit(slot, memory_order_relaxed);
        if (existing != NULL && existing != &sv_tombstone)
            continue;
        subtable->dead -= existing == &sv_tombstone;
        subtable->live++;
        atomic_store_explicit(slot, rule, memory_order_release);
        return;
    }
}

/* ---- replacing the directory ---- */

/*
 * Returns a copy of the directory with subtable[index] replaced (NULL: removed), or, if index is -1, with `subtable`
 * inserted by priority.
 */
static struct sv_directory *with_subtable(const struct sv_flow_table *table, int index, struct sv_subtable *subtable)
{
    const struct sv_directory *old = directory_of(table);
    uint32_t subtables = old->subtable_count + (index < 0) - (index >= 0 && subtable == NULL);
    struct sv_directory *directory = new_directory(subtables);
    if (directory == NULL)
        return NULL;
    uint32_t n = 0;
    bool placed = index >= 0;
    for (uint32_t i = 0; i < old->subtable_count; i++) {
        if (!placed && old->subtable[i]->priority > subtable->priority) {
            directory->subtable[n++] = subtable;
            placed = true;
        }
        if ((int)i != index)
            directory->subtable[n++] = old->subtable[i];
        else if (subtable != NULL)
            directory->subtable[n++] = subtable;
    }
    if (!placed)
        directory->subtable[n++] = subtable;
    directory->used_mask = table->rss_used_mask;
    for (n = 0; n < subtables; n++) {
        union sv_key mask;
        expand_mask(directory->subtable[n], &mask);
        for (uint32_t i = 0; i < SV_KEY_WORDS; i++) {
            directory->used_mask.words[i] |= mask.words[i];
            directory->wants_inner |= mask.words[i] != 0 && i >= SV_HEADER_WORDS;
        }
        directory->wants_inner |= (mask.outer.layers & SV_LAYER_VXLAN) != 0;
    }
    return directory;
}

static void bump_generation(struct sv_flow_table *table)
{
    atomic_fetch_add_explicit(&table->generation, 1, memory_order_release);
}

static void quiesce(struct sv_flow_table *table)
{
    if (table->quiesce != NULL)
        table->quiesce(table);
}

/*
 * Publishes the directory, waits for readers of the old one, and frees the old one with the subtable that only it had.
 */
static void replace_directory(struct sv_flow_table *table, struct sv_directory *directory,
                              struct sv_subtable *removed_subtable)
{
    struct sv_directory *old = directory_of(table);
    atomic_store_explicit(&table->directory, directory, memory_order_release);
    bump_generation(table);
    quiesce(table);
    free(old);
    free(removed_subtable);
}

static int add_subtable(struct sv_flow_table *table, uint32_t priority, const union sv_key *mask, int *index)
{
    struct sv_directory *old = directory_of(table);
    unsigned same_priority = 0;
    for (uint32_t i = 0; i < old->subtable_count; i++)
        same_priority += old->subtable[i]->priority == priority;
    if (same_priority >= MAX_SUBTABLES_PER_PRIORITY)
        return ENOMEM;
    struct sv_subtable *subtable = new_subtable(priority, mask, FIRST_SLOTS);
    struct sv_directory *directory = subtable == NULL ? NULL : with_subtable(table, -1, subtable);
    if (directory == NULL) {
        free(subtable);
        return ENOMEM;
    }
    replace_directory(table, directory, NULL);
    *index = find_subtable(directory, priority, mask);
    return 0;
}

/* Keeps searches short: a table is at most half full, including tombstones. */
static int rehash_if_half_full(struct sv_flow_table *table, int index)
{
    struct sv_directory *old = directory_of(table);
    struct sv_subtable *subtable = old->subtable[index];
    uint32_t slots = subtable->slot_mask + 1;
    if ((subtable->live + subtable->dead + 1) * 2 <= slots)
        return 0;
    union sv_key mask;
    expand_mask(subtable, &mask);
    uint32_t new_slots = subtable->live * 4 >= slots ? slots * 2 : slots;
    struct sv_subtable *rehashed = new_subtable(subtable->priority, &mask, new_slots);
    struct sv_directory *directory = rehashed == NULL ? NULL : with_subtable(table, index, rehashed);
    if (directory == NULL) {
        free(rehashed);
        return ENOMEM;
    }
    for (uint32_t i = 0; i < slots; i++) {
        struct sv_rule *rule = atomic_load_explicit(&subtable->slots[i], memory_order_relaxed);
        if (rule != NULL && rule != &sv_tombstone)
            insert(rehashed, rule);
    }
    replace_directory(table, directory, subtable);
    return 0;
}

/* used_mask must include the fields of an RSS hash before a rule leads there. */
static int extend_used_mask(struct sv_flow_table *table, const struct sv_rss *rss)
{
    struct sv_directory *old = directory_of(table);
    union sv_key used_mask = table->rss_used_mask;
    sv_rss_add_used_mask(rss, &used_mask);
    if (memcmp(&used_mask, &table->rss_used_mask, sizeof used_mask) == 0)
        return 0;
    struct sv_directory *directory = new_directory(old->subtable_count);
    if (directory == NULL)
        return ENOMEM;
    memcpy(directory, old, sizeof *old + old->subtable_count * sizeof old->subtable[0]);
    table->rss_used_mask = used_mask;
    for (uint32_t i = 0; i < SV_KEY_WORDS; i++)
        directory->used_mask.words[i] |= used_mask.words[i];
    replace_directory(table, directory, NULL);
    return 0;
}

/* ---- chains of rules with the same match ---- */

static int append_rule(struct sv_rule *_Atomic *head, struct sv_rule *rule, bool allow_several)
{
    struct sv_rule *_Atomic *link = head;
    struct sv_rule *existing;
    while ((existing = atomic_load_explicit(link, memory_order_relaxed)) != NULL) {
        if (!allow_several || existing->qp == rule->qp)
            return EEXIST;
        link = &existing->next_same;
    }
    atomic_store_explicit(link, rule, memory_order_release);
    return 0;
}

static void unlink_rule(struct sv_rule *_Atomic *head, struct sv_rule *rule)
{
    struct sv_rule *_Atomic *link = head;
    struct sv_rule *existing;
    while ((existing = atomic_load_explicit(link, memory_order_relaxed)) != rule)
        link = &existing->next_same;
    atomic_store_explicit(link, atomic_load_explicit(&rule->next_same, memory_order_relaxed), memory_order_release);
}

static struct sv_rule *_Atomic *special_head(struct sv_flow_table *table, enum ibv_flow_attr_type type)
{
    if (type == IBV_FLOW_ATTR_SNIFFER)
        return &table->sniffer;
    return type == IBV_FLOW_ATTR_ALL_DEFAULT ? &table->all_default : &table->multicast_default;
}

static int add_normal(struct sv_flow_table *table, struct sv_rule *rule, const struct sv_rule_spec *spec)
{
    int index = find_subtable(directory_of(table), spec->priority, &spec->mask);
    int error = 0;
    if (index < 0)
        error = add_subtable(table, spec->priority, &spec->mask, &index);
    if (error != 0)
        return error;
    struct sv_subtable *subtable = directory_of(table)->subtable[index];
    rule->hash = sv_subtable_hash(subtable, &rule->key);
    struct sv_rule *_Atomic *slot = find_slot(subtable, rule);
    if (slot != NULL)
        return append_rule(slot, rule, spec->multicast);
    error = rehash_if_half_full(table, index);
    if (error == 0)
        insert(directory_of(table)->subtable[index], rule);
    return error;
}

int sv_flow_table_add(struct sv_flow_table *table, struct sv_rule *rule, const struct sv_rule_spec *spec)
{
    if (table->rule_count >= table->capacity)
        return ENOMEM;
    int error = rule->qp->rss != NULL ? extend_used_mask(table, rule->qp->rss) : 0;
    if (error == 0 && spec->type == IBV_FLOW_ATTR_NORMAL)
        error = add_normal(table, rule, spec);
    else if (error == 0)
        error = append_rule(special_head(table, spec->type), rule, spec->type != IBV_FLOW_ATTR_SNIFFER);
    if (error != 0)
        return error;
    table->rule_count++;
    bump_generation(table);
    return 0;
}

static void remove_normal(struct sv_flow_table *table, struct sv_flow *flow)
{
    int index = find_subtable(directory_of(table), flow->priority, &flow->mask);
    struct sv_subtable *subtable = directory_of(table)->subtable[index];
    struct sv_rule *_Atomic *slot = find_slot(subtable, flow->rule);
    struct sv_rule *next = atomic_load_explicit(&flow->rule->next_same, memory_order_relaxed);
    if (atomic_load_explicit(slot, memory_order_relaxed) != flow->rule || next != NULL) {
        unlink_rule(slot, flow->rule);
        return;
    }
    /* Only compared, never dereferenced. */
    atomic_store_explicit(slot, (struct sv_rule *)&sv_tombstone, memory_order_release);
    subtable->live--;
    subtable->dead++;
    if (subtable->live > 0)
        return;
    /* Without memory for a new directory the empty subtable stays, which costs one probe. */
    struct sv_directory *smaller = with_subtable(table, index, NULL);
    if (smaller != NULL)
        replace_directory(table, smaller, subtable);
}

void sv_flow_table_remove(struct sv_flow_table *table, struct sv_flow *flow)
{
    if (flow->type == IBV_FLOW_ATTR_NORMAL)
        remove_normal(table, flow);
    else
        unlink_rule(special_head(table, flow->type), flow->rule);
    table->rule_count--;
    bump_generation(table);
    quiesce(table);
}

/* ---- all rules ---- */

/* A chain has several rules only if they share a multicast destination. */
static int visit_chain(const struct sv_subtable *subtable, struct sv_rule *rule,
                       int (*visit)(void *context, const struct sv_rule *rule, const struct sv_rule_spec *spec),
                       void *context)
{
    int error = 0;
    for (; rule != NULL && error == 0; rule = atomic_load_explicit(&rule->next_same, memory_order_relaxed)) {
        struct sv_rule_spec spec = {.type = IBV_FLOW_ATTR_NORMAL, .priority = subtable->priority, .multicast = true,
                                    .value = rule->key, .dont_trap = rule->dont_trap};
        expand_mask(subtable, &spec.mask);
        error = visit(context, rule, &spec);
    }
    return error;
}

int sv_flow_table_visit(const struct sv_flow_table *table,
                        int (*visit)(void *context, const struct sv_rule *rule, const struct sv_rule_spec *spec),
                        void *context)
{
    const struct sv_directory *directory = directory_of(table);
    int error = 0;
    for (uint32_t i = 0; i < directory->subtable_count; i++) {
        struct sv_subtable *subtable = directory->subtable[i];
        for (uint32_t slot = 0; slot <= subtable->slot_mask && error == 0; slot++) {
            struct sv_rule *rule = atomic_load_explicit(&subtable->slots[slot], memory_order_relaxed);
            if (rule != &sv_tombstone)
                error = visit_chain(subtable, rule, visit, context);
        }
    }
    return error;
}
