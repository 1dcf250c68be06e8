/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the maps that the programs read, sets limits, and reads counters. See kernel_steering.h and bpf/. */
#include "kernel_steering_state.h"

#include "bpf.h"
#include "device.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

_Static_assert((int)SV_BPF_KEY_WORDS == (int)SV_KEY_WORDS, "the programs see the same key");

/* ---- maps ---- */

static int mmap_marks(int map_fd, uint32_t buckets, struct sv_bpf_marks **marks)
{
    *marks = sv_map_mmap(map_fd, buckets * sizeof **marks);
    return *marks == NULL ? errno : 0;
}

static int create_marks(int *map_fd, uint32_t buckets, struct sv_bpf_marks **marks)
{
    *map_fd = sv_map_create(BPF_MAP_TYPE_ARRAY, 4, sizeof **marks, buckets, BPF_F_MMAPABLE);
    return *map_fd < 0 ? errno : mmap_marks(*map_fd, buckets, marks);
}

/* Creates the maps of SV_PROGRAM_XDP_CLASSIFY, except those of connections. */
static int create_classifier_maps(struct sv_kernel_steering *steering)
{
    int *map_fds = steering->map_fds;
    map_fds[SV_MAP_SOCKETS] = sv_map_create(BPF_MAP_TYPE_XSKMAP, 4, 4,
                                            SV_BPF_SOCKETS_PER_QUEUE * SV_BPF_MAX_QUEUES, 0);
    if (map_fds[SV_MAP_SOCKETS] < 0)
        return errno;
    map_fds[SV_MAP_SEEN] = sv_map_create(BPF_MAP_TYPE_ARRAY, 4, sizeof(uint64_t), SV_BPF_SEEN_ENTRIES / 2, 0);
    if (map_fds[SV_MAP_SEEN] < 0)
        return errno;
    map_fds[SV_MAP_PROGRAMS] = sv_map_create(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1, 0);
    if (map_fds[SV_MAP_PROGRAMS] < 0)
        return errno;
    return 0;
}

static int create_connections(struct sv_kernel_steering *steering)
{
    int *map_fds = steering->map_fds;
    int error = create_marks(&map_fds[SV_MAP_KNOWN], SV_BPF_KNOWN_BUCKETS, &steering->connections.known);
    return error != 0 ? error
                      : create_marks(&map_fds[SV_MAP_OPENING], SV_BPF_OPENING_BUCKETS,
                                     &steering->connections.opening);
}

static int create_traffic(struct sv_kernel_steering *steering)
{
    int *map_fd = &steering->map_fds[SV_MAP_TRAFFIC];
    *map_fd = sv_map_create(BPF_MAP_TYPE_ARRAY, 4, sizeof(struct sv_bpf_traffic), 1, BPF_F_MMAPABLE);
    if (*map_fd < 0)
        return errno;
    steering->traffic = sv_map_mmap(*map_fd, sizeof *steering->traffic);
    return steering->traffic == NULL ? errno : 0;
}

