/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_XDP_MODE_H
#define SV_XDP_MODE_H

#include "netdev_port.h"

#include <stdbool.h>

/*
 * The modes of a port on AF_XDP (port_xdp.c). Each of the first three needs more support by the driver than the one
 * before and falls back to it.
 */
enum sv_xdp_mode { SV_XDP_MODE_GENERIC, SV_XDP_MODE_NATIVE, SV_XDP_MODE_ZERO_COPY, SV_XDP_MODE_TAP, SV_XDP_MODE_COUNT };

enum { SV_XDP_REASON_BYTES = 160 };

struct sv_xdp_choice {
    enum sv_xdp_mode mode;
    bool forced;                        /* named by the user, so there is no fallback */
    char reason[SV_XDP_REASON_BYTES];   /* the end of a sentence */
};

/* Returns the name by which users select the mode. */
const char *sv_xdp_mode_name(enum sv_xdp_mode mode);

/*
 * Chooses the mode for a driver (its name in ethtool) and a kernel (its release in uname(2)). `env_value` is the user's
 * mode or NULL. Returns 0, or EINVAL with an explanation.
 */
int sv_xdp_mode_choose(const char *env_value, const char *driver, const char *release, struct sv_xdp_choice *choice);

/*
 * Returns true if the user has forced this mode by SOFTVERBS_XDP_MODE. Only then an error suggests another mode,
 * because otherwise the next one is tried anyway.
 */
bool sv_xdp_mode_is_forced(enum sv_xdp_mode mode);

/* ---- xdp_interface.c ---- */

/*
 * Properties of an interface, reported by its driver (ethtool), that decide whether AF_XDP sees all its frames
 * unchanged.
 */

enum { SV_XDP_DRIVER_BYTES = 32 };
/*
 * Reads the name and the version of an interface's driver from ethtool; "" if there is none. The version is that of the
 * kernel if the driver came with it, except for a few drivers. Needs no open port.
 */
void sv_xdp_read_driver(const char *netdev, char driver[SV_XDP_DRIVER_BYTES], char version[SV_XDP_DRIVER_BYTES]);
/* Finds the number of receive queues. Returns 0, or EOPNOTSUPP if the driver does not report it. */
int sv_xdp_get_receive_queues(const char *netdev, uint32_t *queues);
/* Returns true if the interface is stacked on another one. The kernel then removes VLAN tags on the way. */
bool sv_xdp_is_stacked(const char *netdev);
/*
 * Returns true if the interface is stacked, or moves VLAN tags from frames to metadata (rx-vlan-offload). An XDP
 * program does not see the metadata, so a tagged frame looks untagged. For veth this is unknown, because the peer
 * decides.
 */
bool sv_xdp_hides_vlan_tags(const char *netdev);

/* The place where a program sees frames. GRO runs before TC, and before generic XDP on a stacked interface. */
enum sv_xdp_hook { SV_XDP_HOOK_DRIVER, SV_XDP_HOOK_GENERIC, SV_XDP_HOOK_TC };

/*
 * Finds whether frames may arrive with an incomplete checksum or longer than the MTU, as senders leave them to
 * hardware. Such frames come from senders on this host, for example through a veth pair, or were merged by GRO.
 * SOFTVERBS_PARTIAL_CHECKSUMS in the environment overrides the result: "on" or "off". `flags` are the interface's
 * (IFF_*). Returns 0 or an errno with an explanation.
 */
int sv_xdp_detect_partial_checksums(const char *netdev, unsigned flags, enum sv_xdp_hook hook,
                                    bool *partial_checksums);

/* ---- xdp_virtio.c ---- */

/*
 * virtio_net accepts every XDP program but does not always run it. Without mergeable buffers, and with frames beyond
 * 1,500 bytes from the host, it receives into lists of pages and skips the program (virtnet_set_big_packets(),
 * receive_big() of drivers/net/virtio_net.c).
 */

/*
 * Returns true if the driver runs programs on a device. The file is that of /sys/bus/virtio/devices/.../features: '1'
 * for each feature that device and driver agreed on, '0' for others. A file that cannot be read or has another form
 * counts as true. The largest MTU is that of IFLA_MAX_MTU, in bytes.
 */
bool sv_xdp_virtio_runs_programs(const char *features_path, uint32_t max_mtu);
/* Returns the same for an interface. True for other drivers, which refuse programs that they cannot run. */
bool sv_xdp_runs_programs(const char *netdev, int ifindex);

#endif
