/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_WIRE_H
#define SV_WIRE_H

#include "device.h"
#include "steering.h"
#include "steering_maps.h"

#include <net/if.h>

/*
 * What the ports on network interfaces (port_packet.c, port_xdp.c) have in common: the interface's facts, the watcher
 * thread, frames that the port sends to itself, and the kernel's half of steering.
 *
 * Whoever polls a completion queue moves received frames to all queues of the device. When nobody polls, because all
 * sleep on armed completion queues, the watcher does, or who sleeps alone is woken by the sockets itself (watch.c). The
 * watcher also follows the interface's state. It blocks unless something is armed or the interface changes.
 */

enum { SV_WIRE_RECEIVERS = 2 * SV_STEER_MAX_QUEUES + 1, SV_WIRE_CLAIMS = 64 };

/* Frames waiting in one of the kernel's rings. The lock is part of a grace period. */
struct sv_receiver {
    int fd;                         /* the socket of the ring, or -1 */
    struct sv_spin lock;
    struct sv_steer_cache *cache;
    /* Counts what the kernel had no room for since the last call. With the lock held. */
    void (*count_drops)(struct sv_receiver *receiver);
    struct softverbs_queue_counters counters;
};

struct sv_wire;

/* How a kind of device gets frames from an interface and to it: all that differs between them. */
struct sv_wire_kind {
    const char *name;               /* as in xdp:<interface> */
    uint32_t max_mtu;
    size_t port_bytes;              /* of what starts with the struct sv_wire */
    bool copies_sent;               /* send() copies frames out of registered memory */
    /* The interface is there and nobody else has it. On an error close() follows. */
    int (*open)(struct sv_wire *wire);
    /* Gives the kernel its frames back; the rings stay, for their counters. */
    void (*detach)(struct sv_wire *wire);
    void (*close)(struct sv_wire *wire);
    /* Moves received frames; returns how many. Called by any thread. */
    unsigned (*drain)(struct sv_wire *wire);
    /* Returns how many of the frames the interface took; *error is why not all. The sender's sq.lock is held. */
    unsigned (*send)(struct sv_wire *wire, const struct sv_qp *sender, const struct sv_frame *frames, unsigned count,
                     int *error);
};

struct sv_wire {
    const struct sv_wire_kind *kind;
    struct sv_device *device;
    bool opened;                    /* kind->open() was called */
    char netdev[IFNAMSIZ];
    int ifindex;
    unsigned flags;                 /* IFF_*, at the time of opening */
    uint32_t max_mtu;               /* beyond this the port can't carry the interface's frames */
    struct sv_steering *steering;   /* NULL: without eBPF */

    int guard;                      /* listens under the name that keeps other processes off the interface */
    int filters;                    /* the packet socket that holds what the interface must let in */
    int large;                      /* the packet socket of large sends; -1 where there is none */
    _Atomic bool large_cut;         /* what is sent there leaves as ordinary frames */
    int link;                       /* netlink: changes of interfaces */
    int kick;
    int epoll;                      /* the watcher's: over `link` and `kick`, and over the sockets while it watches */
    struct sv_receiver *receivers[SV_WIRE_RECEIVERS];
    uint32_t receiver_count;
    pthread_t watcher;
    bool watcher_runs;
    _Atomic bool stopping;
    /* Whose epoll instance has the sockets: see watch.c; -1: nobody's, as nobody sleeps. Changed with the mutex held. */
    _Atomic int watching;
    _Atomic bool unwatched;         /* nobody, since the kernel had no room: the watcher thread is to try again */
    pthread_mutex_t watch_mutex;
    _Atomic unsigned lonely_armings;
    _Atomic unsigned unarmed_frames;
    _Atomic uint64_t polled;        /* frames that pollers moved: a sign that somebody is awake */
    _Atomic uint64_t own_mac;       /* the interface's; as `claimed` */
    uint32_t claimed_count[SV_WIRE_CLAIMS];
    _Atomic uint32_t claimed_used;
    _Atomic uint64_t claimed[SV_WIRE_CLAIMS];   /* MAC addresses that rules name: frames to them stay inside */
};

/* Whether `name` is `prefix` and what can be the name of an interface. */
bool sv_wire_name(const char *name, const char *prefix);

/* Of what an interface may deliver: a VLAN tag makes a frame longer than the MTU says. */
static inline uint32_t sv_wire_longest_frame(const struct sv_device *device)
{
    return atomic_load_explicit(&device->mtu, memory_order_relaxed) + 18;
}

/* ---- wire.c: the interface. The device's mutex is held. ---- */

