/* SPDX-License-Identifier: Apache-2.0 */
/* Rules and limits in the maps that the programs read: see steering.h, steering_maps.h and bpf/steer.bpf.c. */
#include "steering.h"

#include "bpf_map.h"
#include "device.h"
#include "refusal.h"
#include "steering_maps.h"
#include "steering_load.h"
#include "wire_defs.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/membarrier.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_IDLE_SHAPES = 8 };

_Static_assert(sizeof(struct sv_steer_headers) == sizeof(struct sv_headers), "the programs see the same key");
_Static_assert(offsetof(struct sv_steer_headers, vni) == offsetof(struct sv_headers, vni), "the same key");
_Static_assert(offsetof(struct sv_steer_headers, layers) == offsetof(struct sv_headers, layers), "the same key");
_Static_assert((int)SV_STEER_KEY_WORDS == (int)SV_KEY_WORDS, "the programs see the same key");

struct shape {
    uint32_t priority;
    uint32_t rules;
    uint64_t id;
    bool deep;                      /* its rules are in the map with the longer keys */
    union sv_key mask;
};

struct sv_steering {
    int map[SV_MAP_COUNT];
    struct sv_steer_directory *directory;   /* NULL: a broker has the rules */
    struct sv_steer_traffic *traffic;       /* NULL: the process that the broker serves has it */
    struct sv_connections connections;
    uint8_t mac[6];
    uint32_t specials[4];           /* rules by enum ibv_flow_attr_type */
    uint32_t shapes;
    time_t published_seconds;       /* of the monotonic clock */
    uint64_t next_id;
    struct shape shape[SV_STEER_MAX_SHAPES];    /* lowest priority number first */
};

/* ---- maps ---- */

static int map_marks(int map, uint32_t buckets, struct sv_steer_marks **marks)
{
    *marks = sv_map_memory(map, buckets * sizeof **marks);
    return *marks == NULL ? errno : 0;
}

static int create_marks(int *map, uint32_t buckets, struct sv_steer_marks **marks)
{
    *map = sv_map_create(BPF_MAP_TYPE_ARRAY, 4, sizeof **marks, buckets, BPF_F_MMAPABLE);
    return *map < 0 ? errno : map_marks(*map, buckets, marks);
}

/* The maps of SV_PROGRAM_CLASSIFY. */
static int create_classifier_maps(struct sv_steering *steering)
{
    int *map = steering->map;
    map[SV_MAP_SOCKETS] = sv_map_create(BPF_MAP_TYPE_XSKMAP, 4, 4, SV_STEER_SOCKETS * SV_STEER_MAX_QUEUES, 0);
    if (map[SV_MAP_SOCKETS] < 0)
        return errno;
    map[SV_MAP_SYNS] = sv_map_create(BPF_MAP_TYPE_ARRAY, 4, sizeof(uint64_t), SV_STEER_SYNS / 2, 0);
    if (map[SV_MAP_SYNS] < 0)
        return errno;
    map[SV_MAP_PROGRAMS] = sv_map_create(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1, 0);
    if (map[SV_MAP_PROGRAMS] < 0)
        return errno;
    int error = create_marks(&map[SV_MAP_KNOWN], SV_STEER_KNOWN_BUCKETS, &steering->connections.known);
    return error != 0 ? error
                      : create_marks(&map[SV_MAP_OPENING], SV_STEER_OPENING_BUCKETS, &steering->connections.opening);
}

