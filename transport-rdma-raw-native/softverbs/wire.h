/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_WIRE_H
#define SV_WIRE_H

#include "device.h"
#include "steering.h"

#include <net/if.h>

/*
 * What the ports on network interfaces (port_packet.c, port_xdp.c) have in common: the interface's facts, the watcher
 * thread, frames that the port sends to itself, and the kernel's half of steering.
 *
 * Whoever polls a completion queue moves received frames to all queues of the device. When nobody polls, because all
 * sleep on armed completion queues, the watcher does; it also follows the interface's state. It blocks unless
 * something is armed or the interface changes.
 */

enum { SV_WIRE_SOCKETS = 65 };

/* Frames waiting in the kernel's rings: one per ring. The lock is part of a grace period. */
struct sv_receiver {
    struct sv_spin lock;
    struct sv_steer_cache *cache;
    struct softverbs_queue_counters counters;
};

struct sv_wire {
    struct sv_device *device;
    char netdev[IFNAMSIZ];
    int ifindex;
    unsigned flags;                 /* IFF_*, at the time of opening */
    uint32_t max_mtu;               /* beyond this the port can't carry the interface's frames */
    struct sv_steering *steering;   /* NULL: without eBPF */
    /* Moves received frames; returns how many. Called by any thread. */
    unsigned (*drain)(struct sv_wire *wire);

    int guard;                      /* holds the name that keeps other processes off the interface */
    int filters;                    /* the packet socket that holds what the interface must let in */
    int link;                       /* netlink: changes of interfaces */
    int kick;
    int epoll;                      /* over `link` and `kick`, and over the sockets while something is armed */
    int sockets[SV_WIRE_SOCKETS];   /* those that receive */
    uint32_t socket_count;
    pthread_t watcher;
    bool watcher_runs;
    _Atomic bool stopping;
    _Atomic bool watching;
    _Atomic uint64_t polled;        /* frames that pollers moved: a sign that somebody is awake */
    uint32_t claimed_count[64];
    _Atomic uint32_t claimed_used;
    _Atomic uint64_t claimed[64];   /* MAC addresses that rules name: frames to them stay inside */
};

/* Whether `name` is `prefix` and what can be the name of an interface. */
bool sv_wire_name(const char *name, const char *prefix);

/* The device's mutex is held. Finds the interface and makes the descriptors; errno with the reason explained. */
int sv_wire_open(struct sv_wire *wire, struct sv_device *device, const char *netdev, const char *kind,
                 uint32_t max_mtu);
/* The port's sockets are ready to receive: starts the watcher. */
int sv_wire_start(struct sv_wire *wire);
/* Adds a socket whose frames the watcher waits for; 0 or an errno. */
int sv_wire_add_socket(struct sv_wire *wire, int socket);
/* Stops the watcher; no drain runs for it any more. Harmless when it was never started. */
void sv_wire_stop(struct sv_wire *wire);
/* Keeps the port's own counters with the device's. */
void sv_wire_retire_counters(struct sv_wire *wire);
void sv_wire_close(struct sv_wire *wire);

/* Operations for struct sv_port_ops; device->port is the struct sv_wire, or starts with it. */
unsigned sv_wire_progress(struct sv_device *device);
int sv_wire_arm(struct sv_device *device, struct sv_cq *cq);
int sv_wire_rule_added(struct sv_device *device, const struct sv_rule_spec *spec, struct sv_rule *rule);
void sv_wire_rule_removed(struct sv_device *device, struct sv_flow *flow);

/*
 * The first step of every transmit: counts, and delivers inside what the port sends to itself. Returns how many frames
 * have to leave; they are in `out`, which has room for SV_BURST.
 */
unsigned sv_wire_split(struct sv_wire *wire, struct sv_qp *sender, const struct sv_frame *frames, unsigned count,
                       struct sv_frame *out);

int sv_receiver_init(struct sv_receiver *receiver);
static inline bool sv_receiver_try(struct sv_receiver *receiver)
{
    return atomic_exchange_explicit(&receiver->lock.held, 1, memory_order_acquire) == 0;
}
/* Dispatches frames from outside. With the receiver's lock held. */
void sv_receiver_dispatch(struct sv_receiver *receiver, struct sv_device *device, struct sv_frame *frames,
                          unsigned count);
/* Takes and releases the lock: whoever was dispatching is done. */
void sv_receiver_quiesce(struct sv_receiver *receiver);
void sv_receiver_add_counters(struct sv_receiver *receiver, struct softverbs_queue_counters *sum);

/* ---- AF_PACKET receive ring, TPACKET_V2 ---- */

struct sv_packet_ring {
    struct sv_receiver receiver;
    int fd;
    uint8_t *map;
    size_t map_bytes;
    uint32_t frame_bytes;
    uint32_t frames;
    _Atomic uint32_t next;
};

/* `filter`: an eBPF socket filter, or -1 to receive everything. */
int sv_packet_ring_open(struct sv_packet_ring *ring, int ifindex, uint32_t mtu, uint32_t frames, int filter);
void sv_packet_ring_close(struct sv_packet_ring *ring);
unsigned sv_packet_ring_drain(struct sv_packet_ring *ring, struct sv_device *device);
void sv_packet_ring_add_counters(struct sv_packet_ring *ring, struct softverbs_queue_counters *sum);

#endif
