/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_XDP_VIRTIO_H
#define SV_XDP_VIRTIO_H

#include "wire.h"

/*
 * virtio_net takes every XDP program, and some it never runs: without mergeable buffers and with frames beyond 1,500
 * bytes from the host it receives into lists of pages (virtnet_set_big_packets(), receive_big() of
 * drivers/net/virtio_net.c).
 */

/*
 * Whether it runs programs on a device. The file has a '1' for each feature that device and driver agreed on and a '0'
 * for each other, as /sys/bus/virtio/devices/.../features; a file that cannot be read, or is another one, says nothing
 * against it. The largest MTU is in bytes, as the interface has it (IFLA_MAX_MTU).
 */
bool sv_xdp_virtio_runs_programs(const char *features_path, uint32_t max_mtu);
/* The same of an interface; true of other drivers, which refuse what they do not do. */
bool sv_xdp_runs_programs(const struct sv_wire *wire);

#endif
