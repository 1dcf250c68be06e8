/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_BUSY_POLL_H
#define SV_BUSY_POLL_H

#include "netdev_family.h"
#include "steering_maps.h"

#include <net/if.h>
#include <stdbool.h>

/*
 * Preferred busy polling: who polls an empty receive ring runs the driver's NAPI instance himself, and its interrupts
 * stay off meanwhile (the kernel's Documentation/networking/napi.rst). SOFTVERBS_XDP_BUSY_POLL=on asks for it.
 *
 * While a port has it, NAPI instances defer their interrupts. That is set for each instance where the kernel can
 * (Linux 6.13), else for the interface, and put back at the end, also by exit(3) with the device open. A process that is
 * killed leaves it, by values that no user would choose, so that the next one does not take them for the user's.
 */

/*
 * For this long after a poll interrupts are off: what a sleeper may wait for a frame. Longer than a poll of a whole
 * budget takes: a timer that fires meanwhile leaves them off for good (Linux before 58e2330bd455, of 2026).
 */
enum { SV_BUSY_POLL_DEFERS = 2, SV_BUSY_POLL_TIMEOUT_NANOS = 200011 };

struct sv_busy_poll {
    bool wanted;
    struct sv_busy_poll *next;      /* of those that are wanted */
    int pid;
    char netdev[IFNAMSIZ];
    int ifindex;
    struct sv_netdev_family family;
    uint32_t count;                 /* of the instances that have been changed */
    struct {
        uint32_t id;
        struct sv_napi_settings before;
    } napi[SV_STEER_MAX_QUEUES];
    bool whole_interface;           /* all instances have been changed, by sysfs */
    struct sv_napi_settings before;
};

/* Reads the wish. Returns 0, or EINVAL with an explanation. */
int sv_busy_poll_init(struct sv_busy_poll *poll, const char *netdev, int ifindex);
/*
 * Sets up a socket that is bound to a receive queue, and the queue's NAPI instance. Returns 0, or an errno with an
 * explanation: EOPNOTSUPP where there is none to poll.
 */
int sv_busy_poll_add(struct sv_busy_poll *poll, int socket, uint32_t queue, bool native);
/* Puts back what was set before. */
void sv_busy_poll_end(struct sv_busy_poll *poll);
/* The same for all that this process has, when it ends. */
void sv_busy_poll_end_all(void);
/* Whether a process that was killed has left these settings. */
bool sv_busy_poll_is_left(const struct sv_napi_settings *settings);

#endif