/* Creates the maps of all programs, except that of traffic. */
static int create_maps(struct sv_kernel_steering *steering)
{
    int *map_fds = steering->map_fds;
    map_fds[SV_MAP_DIRECTORY] = sv_map_create(BPF_MAP_TYPE_ARRAY, 4, sizeof(struct sv_bpf_directory), 1,
                                              BPF_F_MMAPABLE);
    if (map_fds[SV_MAP_DIRECTORY] < 0)
        return errno;
    map_fds[SV_MAP_RULES] = sv_map_create(BPF_MAP_TYPE_HASH, (1 + SV_BPF_PLAIN_WORDS) * sizeof(uint64_t),
                                          sizeof(struct sv_bpf_rule), SV_BPF_MAX_RULES, BPF_F_NO_PREALLOC);
    if (map_fds[SV_MAP_RULES] < 0)
        return errno;
    map_fds[SV_MAP_DEEP_RULES] = sv_map_create(BPF_MAP_TYPE_HASH, sizeof(struct sv_bpf_rule_key),
                                               sizeof(struct sv_bpf_rule), SV_BPF_MAX_RULES, BPF_F_NO_PREALLOC);
    if (map_fds[SV_MAP_DEEP_RULES] < 0)
        return errno;
    map_fds[SV_MAP_SCRATCH] = sv_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct sv_bpf_scratch), 1, 0);
    if (map_fds[SV_MAP_SCRATCH] < 0)
        return errno;
    map_fds[SV_MAP_KEY_VERDICTS] = sv_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct sv_bpf_key_verdict),
                                                 SV_BPF_VERDICT_ENTRIES, 0);
    if (map_fds[SV_MAP_KEY_VERDICTS] < 0)
        return errno;
    map_fds[SV_MAP_FRAME_VERDICTS] = sv_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct sv_bpf_frame_verdict),
                                                   SV_BPF_VERDICT_ENTRIES, 0);
    if (map_fds[SV_MAP_FRAME_VERDICTS] < 0)
        return errno;
    steering->directory = sv_map_mmap(map_fds[SV_MAP_DIRECTORY], sizeof *steering->directory);
    return steering->directory == NULL ? errno : 0;
}

/* ---- programs ---- */

int sv_kernel_steering_load(struct sv_kernel_steering *steering, enum sv_program which)
{
    return sv_program_load(which, steering->map_fds, 0);
}

int sv_kernel_steering_attach(struct sv_kernel_steering *steering, enum sv_program which, int ifindex,
                              enum sv_xdp_attach_mode mode)
{
    return sv_program_attach(which, steering->map_fds, ifindex, mode);
}

int sv_kernel_steering_load_classifier(struct sv_kernel_steering *steering, enum sv_xdp_attach_mode mode)
{
    return sv_program_load_classifier(steering->map_fds, mode);
}

int sv_kernel_steering_load_xdp(struct sv_kernel_steering *steering, enum sv_xdp_attach_mode mode)
{
    return sv_program_load_xdp(SV_PROGRAM_XDP_REDIRECT, steering->map_fds, mode);
}

void sv_kernel_steering_set_redirect_ifindex(struct sv_kernel_steering *steering, int ifindex)
{
    steering->directory->redirect_ifindex = (uint32_t)ifindex;
}

int sv_kernel_steering_set_sockets(struct sv_kernel_steering *steering, uint32_t queue, int main_socket, int syn_socket)
{
    const uint32_t main_index = queue * SV_BPF_SOCKETS_PER_QUEUE;
    const uint32_t syn_index = main_index + 1;
    if (queue >= SV_BPF_MAX_QUEUES)
        return ENOSPC;
    int error = sv_map_update(steering->map_fds[SV_MAP_SOCKETS], &main_index, &main_socket);
    return error != 0 ? error : sv_map_update(steering->map_fds[SV_MAP_SOCKETS], &syn_index, &syn_socket);
}

void sv_kernel_steering_set_queues(struct sv_kernel_steering *steering, uint32_t queues)
{
    steering->queue_count = queues;
    __atomic_store_n(&steering->traffic->queue_count, steering->is_paused ? 0 : queues, __ATOMIC_RELEASE);
}

void sv_kernel_steering_pause(struct sv_kernel_steering *steering, bool is_paused)
{
    steering->is_paused = is_paused;
    sv_kernel_steering_set_queues(steering, steering->queue_count);
}

void sv_kernel_steering_set_leg(struct sv_kernel_steering *steering, uint32_t number, int ifindex, uint32_t state)
{
    struct sv_bpf_leg *leg = &steering->traffic->legs[number];
    __atomic_store_n(&leg->state, state, __ATOMIC_RELEASE);
    __atomic_store_n(&leg->ifindex, (uint32_t)ifindex, __ATOMIC_RELEASE);
    __atomic_store_n(&steering->traffic->has_legs, 1, __ATOMIC_RELEASE);
}