/* Finds the interface and makes the descriptors; errno with the reason explained. */
int sv_wire_open(struct sv_wire *wire);
/* Adds a ring whose frames the watcher waits for; 0 or an errno. */
int sv_wire_add_receiver(struct sv_wire *wire, struct sv_receiver *receiver);
void sv_wire_close(struct sv_wire *wire);
/* The interface has another address. */
void sv_wire_mac_changed(struct sv_wire *wire, const uint8_t mac[6]);
/* Whether frames to this address are for the port itself. Without any lock. */
bool sv_wire_stays_inside(const struct sv_wire *wire, const uint8_t *destination);

/* ---- guard.c ---- */

/* Takes the interface for this process: 0, or EBUSY and who has it explained. */
int sv_guard_take(struct sv_wire *wire);

/* ---- wire_large.c ---- */

/* Makes ready for large sends; where that cannot be they are cut here. */
void sv_wire_large_open(struct sv_wire *wire);
/* Looks again whether the kernel cuts large sends: the interface's offloads may have changed. */
void sv_wire_large_check(struct sv_wire *wire);

/* ---- watch.c ---- */

/* What the watcher thread hears of. */
enum sv_watch_source { SV_WATCH_SOCKET, SV_WATCH_LINK, SV_WATCH_KICK };

int sv_watch_add(int epoll, int fd, enum sv_watch_source source);
/* Frames have been moved by who polls, while somebody watches for them. */
void sv_watch_unarmed_frames(struct sv_wire *wire, unsigned moved);
/* The watcher thread watches no more for a while, and again if somebody is armed. */
void sv_watch_pause(struct sv_wire *wire);
void sv_watch_resume(struct sv_wire *wire);
/* Wakes the watcher thread. */
void sv_watch_kick(struct sv_wire *wire);

/* ---- link.c: of the watcher thread ---- */

/* Begins to listen; 0 or an errno. */
int sv_link_open(struct sv_wire *wire);
/* Takes what the kernel has told of the interface since. */
void sv_link_follow(struct sv_wire *wire);

/* ---- watcher.c ---- */

/* The receivers are ready: starts the thread. */
int sv_wire_start(struct sv_wire *wire);
/* Ends it; no drain runs for it any more. Harmless when it was never started. */
void sv_wire_stop(struct sv_wire *wire);

/* ---- operations for struct sv_port_ops; device->port starts with the struct sv_wire ---- */

/* wire_port.c */
int sv_wire_port_open(struct sv_device *device, const struct sv_wire_kind *kind);
void sv_wire_port_close(struct sv_device *device);
void sv_wire_transmit(struct sv_device *device, struct sv_qp *sender, struct sv_frame *frames, unsigned count);
void sv_wire_quiesce(struct sv_device *device);
void sv_wire_add_counters(struct sv_device *device, struct softverbs_counters *counters);
/* wire_large.c */
bool sv_wire_transmit_large(struct sv_device *device, struct sv_qp *sender, const struct sv_large_send *send);
/* watcher.c */
unsigned sv_wire_progress(struct sv_device *device);
/* watch.c */
int sv_wire_arm(struct sv_device *device, struct sv_cq *cq);
bool sv_wire_look(struct sv_device *device, const struct sv_channel *channel);
void sv_wire_relieve(struct sv_device *device, struct sv_channel *channel);
/* wire.c */
int sv_wire_rule_added(struct sv_device *device, const struct sv_rule_spec *spec, struct sv_rule *rule);
void sv_wire_rule_removed(struct sv_device *device, struct sv_flow *flow);

/* ---- wire_port.c: receivers ---- */

int sv_receiver_init(struct sv_receiver *receiver, void (*count_drops)(struct sv_receiver *receiver));
void sv_receiver_close(struct sv_receiver *receiver);
static inline bool sv_receiver_try(struct sv_receiver *receiver)
{
    return atomic_exchange_explicit(&receiver->lock.held, 1, memory_order_acquire) == 0;
}
/* Dispatches frames from outside. With the receiver's lock held. */
void sv_receiver_dispatch(struct sv_receiver *receiver, struct sv_device *device, struct sv_frame *frames,
                          unsigned count);
/* ---- AF_PACKET receive ring, TPACKET_V2 ---- */

struct sv_packet_ring {
    struct sv_receiver receiver;
    uint8_t *map;
    size_t map_bytes;
    uint32_t frame_bytes;
    uint32_t frames;
    _Atomic uint32_t next;
    bool listens;
};

/* `filter`: an eBPF socket filter, or -1 to receive everything. */
int sv_packet_ring_open(struct sv_packet_ring *ring, uint32_t mtu, uint32_t frames, int filter);
/* From now on the ring receives, from this interface: until then the kernel shows it no frame. Again: nothing. */
int sv_packet_ring_listen(struct sv_packet_ring *ring, int ifindex);
void sv_packet_ring_close(struct sv_packet_ring *ring);
unsigned sv_packet_ring_drain(struct sv_packet_ring *ring, struct sv_device *device);

#endif
