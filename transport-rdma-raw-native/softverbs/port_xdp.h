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

/* An interface with queues of the port: that of the port, or a leg of its bond. */
struct sv_xdp_leg {
    int ifindex;                    /* 0: the interface has been removed */
    char netdev[IFNAMSIZ];
    bool expects_partial_checksums; /* see sv_xdp_detect_partial_checksums() */
    uint32_t queues_before;         /* number of its receive queues without an XDP program, 0: unknown */
    uint32_t first_queue;           /* number of its queue 0 among those of the port */
    uint32_t queue_count;
    /* Number of its queues that also send, from the first on: an interface may have fewer send queues. */
    _Atomic uint32_t send_queue_count;
};

struct xdp_port {
    struct sv_netdev_port base;
    struct sv_packet_ring copy_ring;
    int xdp_link_fd;        /* the link that holds the XDP program on the interface */
    int tc_link_fd;         /* the link of the tc program in tap mode, or -1 */
    struct sv_tap tap;
    struct sv_packet_sender sender; /* used in tap mode */
    bool native;
    bool zero_copy;
    /* The port is being opened: it waits for a process that has just ended. The receive thread never waits. */
    bool may_wait;
    struct sv_busy_poll busy_poll;
    /*
     * A port has one leg, the interface itself, or with a bond several. One that leaves the bond keeps its place, and
     * its queues stay open: threads drain queues without a lock.
     */
    uint32_t leg_count;
    struct sv_xdp_leg leg[SV_BPF_MAX_LEGS];
    char below_text[SV_BPF_MAX_LEGS * (IFNAMSIZ + sizeof ", ") + 16];   /* names of the interfaces below, for users */
    _Atomic uint32_t sending_legs;  /* a bit for each leg that sends */
    _Atomic uint32_t hash_policy;   /* that of the bond */
    _Atomic uint32_t queue_count;   /* of all legs */
    struct sv_xdp_queue *queue[SV_XDP_MAX_QUEUES];
    struct sv_broker_layout broker_layout;  /* layout of the queues that a broker has made */
    int broker_memory_fd;                   /* their memory until they are open, or -1 */
    /* Sockets of a broker that no queue has yet, or -1. */
    int broker_sockets[SV_BPF_SOCKETS_PER_QUEUE * SV_XDP_MAX_QUEUES];
};

/* Returns the mode of a port. */
enum sv_xdp_mode sv_xdp_mode_of(const struct sv_netdev_port *base);

/* ---- port_xdp_queues.c ---- */

/* Opens the queues of a leg that are not open yet. Returns 0 or an errno; then it has opened none. */
int sv_xdp_open_queues(struct xdp_port *port, struct sv_xdp_leg *leg);
/* Opens the queues that the interface has gained with the XDP program. */
int sv_xdp_open_added_queues(struct xdp_port *port, struct sv_xdp_leg *leg);
/* Returns 0, or EOPNOTSUPP if zero copy would endanger the kernel. Call it when the program is attached. */
int sv_xdp_check_zero_copy_safe(const struct xdp_port *port, const struct sv_xdp_leg *leg);
/* Returns 0, or EOPNOTSUPP if no queue of the leg sends. */
int sv_xdp_check_can_send(const struct xdp_port *port, const struct sv_xdp_leg *leg);
int sv_xdp_explain_too_many_queues(const struct sv_netdev_port *base);

/* ---- port_xdp_open.c ---- */

/* Opens a port in its mode. Returns 0 or an errno with an explanation. */
int sv_xdp_port_open(struct sv_netdev_port *base);
/* Checks a leg that has joined, and opens its queues. Returns 0 or an errno; the leg has no queues then. */
int sv_xdp_port_open_leg(struct xdp_port *port, struct sv_xdp_leg *leg);

/* ---- port_xdp_legs.c ---- */

/* Adds a leg without queues. Returns NULL if there is no room. */
struct sv_xdp_leg *sv_xdp_port_add_leg(struct xdp_port *port, int ifindex, const char *netdev);
/* Makes legs send and receive as the bond does. */
void sv_xdp_port_apply_legs(struct xdp_port *port);
/* Forgets a leg after the removal of its interface. Returns false if there is no such leg. */
bool sv_xdp_port_forget_leg(struct sv_netdev_port *base, int ifindex);
/* Opens the legs that have joined the bond since the last call, and applies the state of all. */
uint64_t sv_xdp_port_update_legs(struct sv_netdev_port *base, uint64_t now_millis);
/* Sends frames by several legs, each by that of its flow. Like send() of struct sv_netdev_port_kind. */
void sv_xdp_port_send_by_flow(struct xdp_port *port, uint32_t sending_legs, struct sv_qp *sender,
                              const struct sv_frame *frames, unsigned count);
/* Sends frames by one leg. */
void sv_xdp_port_send_on_leg(struct xdp_port *port, uint32_t leg_number, struct sv_qp *sender,
                             const struct sv_frame *frames, unsigned count);

#endif
