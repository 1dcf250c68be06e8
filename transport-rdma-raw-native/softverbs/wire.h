/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_WIRE_H
#define SV_WIRE_H

#include "broker.h"
#include "device.h"
#include "frame_limits.h"
#include "steering.h"
#include "steering_maps.h"

#include <net/if.h>

/*
 * The common part of the ports on network interfaces (port_packet.c, port_xdp.c): the interface's properties, the
 * receive thread, frames that the port sends to itself, and the kernel's half of steering.
 *
 * A thread that polls a completion queue moves received frames to all queues of the device. When all threads sleep on
 * armed completion queues, the receive thread moves them, or the sockets wake a single sleeper themselves
 * (event_source.c). The receive thread also follows the interface's state, and mends rings that have stalled. It
 * blocks, but for a look at those rings, unless a queue is armed or the interface changes.
 */

enum { SV_WIRE_RECEIVERS = 2 * SV_STEER_MAX_QUEUES + 1, SV_WIRE_CLAIMS = 64 };

/* Frames waiting in one of the kernel's rings. The lock is part of a grace period. */
struct sv_receiver {
    int fd;                         /* the socket of the ring, or -1 */
    struct sv_spin lock;
    struct sv_steer_cache *cache;
    /* Counts the frames that the kernel had no room for since the last call. With the lock held. */
    void (*count_drops)(struct sv_receiver *receiver);
    bool may_stall;                 /* count_drops() also mends it, and is to be called now and then */
    struct softverbs_queue_counters counters;
};

struct sv_wire;

/* The operations that differ between the kinds of devices on interfaces. */
struct sv_wire_kind {
    const char *name;               /* as in xdp:<interface> */
    uint32_t max_mtu;
    size_t port_bytes;              /* of what starts with the struct sv_wire */
    bool copies_sent;               /* send() copies frames out of registered memory */
    bool may_be_brokered;           /* what it needs can be handed to a process without rights (broker.h) */
    /* Called with the interface present. On an error close() follows. */
    int (*open)(struct sv_wire *wire);
    /* Stops steering frames away from the kernel. The rings stay, for their counters. */
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
    bool brokered;                  /* a broker makes what needs rights, and has the rules */
    struct sv_broker *broker;       /* NULL: there is none, or it has not been asked yet */
    bool super_frames;              /* frames beyond the MTU come too, from senders on this host */
    bool takes_whole;               /* and can be received whole */

    int guard;                      /* listens under the name that keeps other processes off the interface; -1: it is shared */
    int filters;                    /* the packet socket that holds what the interface must let in; any, with a broker */
    int large;                      /* the packet socket of large sends; -1 where there is none */
    int link;                       /* netlink: changes of interfaces */
    int kick;
    int epoll;                      /* the receive thread's: `link`, `kick`, and at times the sockets */
    struct sv_receiver *receivers[SV_WIRE_RECEIVERS];
    uint32_t receiver_count;
    pthread_t rx_thread;
    bool rx_thread_runs;
    _Atomic bool stopping;
    /* The epoll instance that has the sockets (see event_source.c), or -1. Changed with the mutex held. */
    _Atomic int event_epoll;
    _Atomic bool rx_thread_retries;    /* in no instance, since the kernel had no room: the receive thread retries */
    pthread_mutex_t event_mutex;
    _Atomic unsigned single_armings;
    _Atomic unsigned unarmed_frames;
    _Atomic uint64_t polled;        /* frames that pollers moved: a sign that a thread polls */
    _Atomic uint64_t own_mac;       /* the interface's; as `claimed` */
    uint32_t claimed_count[SV_WIRE_CLAIMS];
    _Atomic uint32_t claimed_used;
    _Atomic uint64_t claimed[SV_WIRE_CLAIMS];   /* MAC addresses that rules name: frames to them stay inside */
};

/* Whether `name` is `prefix` and then a valid name of an interface. */
bool sv_wire_name(const char *name, const char *prefix);

/* The longest frame that an interface may deliver. */
static inline uint32_t sv_wire_longest_frame(const struct sv_device *device)
{
    return atomic_load_explicit(&device->mtu, memory_order_relaxed) + SV_MAX_OVERHEAD;
}

/*
 * What super-frames are cut to: never more than the MTU that receives were made for. A frame that is longer than its
 * receive is an error that stops the queue pair, and the interface's MTU may have grown meanwhile.
 */
static inline uint32_t sv_wire_cut_mtu(const struct sv_device *device)
{
    uint32_t now = atomic_load_explicit(&device->mtu, memory_order_relaxed);
    uint32_t opened = atomic_load_explicit(&device->opened_mtu, memory_order_relaxed);
    return now < opened ? now : opened;
}

