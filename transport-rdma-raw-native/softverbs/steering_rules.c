/* SPDX-License-Identifier: Apache-2.0 */
/* Writes flow rules to the maps that the programs read: see steering.h and steering_maps.h. */
#include "steering_state.h"

#include "bpf.h"
#include "device.h"
#include "wire_defs.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/membarrier.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_IDLE_SHAPES = 8 };

void sv_steering_head_mask(const unsigned long long *key_mask, unsigned long long *head_mask)
{
    static const struct sv_layout ordinary = {.l3 = 4, .l3_offset = ETH_HLEN, .l4 = IPPROTO_TCP,
                                             .l4_offset = ETH_HLEN + SV_IPV4_HLEN};
    const struct sv_headers untagged = {.layers = 0};
    struct sv_headers used_mask;
    uint8_t mask[SV_WINDOW_BYTES];
    memset(&used_mask, 0, sizeof used_mask);
    memcpy(&used_mask, key_mask, SV_STEER_PLAIN_WORDS * sizeof key_mask[0]);
    sv_window_mask(&used_mask, &untagged, ordinary, mask);
    memcpy(head_mask, mask, SV_STEER_HEAD_WORDS * sizeof head_mask[0]);
}

void sv_steering_invalidate(struct sv_steering *steering)
{
    __atomic_fetch_add(&steering->directory->generation, 1, __ATOMIC_SEQ_CST);
}

/*
 * Waits until no search reads the half to be filled, which was current before the last change. If two changes happened
 * during a search, the program would leave its frame to the kernel, which may answer it; the first search on a
 * processor takes 100 us. Programs run in read-side critical sections of RCU, and this function waits for a grace
 * period (membarrier(2)). That takes milliseconds, and only if rules of new kinds are added within seconds. If
 * membarrier is not available (nohz_full), such a frame goes to the kernel.
 */
static void wait_for_searches(struct sv_steering *steering)
{
    struct timespec now;
    sv_assert_may_block();
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - steering->published_seconds <= 1)
        (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
    steering->published_seconds = now.tv_sec;
}

/* Writes the half that programs do not read, then makes it current. */
static void publish_rules(struct sv_steering *steering)
{
    wait_for_searches(steering);
    struct sv_steer_directory *directory = steering->directory;
    uint32_t sequence = __atomic_load_n(&directory->sequence, __ATOMIC_RELAXED) + 1;
    struct sv_steer_half *half = &directory->half[sequence & 1];
    union sv_key all = {.words = {0}};
    /* A program that sees any of the following stores also sees this one, and that the half is no longer current. */
    __atomic_store_n(&directory->filling, sequence, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    half->shape_count = steering->shape_count;
    memcpy(half->mac, steering->mac, 6);
    for (uint32_t i = 0; i < steering->shape_count; i++) {
        const struct shape *shape = &steering->shape[i];
        memcpy(half->shape[i].mask, &shape->mask, sizeof shape->mask);
        half->shape[i].id = shape->id;
        half->shape[i].deep = shape->deep;
        for (uint32_t w = 0; w < SV_KEY_WORDS; w++)
            all.words[w] |= shape->mask.words[w];
    }
    static const struct sv_headers none;
    bool inner = (all.outer.layers & SV_LAYER_VXLAN) || memcmp(&all.inner, &none, sizeof none) != 0;
    half->flags = (inner ? SV_STEER_WANTS_INNER : 0) |
                  (steering->default_rules[IBV_FLOW_ATTR_ALL_DEFAULT] > 0 ? SV_STEER_ALL_DEFAULT : 0) |
                  (steering->default_rules[IBV_FLOW_ATTR_MC_DEFAULT] > 0 ? SV_STEER_MULTICAST_DEFAULT : 0) |
                  (steering->default_rules[IBV_FLOW_ATTR_SNIFFER] > 0 ? SV_STEER_SNIFFER : 0);
    /* Verdicts on frames to the VXLAN port are not cached. */
    if (inner)
        all.outer.dst_port = 0xffff;
    memcpy(half->key_mask, all.words, sizeof half->key_mask);
    if (half->flags != 0)
        memset(half->key_mask, 0xff, sizeof all.outer.dst_mac);     /* the first word begins with it */
    sv_steering_head_mask(half->key_mask, half->head_mask);
    __atomic_store_n(&directory->sequence, sequence, __ATOMIC_SEQ_CST);
    sv_steering_invalidate(steering);
}

void sv_steering_set_mac(struct sv_steering *steering, const uint8_t mac[6])
{
    memcpy(steering->mac, mac, 6);
    publish_rules(steering);
}

static struct shape *find_shape(struct sv_steering *steering, uint32_t priority, const union sv_key *mask)
{
    for (uint32_t i = 0; i < steering->shape_count; i++)
        if (steering->shape[i].priority == priority && memcmp(&steering->shape[i].mask, mask, sizeof *mask) == 0)
            return &steering->shape[i];
    return NULL;
}

bool sv_steering_has_shape(const struct sv_steering *steering, const struct sv_rule_spec *spec)
{
    return find_shape((struct sv_steering *)(uintptr_t)steering, spec->priority, &spec->mask) != NULL;
}

uint32_t sv_steering_live_shape_count(const struct sv_steering *steering)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < steering->shape_count; i++)
        live += steering->shape[i].rule_count > 0;
    return live;
}