static int create_maps(struct sv_steering *steering)
{
    int *map = steering->map;
    map[SV_MAP_DIRECTORY] = sv_map_create(BPF_MAP_TYPE_ARRAY, 4, sizeof(struct sv_steer_directory), 1, BPF_F_MMAPABLE);
    if (map[SV_MAP_DIRECTORY] < 0)
        return errno;
    map[SV_MAP_TRAFFIC] = sv_map_create(BPF_MAP_TYPE_ARRAY, 4, sizeof(struct sv_steer_traffic), 1, BPF_F_MMAPABLE);
    if (map[SV_MAP_TRAFFIC] < 0)
        return errno;
    steering->traffic = sv_map_memory(map[SV_MAP_TRAFFIC], sizeof *steering->traffic);
    if (steering->traffic == NULL)
        return errno;
    map[SV_MAP_RULES] = sv_map_create(BPF_MAP_TYPE_HASH, (1 + SV_STEER_PLAIN_WORDS) * sizeof(uint64_t),
                                   sizeof(struct sv_steer_rule), SV_STEER_MAX_RULES, BPF_F_NO_PREALLOC);
    if (map[SV_MAP_RULES] < 0)
        return errno;
    map[SV_MAP_DEEP_RULES] = sv_map_create(BPF_MAP_TYPE_HASH, sizeof(struct sv_steer_rule_key),
                                        sizeof(struct sv_steer_rule), SV_STEER_MAX_RULES, BPF_F_NO_PREALLOC);
    if (map[SV_MAP_DEEP_RULES] < 0)
        return errno;
    map[SV_MAP_SCRATCH] = sv_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct sv_steer_scratch), 1, 0);
    if (map[SV_MAP_SCRATCH] < 0)
        return errno;
    map[SV_MAP_RECENT] = sv_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct sv_steer_recent), SV_STEER_RECENT, 0);
    if (map[SV_MAP_RECENT] < 0)
        return errno;
    map[SV_MAP_HEADS] = sv_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct sv_steer_head), SV_STEER_RECENT, 0);
    if (map[SV_MAP_HEADS] < 0)
        return errno;
    steering->directory = sv_map_memory(map[SV_MAP_DIRECTORY], sizeof *steering->directory);
    return steering->directory == NULL ? errno : 0;
}

/* ---- programs ---- */

int sv_steering_load(struct sv_steering *steering, enum sv_program which)
{
    return sv_program_load(which, steering->map, 0);
}

int sv_steering_attach(struct sv_steering *steering, enum sv_program which, int ifindex, enum sv_xdp_mode mode)
{
    return sv_program_attach(which, steering->map, ifindex, mode);
}

void sv_steering_redirect_to(struct sv_steering *steering, int ifindex)
{
    steering->directory->redirect_to = (uint32_t)ifindex;
}

int sv_steering_set_sockets(struct sv_steering *steering, uint32_t queue, int socket, int syns)
{
    const uint32_t main = queue * SV_STEER_SOCKETS;
    const uint32_t syn_index = main + 1;
    if (queue >= SV_STEER_MAX_QUEUES)
        return ENOSPC;
    int error = sv_map_update(steering->map[SV_MAP_SOCKETS], &main, &socket);
    return error != 0 ? error : sv_map_update(steering->map[SV_MAP_SOCKETS], &syn_index, &syns);
}

void sv_steering_set_queues(struct sv_steering *steering, uint32_t queues)
{
    __atomic_store_n(&steering->traffic->queues, queues, __ATOMIC_RELEASE);
}

void sv_steering_set_longest_syn(struct sv_steering *steering, uint32_t bytes)
{
    __atomic_store_n(&steering->traffic->longest_syn, bytes, __ATOMIC_RELAXED);
}

void sv_steering_set_longest_datagram(struct sv_steering *steering, uint32_t bytes)
{
    __atomic_store_n(&steering->traffic->longest_datagram, bytes, __ATOMIC_RELAXED);
}

uint64_t sv_steering_datagrams_passed(const struct sv_steering *steering)
{
    return __atomic_load_n(&steering->traffic->datagrams_passed, __ATOMIC_RELAXED);
}

static void extend_limit(unsigned long long *until_nanos)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t until = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + SV_STEER_LIMITED_NANOS;
    __atomic_store_n(until_nanos, until, __ATOMIC_RELAXED);
}

void sv_steering_limit_syns(struct sv_steering *steering)
{
    extend_limit(&steering->traffic->syns_limited_until_nanos);
}

void sv_steering_limit_unsolicited(struct sv_steering *steering)
{
    extend_limit(&steering->traffic->unsolicited_limited_until_nanos);
}

uint64_t sv_steering_dropped_syns(const struct sv_steering *steering)
{
    return __atomic_load_n(&steering->traffic->syns_dropped, __ATOMIC_RELAXED);
}

uint64_t sv_steering_dropped_unsolicited(const struct sv_steering *steering)
{
    return __atomic_load_n(&steering->traffic->unsolicited_dropped, __ATOMIC_RELAXED);
}

