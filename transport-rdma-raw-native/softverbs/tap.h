/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_TAP_H
#define SV_TAP_H

#include <stdint.h>

/*
 * An interface of our own, to which a tc ingress program redirects our frames: XDP works there, so that the kernel's own
 * frames on the network interface are left alone. Nothing is read from the descriptors; the interface has as many
 * receive queues as there are of them, and goes with the last, also when the process is killed.
 */
enum { SV_TAP_MAX_QUEUES = 64 };

struct sv_tap {
    int ifindex;                        /* 0: there is none */
    char name[16];
    uint32_t queues;
    int queue[SV_TAP_MAX_QUEUES];
};

/* With one queue, up and without addresses. 0 or an errno, with the reason explained. */
int sv_tap_open(struct sv_tap *tap);
int sv_tap_add_queue(struct sv_tap *tap);
void sv_tap_remove_queue(struct sv_tap *tap);
void sv_tap_close(struct sv_tap *tap);

#endif
