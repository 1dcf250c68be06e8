/* SPDX-License-Identifier: Apache-2.0 */
/* Writes flow rules to the maps that the programs read: see kernel_steering.h and bpf_layout.h. */
#include "kernel_steering_state.h"

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

enum { MAX_IDLE_SUBTABLES = 8 };

void sv_kernel_steering_frame_mask(const unsigned long long *key_mask, unsigned long long *frame_mask)
{
    static const struct sv_layout ordinary = {.l3 = 4, .l3_offset = ETH_HLEN, .l4 = IPPROTO_TCP,
                                             .l4_offset = ETH_HLEN + SV_IPV4_HLEN};
    const struct sv_headers untagged = {.layers = 0};
    struct sv_headers used_mask;
    uint8_t mask[SV_WINDOW_BYTES];
    memset(&used_mask, 0, sizeof used_mask);
    memcpy(&used_mask, key_mask, SV_BPF_PLAIN_WORDS * sizeof key_mask[0]);
    sv_window_mask(&used_mask, &untagged, ordinary, mask);
    memcpy(frame_mask, mask, SV_BPF_FRAME_WORDS * sizeof frame_mask[0]);
}

void sv_kernel_steering_invalidate(struct sv_kernel_steering *steering)
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
static void wait_for_searches(struct sv_kernel_steering *steering)
{
    struct timespec now;
    sv_assert_may_block();
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - steering->published_seconds <= 1)
        (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
    steering->published_seconds = now.tv_sec;
}

/* Writes the half that programs do not read, then makes it current. */
static void publish_rules(struct sv_kernel_steering *steering)
{
    wait_for_searches(steering);
    struct sv_bpf_directory *directory = steering->directory;
    uint32_t sequence = __atomic_load_n(&directory->sequence, __ATOMIC_RELAXED) + 1;
    struct sv_bpf_half *half = &directory->half[sequence & 1];
    union sv_key all = {.words = {0}};
    /* A program that sees any of the following stores also sees this one, and that the half is no longer current. */
    __atomic_store_n(&directory->filling, sequence, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    half->subtable_count = steering->subtable_count;
    memcpy(half->mac, steering->mac, 6);
    for (uint32_t i = 0; i < steering->subtable_count; i++) {
        const struct subtable *subtable = &steering->subtable[i];
        memcpy(half->subtable[i].mask, &subtable->mask, sizeof subtable->mask);
        half->subtable[i].id = subtable->id;
        half->subtable[i].deep = subtable->deep;
        for (uint32_t w = 0; w < SV_KEY_WORDS; w++)
            all.words[w] |= subtable->mask.words[w];
    }
    static const struct sv_headers none;
    bool inner = (all.outer.layers & SV_LAYER_VXLAN) || memcmp(&all.inner, &none, sizeof none) != 0;
    half->flags = (inner ? SV_BPF_WANTS_INNER : 0) |
                  (steering->default_rules[IBV_FLOW_ATTR_ALL_DEFAULT] > 0 ? SV_BPF_ALL_DEFAULT : 0) |
                  (steering->default_rules[IBV_FLOW_ATTR_MC_DEFAULT] > 0 ? SV_BPF_MULTICAST_DEFAULT : 0) |
                  (steering->default_rules[IBV_FLOW_ATTR_SNIFFER] > 0 ? SV_BPF_SNIFFER : 0);
    /* Verdicts on frames to the VXLAN port are not cached. */
    if (inner)
        all.outer.dst_port = 0xffff;
    memcpy(half->key_mask, all.words, sizeof half->key_mask);
    if (half->flags != 0)
        memset(half->key_mask, 0xff, sizeof all.outer.dst_mac);     /* the first word begins with it */
    sv_kernel_steering_frame_mask(half->key_mask, half->frame_mask);
    __atomic_store_n(&directory->sequence, sequence, __ATOMIC_SEQ_CST);
    sv_kernel_steering_invalidate(steering);
}

void sv_kernel_steering_set_mac(struct sv_kernel_steering *steering, const uint8_t mac[6])
{
    memcpy(steering->mac, mac, 6);
    publish_rules(steering);
}

static struct subtable *find_subtable(struct sv_kernel_steering *steering, uint32_t priority, const union sv_key *mask)
{
    for (uint32_t i = 0; i < steering->subtable_count; i++)
        if (steering->subtable[i].priority == priority && memcmp(&steering->subtable[i].mask, mask, sizeof *mask) == 0)
            return &steering->subtable[i];
    return NULL;
}

bool sv_kernel_steering_has_subtable(const struct sv_kernel_steering *steering, const struct sv_rule_spec *spec)
{
    return find_subtable((struct sv_kernel_steering *)(uintptr_t)steering, spec->priority, &spec->mask) != NULL;
}

uint32_t sv_kernel_steering_live_subtable_count(const struct sv_kernel_steering *steering)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < steering->subtable_count; i++)
        live += steering->subtable[i].rule_count > 0;
    return live;
}

