/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_NETDEV_FAMILY_H
#define SV_NETDEV_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What the kernel tells of network interfaces by generic netlink, in the family "netdev" (Linux 6.3; the kernel's
 * Documentation/netlink/specs/netdev.yaml). Functions return 0 or an errno: EOPNOTSUPP from a kernel without the family
 * or the command.
 */

/* Bits of sv_netdev_facts (enum netdev_xdp_act, enum netdev_xdp_rx_metadata and enum netdev_xsk_flags there). */
enum { SV_NETDEV_XDP_BASIC = 1, SV_NETDEV_XDP_REDIRECT = 2, SV_NETDEV_XDP_ZERO_COPY = 8, SV_NETDEV_XDP_RX_SG = 32 };

struct sv_netdev_facts {
    uint64_t xdp_features;
    uint64_t xdp_rx_metadata;
    uint64_t xsk_features;
    uint32_t zero_copy_segments;    /* 0: not told */
};

/* Of a NAPI instance. */
struct sv_napi_settings {
    uint32_t defer_hard_irqs;
    uint64_t gro_flush_timeout_nanos;
    int ifindex;                    /* whose instance it is; not set by sv_netdev_set_napi() */
};

struct sv_netdev_family {
    int fd;                         /* -1: not open */
    uint16_t id;
};

int sv_netdev_open(struct sv_netdev_family *family);
void sv_netdev_close(struct sv_netdev_family *family);
int sv_netdev_facts(const struct sv_netdev_family *family, int ifindex, struct sv_netdev_facts *facts);
/* The NAPI instance of a receive queue; *napi is 0 for one without (Linux 6.8). ENOENT: there is no such queue. */
int sv_netdev_queue_napi(const struct sv_netdev_family *family, int ifindex, uint32_t queue, uint32_t *napi);
/* EOPNOTSUPP before Linux 6.13 also if it has the command without these settings. */
int sv_netdev_napi(const struct sv_netdev_family *family, uint32_t napi, struct sv_napi_settings *settings);
int sv_netdev_set_napi(const struct sv_netdev_family *family, uint32_t napi, const struct sv_napi_settings *settings);
/* Linux 6.13; a process needs no permission to find out. */
bool sv_netdev_has_napi_settings(const struct sv_netdev_family *family);

#endif
