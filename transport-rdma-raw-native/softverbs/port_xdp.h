/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_PORT_XDP_H
#define SV_PORT_XDP_H

/* The parts of a port on AF_XDP: see port_xdp.c. */

#include "busy_poll.h"
#include "packet.h"
#include "xdp_mode.h"
#include "xdp_queue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- tap.c ---- */

/*
 * A TAP interface to which a tc ingress program redirects the frames that rules take. XDP runs there, so it does not
 * affect the kernel's own frames on the network interface. The descriptors are never read. The interface has one
 * receive queue per descriptor. The kernel removes it with the last descriptor, also when the process is killed.
 */
enum { SV_TAP_MAX_QUEUES = 64 };

struct sv_tap {
    int ifindex;                        /* 0: there is none */
    char name[16];
    uint32_t queue_count;
    int queue_fds[SV_TAP_MAX_QUEUES];
};

/* Opens the interface with one queue, up and without addresses. Returns 0 or an errno with an explanation. */
int sv_tap_open(struct sv_tap *tap);
int sv_tap_add_queue(struct sv_tap *tap);
void sv_tap_remove_queue(struct sv_tap *tap);
void sv_tap_close(struct sv_tap *tap);

/* ---- the port ---- */

enum { SV_XDP_MAX_QUEUES = SV_BPF_MAX_QUEUES };
/* Error of sv_xdp_port_open() if an XDP program of other software has the interface. Mode tap works beside it. */
enum { SV_XDP_OTHER_PROGRAM = EEXIST };

struct xdp_port {
    struct sv_netdev_port base;
    struct sv_packet_ring copy_ring;
    int xdp_link_fd;        /* the link that holds the XDP program on the interface */
    int tc_link_fd;         /* the link of the tc program in tap mode, or -1 */
    struct sv_tap tap;
    struct sv_packet_sender sender; /* used in tap mode */
    bool native;
    bool zero_copy;
    bool expects_partial_checksums; /* see sv_xdp_detect_partial_checksums() */
    struct sv_busy_poll busy_poll;
    uint32_t queue_count;
    /* Number of queues that also send, from the first on: an interface may have fewer send queues. */
    _Atomic uint32_t send_queue_count;
    struct sv_xdp_queue *queue[SV_XDP_MAX_QUEUES];
    struct sv_broker_layout broker_layout;  /* layout of the queues that a broker has made */
    int broker_memory_fd;                   /* their memory until they are open, or -1 */
    /* Sockets of a broker that no queue has yet, or -1. */
    int broker_sockets[SV_BPF_SOCKETS_PER_QUEUE * SV_XDP_MAX_QUEUES];
};

/* Returns the mode of a port. */
enum sv_xdp_mode sv_xdp_mode_of(const struct sv_netdev_port *base);

/* ---- port_xdp_open.c ---- */

/* Opens a port in its mode. Returns 0 or an errno with an explanation. */
int sv_xdp_port_open(struct sv_netdev_port *base);

#endif
