/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_BUSY_POLL_H
#define SV_BUSY_POLL_H

#include "bpf_layout.h"

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- netdev_family.c ---- */

/*
 * Queries the kernel about network interfaces by generic netlink, in the family "netdev" (Linux 6.3; the kernel's
 * Documentation/netlink/specs/netdev.yaml). Functions return 0 or an errno: EOPNOTSUPP if the kernel lacks the family
 * or the command.
 */

/* Bits of sv_netdev_info (enum netdev_xdp_act, enum netdev_xdp_rx_metadata and enum netdev_xsk_flags there). */
enum { SV_NETDEV_XDP_BASIC = 1, SV_NETDEV_XDP_REDIRECT = 2, SV_NETDEV_XDP_ZERO_COPY = 8, SV_NETDEV_XDP_RX_SG = 32 };

struct sv_netdev_info {
    uint64_t xdp_features;
    uint64_t xdp_rx_metadata;
    uint64_t xsk_features;
    uint32_t zero_copy_segments;    /* 0: not reported */
};

/* Settings of a NAPI instance. */
struct sv_napi_settings {
    uint32_t defer_hard_irqs;
    uint64_t gro_flush_timeout_nanos;
    int ifindex;                    /* interface of the instance; sv_netdev_set_napi() does not read it */
};

struct sv_netdev_family {
    int fd;                         /* -1: not open */
    uint16_t id;
};

int sv_netdev_family_open(struct sv_netdev_family *family);
void sv_netdev_family_close(struct sv_netdev_family *family);
int sv_netdev_get_info(const struct sv_netdev_family *family, int ifindex, struct sv_netdev_info *info);
/*
 * Finds the NAPI instance of a receive queue (Linux 6.8). *napi_id is 0 if the queue has none. Returns ENOENT if there
 * is no such queue.
 */
int sv_netdev_get_queue_napi(const struct sv_netdev_family *family, int ifindex, uint32_t queue, uint32_t *napi_id);
/* Returns EOPNOTSUPP before Linux 6.13, even if the kernel has the command without these settings. */
int sv_netdev_get_napi(const struct sv_netdev_family *family, uint32_t napi_id, struct sv_napi_settings *settings);
int sv_netdev_set_napi(const struct sv_netdev_family *family, uint32_t napi_id,
                       const struct sv_napi_settings *settings);
/* Returns true from Linux 6.13 on. Needs no capability. */
bool sv_netdev_has_napi_settings(const struct sv_netdev_family *family);

/* ---- busy_poll.c ---- */

/*
 * Preferred busy polling: a thread that polls an empty receive ring runs the driver's NAPI instance itself, with its
 * interrupts off (the kernel's Documentation/networking/napi.rst). SOFTVERBS_XDP_BUSY_POLL=on enables it.
 *
 * While a port uses it, NAPI instances defer their interrupts. This is set for each instance if the kernel supports it
 * (Linux 6.13), else for the interface. It is restored at the end, also by exit(3) with the device open. A killed
 * process leaves its settings. Their values are ones that no user would choose, so the next process does not take them
 * for the user's.
 */

/*
 * Interrupts stay off for this time after a poll, so a sleeper may wait this long for a frame. It exceeds the duration
 * of a poll with a full budget: before Linux commit 58e2330bd455 (2026), a timer that fires during the poll leaves the
 * interrupts off for ever.
 */
enum { SV_BUSY_POLL_DEFER_HARD_IRQS = 2, SV_BUSY_POLL_GRO_FLUSH_TIMEOUT_NANOS = 200011 };

struct sv_busy_poll {
    bool enabled;
    struct sv_busy_poll *next;      /* next port with busy polling */
    int pid;
    char netdev[IFNAMSIZ];
    int ifindex;
    struct sv_netdev_family family;
    uint32_t count;                 /* number of changed instances */
    struct {
        uint32_t id;
        struct sv_napi_settings saved;
    } napi[SV_BPF_MAX_QUEUES];
    bool interface_changed;         /* all instances have been changed through sysfs */
    struct sv_napi_settings saved;
};

/* Reads SOFTVERBS_XDP_BUSY_POLL. Returns 0, or EINVAL with an explanation. */
int sv_busy_poll_init(struct sv_busy_poll *poll, const char *netdev, int ifindex);
/*
 * Sets up a socket that is bound to a receive queue, and the queue's NAPI instance. Returns 0 or an errno with an
 * explanation: EOPNOTSUPP if the queue has no instance to poll.
 */
int sv_busy_poll_add(struct sv_busy_poll *poll, int socket, uint32_t queue, bool native);
/* Restores the previous settings. */
void sv_busy_poll_restore(struct sv_busy_poll *poll);
/* Restores the settings of all ports of this process, when it exits. */
void sv_busy_poll_restore_all(void);
/* Returns true if a killed process has left these settings. */
bool sv_busy_poll_is_leftover(const struct sv_napi_settings *settings);

#endif