/* ---- wire.c: the interface. The device's mutex is held. ---- */

/* The MTU is known, or has changed. */
void sv_wire_mtu_known(struct sv_wire *wire);

/* Finds the interface and makes the descriptors; errno with the reason explained. */
int sv_wire_open(struct sv_wire *wire);
/* Adds a ring to those whose frames raise events; 0 or an errno. */
int sv_wire_add_receiver(struct sv_wire *wire, struct sv_receiver *receiver);
void sv_wire_close(struct sv_wire *wire);
/* The address of the interface has changed. */
void sv_wire_mac_changed(struct sv_wire *wire, const uint8_t mac[6]);
/* Whether frames to this address are for the port itself. Without any lock. */
bool sv_wire_stays_inside(const struct sv_wire *wire, const uint8_t *destination);

/* ---- guard.c ---- */

/* Reserves the interface for this process, where it can have one only: 0, or EBUSY with the owner explained. */
int sv_guard_take(struct sv_wire *wire);

/* ---- wire_large.c ---- */

/* Prepares large sends. What the kernel does not take, the library cuts. */
void sv_wire_large_open(struct sv_wire *wire);

/* ---- event_source.c ---- */

/* The event sources of the receive thread. */
enum sv_event_source { SV_EVENT_SOCKET, SV_EVENT_LINK, SV_EVENT_KICK };

int sv_event_source_add(int epoll, int fd, enum sv_event_source source);
/* A poller has moved frames while the sockets are in an epoll instance. */
void sv_event_source_unarmed_frames(struct sv_wire *wire, unsigned moved);
/* Takes the sockets out of the receive thread's instance, and puts them back if a queue is armed. */
void sv_event_source_pause(struct sv_wire *wire);
void sv_event_source_resume(struct sv_wire *wire);
/* Wakes the receive thread. */
void sv_event_source_kick(struct sv_wire *wire);

/* ---- link.c: called by the receive thread ---- */

/* Starts to listen; 0 or an errno. */
int sv_link_open(struct sv_wire *wire);
/* Handles the kernel's messages about the interface. */
void sv_link_follow(struct sv_wire *wire);

/* ---- rx_thread.c ---- */

/* The receivers are ready: starts the thread. */
int sv_wire_start(struct sv_wire *wire);
/* Stops the thread; it calls no drain any more. Does nothing if the thread was never started. */
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
/* rx_thread.c */
unsigned sv_wire_progress(struct sv_device *device);
/* event_source.c */
int sv_wire_arm(struct sv_device *device, struct sv_cq *cq);
bool sv_wire_poll(struct sv_device *device, const struct sv_channel *channel);
void sv_wire_release(struct sv_device *device, struct sv_channel *channel);
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
/*
 * Delivers a TCP frame beyond the MTU whole if the program is ready for that, see softverbs.h. With the receiver's lock
 * held. It counts as SV_WHOLE_COST frames where a burst is bounded: then those that are posted for whole frames last
 * for a poll.
 */
enum sv_whole_result sv_receiver_deliver_whole(struct sv_receiver *receiver, struct sv_device *device,
                                               const struct sv_whole *whole);
enum { SV_WHOLE_COST = SV_BURST / 4 };
/* Mends receivers that have stalled. Called by the receive thread, now and then. */
void sv_wire_look_after_receivers(struct sv_wire *wire);

/* ---- AF_PACKET receive ring, TPACKET_V2 ---- */

struct sv_packet_ring {
    struct sv_receiver receiver;
    uint8_t *map;
    size_t map_bytes;
    uint32_t frame_bytes;
    uint32_t frames;
    _Atomic uint32_t next;
    bool listens;
    bool broken;                    /* the socket has no ring: it is to be made anew */
    bool seen_empty;                /* when its drops were last counted, and where */
    uint32_t seen_next;
    struct sv_packet_cutter *cutter;
};

/* `filter`: an eBPF socket filter, or -1 to receive everything. */
int sv_packet_ring_open(struct sv_packet_ring *ring, uint32_t mtu, uint32_t frames, int filter);
/* Starts to receive from this interface; until then the kernel does not run the ring's filter. May be repeated. */
int sv_packet_ring_listen(struct sv_packet_ring *ring, int ifindex);
void sv_packet_ring_close(struct sv_packet_ring *ring);
unsigned sv_packet_ring_drain(struct sv_packet_ring *ring, struct sv_device *device);

#endif