uint64_t sv_steering_long_syns(const struct sv_steering *steering)
{
    return __atomic_load_n(&steering->traffic->syns_too_long, __ATOMIC_RELAXED);
}

uint64_t sv_steering_unserved(const struct sv_steering *steering)
{
    return __atomic_load_n(&steering->traffic->unserved, __ATOMIC_RELAXED);
}

const struct sv_connections *sv_steering_connections(const struct sv_steering *steering)
{
    return &steering->connections;
}

/* ---- life ---- */

/* Computes the bits of an ordinary frame that make it one or that rules match: see struct sv_steer_head. */
static void head_mask(const unsigned long long *seen, unsigned long long *head)
{
    static const struct sv_layout ordinary = {.l3 = 4, .l3_offset = ETH_HLEN, .l4 = IPPROTO_TCP,
                                             .l4_offset = ETH_HLEN + SV_IPV4_HLEN};
    const struct sv_headers untagged = {.layers = 0};
    struct sv_headers interest;
    uint8_t mask[SV_WINDOW];
    memset(&interest, 0, sizeof interest);
    memcpy(&interest, seen, SV_STEER_PLAIN_WORDS * sizeof seen[0]);
    sv_window_mask(&interest, &untagged, ordinary, mask);
    memcpy(head, mask, SV_STEER_HEAD_WORDS * sizeof head[0]);
}

/* The rules have changed: invalidates the verdicts that programs have cached. */
static void invalidate_verdicts(struct sv_steering *steering)
{
    __atomic_fetch_add(&steering->directory->generation, 1, __ATOMIC_SEQ_CST);
}

/* Draws the secret. Early after boot this waits for entropy: a predictable secret is useless. */
static int draw_secret(unsigned long long *secret)
{
    ssize_t bytes;
    do
        bytes = getrandom(secret, sizeof *secret, 0);
    while (bytes < 0 && errno == EINTR);
    return bytes == (ssize_t)sizeof *secret ? 0 : bytes < 0 ? errno : EAGAIN;
}

int sv_steering_open(struct sv_steering **out, const uint8_t mac[6], bool classifies)
{
    struct sv_steering *steering = sv_alloc_zeroed(sizeof *steering);
    if (steering == NULL)
        return ENOMEM;
    for (int i = 0; i < SV_MAP_COUNT; i++)
        steering->map[i] = -1;
    memcpy(steering->mac, mac, 6);
    int error = create_maps(steering);
    if (error == 0 && classifies)
        error = create_classifier_maps(steering);
    if (error != 0) {
        sv_steering_close(steering);
        return sv_explain_bpf(error, "eBPF maps can't be made");
    }
    error = draw_secret(&steering->traffic->secret);
    if (error != 0) {
        sv_steering_close(steering);
        return sv_explain(error, "the kernel gives no random numbers: getrandom(2) failed");
    }
    steering->connections.secret = steering->traffic->secret;
    sv_steering_set_longest_datagram(steering, UINT32_MAX);
#if !defined(__x86_64__) && !defined(__i386__)
    steering->directory->loads_reorder = 1;
#endif
    memcpy(steering->directory->half[0].mac, mac, 6);
    head_mask(steering->directory->half[0].seen, steering->directory->half[0].head);
    invalidate_verdicts(steering);      /* empty entries have 0 */
    *out = steering;
    return 0;
}

static void unmap_memory(void *memory, size_t bytes)
{
    if (memory != NULL)
        munmap(memory, bytes);
}

static void unmap_shared(struct sv_steering *steering)
{
    unmap_memory(steering->traffic, sizeof *steering->traffic);
    unmap_memory(steering->connections.known, SV_STEER_KNOWN_BUCKETS * sizeof *steering->connections.known);
    unmap_memory(steering->connections.opening, SV_STEER_OPENING_BUCKETS * sizeof *steering->connections.opening);
    steering->traffic = NULL;
    steering->connections.known = steering->connections.opening = NULL;
}

static void close_map(int *map)
{
    if (*map >= 0)
        close(*map);
    *map = -1;
}

