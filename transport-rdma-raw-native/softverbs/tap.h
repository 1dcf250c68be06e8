/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_TAP_H
#define SV_TAP_H

#include <stdint.h>

/*
 * A TAP interface to which a tc ingress program redirects the frames that rules take. XDP runs there, so that it does
 * not affect the kernel's own frames on the network interface. The descriptors are never read. The interface has one
 * receive queue per descriptor, and the kernel removes it with the last one, also when the process is killed.
 */
enum { SV_TAP_MAX_QUEUES = 64 };

struct sv_tap {
    int ifindex;                        /* 0: there is none */
    char name[16];
    uint32_t queues;
    int queue[SV_TAP_MAX_QUEUES];
};

/* Opens it with one queue, up and without addresses. Returns 0 or an errno with an explanation. */
int sv_tap_open(struct sv_tap *tap);
int sv_tap_add_queue(struct sv_tap *tap);
void sv_tap_remove_queue(struct sv_tap *tap);
void sv_tap_close(struct sv_tap *tap);

#endif
