/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_KERNEL_STEERING_STATE_H
#define SV_KERNEL_STEERING_STATE_H

/* The state shared by kernel_steering.c (maps and limits) and kernel_steering_rules.c. */

#include "bpf_layout.h"
#include "kernel_steering.h"

#include <time.h>

/* The rules with one pair of priority and mask, and their number. */
struct subtable {
    uint32_t priority;
    uint32_t rule_count;
    uint64_t id;                    /* part of the keys of its rules; never reused */
    bool deep;                      /* its rules are in the map with longer keys */
    union sv_key mask;
};

struct sv_kernel_steering {
    int map_fds[SV_MAP_COUNT];
    struct sv_bpf_directory *directory; /* NULL in a process with a broker: the broker has the map */
    /* The broker keeps its mapping, but writes only in sv_kernel_steering_open() and sv_kernel_steering_reuse(). */
    struct sv_bpf_traffic *traffic;
    struct sv_connections connections;
    uint8_t mac[6];
    uint32_t default_rules[4];      /* number of rules of each type except IBV_FLOW_ATTR_NORMAL */
    uint32_t subtable_count;        /* number of entries in `subtable` */
    uint32_t queue_count;           /* set by sv_kernel_steering_set_queues() */
    bool is_paused;
    time_t published_seconds;       /* time of the last publish_rules(), on the monotonic clock */
    uint64_t last_subtable_id;
    struct subtable subtable[SV_BPF_MAX_SUBTABLES]; /* lowest priority number first */
};

/* ---- kernel_steering_rules.c ---- */

/* Invalidates the verdicts that programs have cached, after a change of the rules. */
void sv_kernel_steering_invalidate(struct sv_kernel_steering *steering);
/*
 * Computes frame_mask for the cache of ordinary frames (struct sv_bpf_frame_verdict): the bits of a frame's first
 * words on which its verdict depends. They are the bits by which a frame is recognized as ordinary, and the bits that
 * rules match. key_mask has the latter as bits of a plain key.
 */
void sv_kernel_steering_frame_mask(const unsigned long long *key_mask, unsigned long long *frame_mask);

#endif