void sv_kernel_steering_set_max_syn_bytes(struct sv_kernel_steering *steering, uint32_t bytes)
{
    __atomic_store_n(&steering->traffic->max_syn_bytes, bytes, __ATOMIC_RELAXED);
}

void sv_kernel_steering_set_max_udp_frame_bytes(struct sv_kernel_steering *steering, uint32_t bytes)
{
    __atomic_store_n(&steering->traffic->max_udp_frame_bytes, bytes, __ATOMIC_RELAXED);
}

uint64_t sv_kernel_steering_udp_gso_frames_passed(const struct sv_kernel_steering *steering)
{
    return __atomic_load_n(&steering->traffic->udp_gso_frames_passed, __ATOMIC_RELAXED);
}

static void extend_limit(unsigned long long *until_nanos)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t until = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + SV_BPF_LIMITED_NANOS;
    __atomic_store_n(until_nanos, until, __ATOMIC_RELAXED);
}

void sv_kernel_steering_limit_syns(struct sv_kernel_steering *steering)
{
    extend_limit(&steering->traffic->syns_limited_until_nanos);
}

void sv_kernel_steering_limit_unsolicited(struct sv_kernel_steering *steering)
{
    extend_limit(&steering->traffic->unsolicited_limited_until_nanos);
}

uint64_t sv_kernel_steering_syns_dropped(const struct sv_kernel_steering *steering)
{
    return __atomic_load_n(&steering->traffic->syns_dropped, __ATOMIC_RELAXED);
}

uint64_t sv_kernel_steering_unsolicited_dropped(const struct sv_kernel_steering *steering)
{
    return __atomic_load_n(&steering->traffic->unsolicited_dropped, __ATOMIC_RELAXED);
}

uint64_t sv_kernel_steering_long_syns_dropped(const struct sv_kernel_steering *steering)
{
    return __atomic_load_n(&steering->traffic->long_syns_dropped, __ATOMIC_RELAXED);
}

uint64_t sv_kernel_steering_unserved_frames(const struct sv_kernel_steering *steering)
{
    return __atomic_load_n(&steering->traffic->unserved_frames, __ATOMIC_RELAXED);
}

uint64_t sv_kernel_steering_inactive_leg_dropped(const struct sv_kernel_steering *steering)
{
    return __atomic_load_n(&steering->traffic->inactive_leg_dropped, __ATOMIC_RELAXED);
}

const struct sv_connections *sv_kernel_steering_connections(const struct sv_kernel_steering *steering)
{
    return &steering->connections;
}

/* ---- life ---- */

/* Draws the secret. Early after boot this waits for entropy: a predictable secret is useless. */
static int generate_secret(unsigned long long *secret)
{
    ssize_t bytes;
    do
        bytes = getrandom(secret, sizeof *secret, 0);
    while (bytes < 0 && errno == EINTR);
    return bytes == (ssize_t)sizeof *secret ? 0 : bytes < 0 ? errno : EAGAIN;
}

static int start_traffic(struct sv_kernel_steering *steering)
{
    int error = generate_secret(&steering->traffic->secret);
    if (error != 0)
        return sv_explain(error, "the kernel returns no random numbers: getrandom(2) failed");
    steering->connections.secret = steering->traffic->secret;
    sv_kernel_steering_set_max_udp_frame_bytes(steering, UINT32_MAX);
    return 0;
}

static struct sv_kernel_steering *new_steering(void)
{
    struct sv_kernel_steering *steering = sv_alloc_zeroed(sizeof *steering);
    for (int i = 0; i < SV_MAP_COUNT && steering != NULL; i++)
        steering->map_fds[i] = -1;
    return steering;
}