void sv_steering_close(struct sv_steering *steering)
{
    if (steering == NULL)
        return;
    unmap_memory(steering->directory, sizeof *steering->directory);
    unmap_shared(steering);
    for (int i = 0; i < SV_MAP_COUNT; i++)
        close_map(&steering->map[i]);
    free(steering);
}

/* ---- shared with a broker ---- */

/*
 * In this order they are handed over. The process only keeps the map of programs: the kernel empties such a map with its
 * last descriptor, though a program uses it, and the broker may end before the process.
 */
static const int shared_map[SV_STEERING_SHARED_MAPS] = {SV_MAP_TRAFFIC, SV_MAP_KNOWN, SV_MAP_OPENING, SV_MAP_PROGRAMS};

void sv_steering_shared(const struct sv_steering *steering, int maps[SV_STEERING_SHARED_MAPS])
{
    for (int i = 0; i < SV_STEERING_SHARED_MAPS; i++)
        maps[i] = steering->map[shared_map[i]];
}

int sv_steering_seal(const struct sv_steering *steering)
{
    return sv_map_freeze(steering->map[SV_MAP_PROGRAMS]);
}

/* The programs hold the maps that they use, and the mapped directory stays. */
void sv_steering_keep_rules(struct sv_steering *steering)
{
    unmap_shared(steering);
    for (int i = 0; i < SV_MAP_COUNT; i++)
        if (i != SV_MAP_RULES && i != SV_MAP_DEEP_RULES)
            close_map(&steering->map[i]);
}

int sv_steering_adopt(struct sv_steering **out, const int maps[SV_STEERING_SHARED_MAPS])
{
    struct sv_steering *steering = sv_alloc_zeroed(sizeof *steering);
    for (int i = 0; i < SV_MAP_COUNT && steering != NULL; i++)
        steering->map[i] = -1;
    for (int i = 0; i < SV_STEERING_SHARED_MAPS; i++) {
        if (steering != NULL)
            steering->map[shared_map[i]] = maps[i];
        else
            close(maps[i]);
    }
    if (steering == NULL)
        return ENOMEM;
    steering->traffic = sv_map_memory(steering->map[SV_MAP_TRAFFIC], sizeof *steering->traffic);
    int error = steering->traffic == NULL ? errno : 0;
    if (error == 0)
        error = map_marks(steering->map[SV_MAP_KNOWN], SV_STEER_KNOWN_BUCKETS, &steering->connections.known);
    if (error == 0)
        error = map_marks(steering->map[SV_MAP_OPENING], SV_STEER_OPENING_BUCKETS, &steering->connections.opening);
    if (error != 0) {
        sv_steering_close(steering);
        return sv_explain(error, "the maps that the broker has sent can't be mapped");
    }
    steering->connections.secret = steering->traffic->secret;
    *out = steering;
    return 0;
}

/* ---- rules ---- */

/*
 * Waits until every search has ended that may still read the half to be filled, which was current before the last change.
 * Otherwise a program that two changes overtake leaves its frame to the kernel, which may answer it; the first search on
 * a processor takes 100 us. Programs run in read-side critical sections of RCU, and this waits for a grace period
 * (membarrier(2)): milliseconds, where rules of new kinds come within seconds. Where it cannot be had (nohz_full), such a
 * frame goes to the kernel as before.
 */