/* Keeps a few subtables without rules, because the next rules tend to need them again. Each kept one costs a probe. */
static void drop_idle_subtables(struct sv_kernel_steering *steering)
{
    uint32_t idle = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < steering->subtable_count; i++)
        idle += steering->subtable[i].rule_count == 0;
    if (idle < MAX_IDLE_SUBTABLES)
        return;
    for (uint32_t i = 0; i < steering->subtable_count; i++)
        if (steering->subtable[i].rule_count > 0)
            steering->subtable[kept++] = steering->subtable[i];
    steering->subtable_count = kept;
}

static bool is_deep(const union sv_key *mask)
{
    uint64_t beyond = 0;
    for (uint32_t w = SV_BPF_PLAIN_WORDS; w < SV_KEY_WORDS; w++)
        beyond |= mask->words[w];
    return beyond != 0;
}

static int rule_map(const struct sv_kernel_steering *steering, const struct subtable *subtable)
{
    return steering->map_fds[subtable->deep ? SV_MAP_DEEP_RULES : SV_MAP_RULES];
}

static struct subtable *add_subtable(struct sv_kernel_steering *steering, uint32_t priority, const union sv_key *mask)
{
    drop_idle_subtables(steering);
    if (steering->subtable_count == SV_BPF_MAX_SUBTABLES)
        return NULL;
    uint32_t at = 0;
    while (at < steering->subtable_count && steering->subtable[at].priority <= priority)
        at++;
    struct subtable *subtable = &steering->subtable[at];
    memmove(subtable + 1, subtable, (steering->subtable_count - at) * sizeof *subtable);
    steering->subtable_count++;
    *subtable = (struct subtable){.priority = priority, .id = ++steering->last_subtable_id, .deep = is_deep(mask),
                                  .mask = *mask};
    publish_rules(steering);
    return subtable;
}

static void rule_key(const struct subtable *subtable, const union sv_key *value, struct sv_bpf_rule_key *key)
{
    key->subtable_id = subtable->id;
    memcpy(key->words, value->words, sizeof key->words);
}

static struct sv_bpf_rule read_rule(int map_fd, const struct sv_bpf_rule_key *key)
{
    struct sv_bpf_rule rule = {0, 0};
    if (!sv_map_lookup(map_fd, key, &rule))
        return (struct sv_bpf_rule){0, 0};
    return rule;
}

int sv_kernel_steering_add(struct sv_kernel_steering *steering, const struct sv_rule_spec *spec)
{
    if (spec->type != IBV_FLOW_ATTR_NORMAL) {
        steering->default_rules[spec->type]++;
        publish_rules(steering);
        return 0;
    }
    struct subtable *subtable = find_subtable(steering, spec->priority, &spec->mask);
    if (subtable == NULL)
        subtable = add_subtable(steering, spec->priority, &spec->mask);
    if (subtable == NULL)
        return ENOMEM;
    struct sv_bpf_rule_key key;
    rule_key(subtable, &spec->value, &key);
    struct sv_bpf_rule rule = {0, 0};
    if (spec->multicast)
        rule = read_rule(rule_map(steering, subtable), &key);
    rule.trap_rules += !spec->dont_trap;
    rule.dont_trap_rules += spec->dont_trap;
    int error = sv_map_update(rule_map(steering, subtable), &key, &rule);
    sv_kernel_steering_invalidate(steering);
    if (error == 0)
        subtable->rule_count++;
    return error == E2BIG ? ENOMEM : error;
}

bool sv_kernel_steering_remove(struct sv_kernel_steering *steering, const struct sv_rule_spec *spec)
{
    if (spec->type != IBV_FLOW_ATTR_NORMAL) {
        steering->default_rules[spec->type] -= steering->default_rules[spec->type] > 0;
        publish_rules(steering);
        return true;
    }
    struct subtable *subtable = find_subtable(steering, spec->priority, &spec->mask);
    if (subtable == NULL)
        return false;
    struct sv_bpf_rule_key key;
    rule_key(subtable, &spec->value, &key);
    struct sv_bpf_rule rule = read_rule(rule_map(steering, subtable), &key);
    if ((spec->dont_trap ? rule.dont_trap_rules : rule.trap_rules) == 0)
        return false;
    rule.trap_rules -= !spec->dont_trap;
    rule.dont_trap_rules -= spec->dont_trap;
    subtable->rule_count--;
    if (rule.trap_rules + rule.dont_trap_rules > 0) {
        sv_map_update(rule_map(steering, subtable), &key, &rule);
        sv_kernel_steering_invalidate(steering);
        return true;
    }
    sv_map_delete(rule_map(steering, subtable), &key);
    sv_kernel_steering_invalidate(steering);
    return true;
}