static void start_directory(struct sv_kernel_steering *steering, const uint8_t mac[6])
{
#if !defined(__x86_64__) && !defined(__i386__)
    steering->directory->loads_reorder = 1;
#endif
    memcpy(steering->mac, mac, 6);
    memcpy(steering->directory->half[0].mac, mac, 6);
    sv_kernel_steering_frame_mask(steering->directory->half[0].key_mask, steering->directory->half[0].frame_mask);
    sv_kernel_steering_invalidate(steering); /* the generation of empty entries is 0 */
}

int sv_kernel_steering_open(struct sv_kernel_steering **out, const uint8_t mac[6], bool classifies)
{
    struct sv_kernel_steering *steering = new_steering();
    if (steering == NULL)
        return ENOMEM;
    int error = create_maps(steering);
    if (error == 0)
        error = create_traffic(steering);
    if (error == 0 && classifies)
        error = create_classifier_maps(steering);
    if (error == 0 && classifies)
        error = create_connections(steering);
    if (error != 0) {
        sv_kernel_steering_close(steering);
        return sv_explain_bpf(error, "eBPF maps can't be made");
    }
    error = start_traffic(steering);
    if (error != 0) {
        sv_kernel_steering_close(steering);
        return error;
    }
    start_directory(steering, mac);
    *out = steering;
    return 0;
}

static void unmap_memory(void *memory, size_t bytes)
{
    if (memory != NULL)
        munmap(memory, bytes);
}

static void unmap_shared(struct sv_kernel_steering *steering)
{
    unmap_memory(steering->traffic, sizeof *steering->traffic);
    unmap_memory(steering->connections.known, SV_BPF_KNOWN_BUCKETS * sizeof *steering->connections.known);
    unmap_memory(steering->connections.opening, SV_BPF_OPENING_BUCKETS * sizeof *steering->connections.opening);
}

static void close_map(int *map_fd)
{
    if (*map_fd >= 0)
        close(*map_fd);
    *map_fd = -1;
}

void sv_kernel_steering_close(struct sv_kernel_steering *steering)
{
    if (steering == NULL)
        return;
    unmap_memory(steering->directory, sizeof *steering->directory);
    unmap_shared(steering);
    for (int i = 0; i < SV_MAP_COUNT; i++)
        close_map(&steering->map_fds[i]);
    free(steering);
}

/* ---- shared with a broker ---- */

/*
 * The order in which the maps are handed over. The process only holds the map of programs: the kernel empties such a
 * map with its last descriptor, although a program uses it, and the broker may end before the process.
 */
static const int client_maps[SV_CLIENT_MAP_COUNT] = {
    SV_MAP_TRAFFIC, SV_MAP_KNOWN, SV_MAP_OPENING, [SV_CLIENT_MAP_PROGRAMS] = SV_MAP_PROGRAMS};

void sv_kernel_steering_get_client_maps(const struct sv_kernel_steering *steering, int map_fds[SV_CLIENT_MAP_COUNT])
{
    for (int i = 0; i < SV_CLIENT_MAP_COUNT; i++)
        map_fds[i] = steering->map_fds[client_maps[i]];
}

int sv_kernel_steering_seal(const struct sv_kernel_steering *steering)
{
    return sv_map_freeze(steering->map_fds[SV_MAP_PROGRAMS]);
}

static int mmap_shared(struct sv_kernel_steering *steering)
{
    steering->traffic = sv_map_mmap(steering->map_fds[SV_MAP_TRAFFIC], sizeof *steering->traffic);
    int error = steering->traffic == NULL ? errno : 0;
    if (error == 0)
        error = mmap_marks(steering->map_fds[SV_MAP_KNOWN], SV_BPF_KNOWN_BUCKETS, &steering->connections.known);
    if (error == 0)
        error = mmap_marks(steering->map_fds[SV_MAP_OPENING], SV_BPF_OPENING_BUCKETS, &steering->connections.opening);
    return error;
}