static void wait_for_searches(struct sv_steering *steering)
{
    struct timespec now;
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
    /* A program that sees a part of the following also sees this, and that the half is no longer current. */
    __atomic_store_n(&directory->filling, sequence, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    half->shapes = steering->shapes;
    memcpy(half->mac, steering->mac, 6);
    for (uint32_t i = 0; i < steering->shapes; i++) {
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
                  (steering->specials[IBV_FLOW_ATTR_ALL_DEFAULT] > 0 ? SV_STEER_ALL_DEFAULT : 0) |
                  (steering->specials[IBV_FLOW_ATTR_MC_DEFAULT] > 0 ? SV_STEER_MULTICAST_DEFAULT : 0) |
                  (steering->specials[IBV_FLOW_ATTR_SNIFFER] > 0 ? SV_STEER_SNIFFER : 0);
    memcpy(half->seen, all.words, sizeof half->seen);
    if (half->flags != 0)
        memset(half->seen, 0xff, sizeof all.outer.dst_mac);     /* the first word begins with it */
    head_mask(half->seen, half->head);
    __atomic_store_n(&directory->sequence, sequence, __ATOMIC_SEQ_CST);
    invalidate_verdicts(steering);
}

void sv_steering_set_mac(struct sv_steering *steering, const uint8_t mac[6])
{
    memcpy(steering->mac, mac, 6);
    publish_rules(steering);
}

static struct shape *find_shape(struct sv_steering *steering, uint32_t priority, const union sv_key *mask)
{
    for (uint32_t i = 0; i < steering->shapes; i++)
        if (steering->shape[i].priority == priority && memcmp(&steering->shape[i].mask, mask, sizeof *mask) == 0)
            return &steering->shape[i];
    return NULL;
}

/*
 * Keeps a few shapes without rules, since the next rules tend to have the same shape. More would each cost a probe.
 */
static void drop_idle_shapes(struct sv_steering *steering)
{
    uint32_t idle = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < steering->shapes; i++)
        idle += steering->shape[i].rules == 0;
    if (idle < MAX_IDLE_SHAPES)
        return;
    for (uint32_t i = 0; i < steering->shapes; i++)
        if (steering->shape[i].rules > 0)
            steering->shape[kept++] = steering->shape[i];
    steering->shapes = kept;
}

static bool is_deep(const union sv_key *mask)
{
    uint64_t beyond = 0;
    for (uint32_t w = SV_STEER_PLAIN_WORDS; w < SV_KEY_WORDS; w++)
        beyond |= mask->words[w];
    return beyond != 0;
}

static int rules_of(const struct sv_steering *steering, const struct shape *shape)
{
    return steering->map[shape->deep ? SV_MAP_DEEP_RULES : SV_MAP_RULES];
}

static struct shape *add_shape(struct sv_steering *steering, uint32_t priority, const union sv_key *mask)
{
    drop_idle_shapes(steering);
    if (steering->shapes == SV_STEER_MAX_SHAPES)
        return NULL;
    uint32_t at = 0;
    while (at < steering->shapes && steering->shape[at].priority <= priority)
        at++;
    struct shape *shape = &steering->shape[at];
    memmove(shape + 1, shape, (steering->shapes - at) * sizeof *shape);
    steering->shapes++;
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

static struct sv_steer_rule read_rule(int map, const struct sv_steer_rule_key *key)
{
    struct sv_steer_rule rule = {0, 0};
    if (!sv_map_lookup(map, key, &rule))
        return (struct sv_steer_rule){0, 0};
    return rule;
}

int sv_steering_add(struct sv_steering *steering, const struct sv_rule_spec *spec)
{
    if (spec->type != IBV_FLOW_ATTR_NORMAL) {
        steering->specials[spec->type]++;
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
        rule = read_rule(rules_of(steering, shape), &key);
    rule.takers += !spec->continues;
    rule.copies += spec->continues;
    int error = sv_map_update(rules_of(steering, shape), &key, &rule);
    invalidate_verdicts(steering);
    if (error == 0)
        shape->rules++;
    return error == E2BIG ? ENOMEM : error;
}

bool sv_steering_remove(struct sv_steering *steering, const struct sv_rule_spec *spec)
{
    if (spec->type != IBV_FLOW_ATTR_NORMAL) {
        steering->specials[spec->type] -= steering->specials[spec->type] > 0;
        publish_rules(steering);
        return true;
    }
    struct shape *shape = find_shape(steering, spec->priority, &spec->mask);
    if (shape == NULL)
        return false;
    struct sv_steer_rule_key key;
    rule_key(shape, &spec->value, &key);
    struct sv_steer_rule rule = read_rule(rules_of(steering, shape), &key);
    if ((spec->continues ? rule.copies : rule.takers) == 0)
        return false;
    rule.takers -= !spec->continues;
    rule.copies -= spec->continues;
    shape->rules--;
    if (rule.takers + rule.copies > 0) {
        sv_map_update(rules_of(steering, shape), &key, &rule);
        invalidate_verdicts(steering);
        return true;
    }
    sv_map_delete(rules_of(steering, shape), &key);
    invalidate_verdicts(steering);
    return true;
}