/*
 * Keeps a few shapes without rules, because the next rules tend to have the same shape. Each kept shape costs a probe.
 */
static void drop_idle_shapes(struct sv_steering *steering)
{
    uint32_t idle = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < steering->shape_count; i++)
        idle += steering->shape[i].rule_count == 0;
    if (idle < MAX_IDLE_SHAPES)
        return;
    for (uint32_t i = 0; i < steering->shape_count; i++)
        if (steering->shape[i].rule_count > 0)
            steering->shape[kept++] = steering->shape[i];
    steering->shape_count = kept;
}

static bool is_deep(const union sv_key *mask)
{
    uint64_t beyond = 0;
    for (uint32_t w = SV_STEER_PLAIN_WORDS; w < SV_KEY_WORDS; w++)
        beyond |= mask->words[w];
    return beyond != 0;
}

static int rule_map(const struct sv_steering *steering, const struct shape *shape)
{
    return steering->map_fds[shape->deep ? SV_MAP_DEEP_RULES : SV_MAP_RULES];
}

static struct shape *add_shape(struct sv_steering *steering, uint32_t priority, const union sv_key *mask)
{
    drop_idle_shapes(steering);
    if (steering->shape_count == SV_STEER_MAX_SHAPES)
        return NULL;
    uint32_t at = 0;
    while (at < steering->shape_count && steering->shape[at].priority <= priority)
        at++;
    struct shape *shape = &steering->shape[at];
    memmove(shape + 1, shape, (steering->shape_count - at) * sizeof *shape);
    steering->shape_count++;
    *shape = (struct shape){.priority = priority, .id = ++steering->next_id,
                            .deep = is_deep(mask), .mask = *mask};
    publish_rules(steering);
    return shape;
}

static void rule_key(const struct shape *shape, const union sv_key *value, struct sv_steer_rule_key *key)
{
    key->shape_id = shape->id;
    memcpy(key->words, value->words, sizeof key->words);
}

static struct sv_steer_rule read_rule(int map_fd, const struct sv_steer_rule_key *key)
{
    struct sv_steer_rule rule = {0, 0};
    if (!sv_map_lookup(map_fd, key, &rule))
        return (struct sv_steer_rule){0, 0};
    return rule;
}

int sv_steering_add(struct sv_steering *steering, const struct sv_rule_spec *spec)
{
    if (spec->type != IBV_FLOW_ATTR_NORMAL) {
        steering->default_rules[spec->type]++;
        publish_rules(steering);
        return 0;
    }
    struct shape *shape = find_shape(steering, spec->priority, &spec->mask);
    if (shape == NULL)
        shape = add_shape(steering, spec->priority, &spec->mask);
    if (shape == NULL)
        return ENOMEM;
    struct sv_steer_rule_key key;
    rule_key(shape, &spec->value, &key);
    struct sv_steer_rule rule = {0, 0};
    if (spec->multicast)
        rule = read_rule(rule_map(steering, shape), &key);
    rule.takers += !spec->dont_trap;
    rule.copies += spec->dont_trap;
    int error = sv_map_update(rule_map(steering, shape), &key, &rule);
    sv_steering_invalidate(steering);
    if (error == 0)
        shape->rule_count++;
    return error == E2BIG ? ENOMEM : error;
}

bool sv_steering_remove(struct sv_steering *steering, const struct sv_rule_spec *spec)
{
    if (spec->type != IBV_FLOW_ATTR_NORMAL) {
        steering->default_rules[spec->type] -= steering->default_rules[spec->type] > 0;
        publish_rules(steering);
        return true;
    }
    struct shape *shape = find_shape(steering, spec->priority, &spec->mask);
    if (shape == NULL)
        return false;
    struct sv_steer_rule_key key;
    rule_key(shape, &spec->value, &key);
    struct sv_steer_rule rule = read_rule(rule_map(steering, shape), &key);
    if ((spec->dont_trap ? rule.copies : rule.takers) == 0)
        return false;
    rule.takers -= !spec->dont_trap;
    rule.copies -= spec->dont_trap;
    shape->rule_count--;
    if (rule.takers + rule.copies > 0) {
        sv_map_update(rule_map(steering, shape), &key, &rule);
        sv_steering_invalidate(steering);
        return true;
    }
    sv_map_delete(rule_map(steering, shape), &key);
    sv_steering_invalidate(steering);
    return true;
}