void sv_kernel_steering_delete_sockets(struct sv_kernel_steering *steering)
{
    for (uint32_t i = 0; i < SV_BPF_SOCKETS_PER_QUEUE * SV_BPF_MAX_QUEUES; i++)
        sv_map_delete(steering->map_fds[SV_MAP_SOCKETS], &i);
}

/* The new secret makes the marks of SYNs meaningless, and the new generation the cached verdicts. */
int sv_kernel_steering_reuse(struct sv_kernel_steering *steering, const uint8_t mac[6])
{
    struct sv_bpf_rule_key key;
    sv_kernel_steering_delete_sockets(steering);
    steering->subtable_count = 0;
    memset(steering->default_rules, 0, sizeof steering->default_rules);
    sv_kernel_steering_set_mac(steering, mac);
    sv_map_clear(steering->map_fds[SV_MAP_RULES], &key);
    sv_map_clear(steering->map_fds[SV_MAP_DEEP_RULES], &key);
    memset(steering->traffic, 0, sizeof *steering->traffic);
    memset(steering->connections.known, 0, SV_BPF_KNOWN_BUCKETS * sizeof *steering->connections.known);
    memset(steering->connections.opening, 0, SV_BPF_OPENING_BUCKETS * sizeof *steering->connections.opening);
    return start_traffic(steering);
}

/* Returns steering that owns the descriptors. Without memory for it, closes them and returns NULL. */
static struct sv_kernel_steering *steering_with(const int *map_fds, int count)
{
    struct sv_kernel_steering *steering = new_steering();
    for (int i = 0; i < count; i++) {
        if (steering != NULL)
            steering->map_fds[client_maps[i]] = map_fds[i];
        else
            close(map_fds[i]);
    }
    return steering;
}

static bool has_traffic_maps(const struct sv_kernel_steering *steering)
{
    const struct sv_map_form traffic = {BPF_MAP_TYPE_ARRAY, 4, sizeof(struct sv_bpf_traffic), 1, BPF_F_MMAPABLE};
    struct sv_map_form marks = {BPF_MAP_TYPE_ARRAY, 4, sizeof(struct sv_bpf_marks), SV_BPF_KNOWN_BUCKETS,
                                BPF_F_MMAPABLE};
    if (!sv_map_has_form(steering->map_fds[SV_MAP_TRAFFIC], &traffic) ||
        !sv_map_has_form(steering->map_fds[SV_MAP_KNOWN], &marks))
        return false;
    marks.max_entries = SV_BPF_OPENING_BUCKETS;
    return sv_map_has_form(steering->map_fds[SV_MAP_OPENING], &marks);
}

int sv_kernel_steering_resume(struct sv_kernel_steering **out, const uint8_t mac[6],
                              const int map_fds[SV_TRAFFIC_MAP_COUNT])
{
    struct sv_kernel_steering *steering = steering_with(map_fds, SV_TRAFFIC_MAP_COUNT);
    if (steering == NULL)
        return ENOMEM;
    if (!has_traffic_maps(steering)) {
        sv_kernel_steering_close(steering);
        return sv_explain(EINVAL, "the passed maps are not those of a device");
    }
    int error = create_maps(steering);
    if (error == 0)
        error = create_classifier_maps(steering);
    if (error != 0) {
        sv_kernel_steering_close(steering);
        return sv_explain_bpf(error, "eBPF maps can't be made");
    }
    start_directory(steering, mac);
    *out = steering;
    return 0;
}

int sv_kernel_steering_adopt(struct sv_kernel_steering **out, const int map_fds[SV_CLIENT_MAP_COUNT])
{
    struct sv_kernel_steering *steering = steering_with(map_fds, SV_CLIENT_MAP_COUNT);
    if (steering == NULL)
        return ENOMEM;
    int error = mmap_shared(steering);
    if (error != 0) {
        sv_kernel_steering_close(steering);
        return sv_explain(error, "the maps that the broker has sent can't be mapped");
    }
    steering->connections.secret = steering->traffic->secret;
    *out = steering;
    return 0;
}
