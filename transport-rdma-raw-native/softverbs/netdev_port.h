/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_NETDEV_PORT_H
#define SV_NETDEV_PORT_H

#include "bond.h"
#include "bpf_layout.h"
#include "broker.h"
#include "device.h"
#include "kernel_steering.h"
#include "receive.h"
#include "vlan.h"

#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdbool.h>

/*
 * The common part of the ports on network interfaces (port_packet.c, port_xdp.c): the interface's properties, the
 * receive thread, frames that the port sends to itself, and the kernel's half of steering.
 *
 * A thread that polls a completion queue moves received frames to all queues of the device. When all threads sleep on
 * armed completion queues, the receive thread moves the frames, or the sockets wake a single sleeper directly
 * (event_source.c). The receive thread also follows the interface's state and repairs stalled rings. It blocks unless a
 * queue is armed or the interface changes, and wakes at intervals to check the rings.
 */

enum { SV_NETDEV_PORT_MAX_RECEIVERS = 2 * SV_BPF_MAX_QUEUES + 1, SV_NETDEV_PORT_MAX_LOCAL_MACS = 64 };

/* Error of send(): the interface no longer has the send queue, or the leg of the bond that sends is not served. */
enum { SV_NETDEV_PORT_NO_SEND_QUEUE = ECHRNG };

/* A value of legs_due_millis: a time in the past. */
enum { SV_LEGS_DUE_NOW = 1 };

struct sv_netdev_port;

/* The operations and properties of a kind of port. */
struct sv_netdev_port_kind {
    const char *name;               /* as in xdp:<interface> */
    uint32_t max_mtu;
    size_t port_bytes;              /* size of the structure that begins with struct sv_netdev_port */
    bool copies_on_send;            /* send() copies frames out of registered memory */
    bool tracks_connections;        /* the XDP program separates segments of connections from unsolicited ones */
    bool may_be_brokered;           /* a broker can open the port for a process without capabilities (broker.h) */
    bool opens_interfaces_below;    /* it opens the interface below a VLAN (vlan.h), and those below a bond (bond.h) */
    /* Opens the port on an existing interface. On an error close() follows. */
    int (*open)(struct sv_netdev_port *port);
    /* Stops steering frames away from the kernel. The rings stay open, because their counters are still read. */
    void (*detach)(struct sv_netdev_port *port);
    void (*close)(struct sv_netdev_port *port);
    /*
     * Moves received frames. Returns 0 if there were none, else a measure of the work: at least 1 per frame. Any thread
     * may call this.
     */
    unsigned (*drain)(struct sv_netdev_port *port);
    /* Sends frames and counts them by sv_netdev_port_count_sent(). The caller holds the sender's sq.lock. */
    void (*send)(struct sv_netdev_port *port, struct sv_qp *sender, const struct sv_frame *frames, unsigned count);
    /*
     * Follows the legs of the bond, which may have changed. Returns the time of the next attempt if something is left
     * to do, or 0. Only the receive thread calls this.
     */
    uint64_t (*update_legs)(struct sv_netdev_port *port, uint64_t now_millis);
    /*
     * Forgets a leg after the removal of its interface. Returns false if there is no such leg. Only the receive thread
     * calls this.
     */
    bool (*forget_leg)(struct sv_netdev_port *port, int ifindex);
};

struct sv_netdev_port {
    const struct sv_netdev_port_kind *kind;
    struct sv_device *device;
    bool opened;                    /* kind->open() has been called */
    char netdev[IFNAMSIZ];
    int ifindex;
    unsigned flags;                 /* IFF_*, when the port was opened */
    struct sv_vlan vlan;            /* the VLAN interface if netdev and ifindex are those of its parent */
    struct sv_bond bond;            /* the bond; the port opens its legs. Read by the receive thread after opening */
    uint32_t link_mtu;              /* MTU of netdev when the port was opened */
    uint32_t max_mtu;               /* largest MTU of the interface that the port supports */
    struct sv_kernel_steering *steering; /* NULL: no eBPF */
    bool brokered;                  /* a broker creates the sockets and programs, and installs the rules */
    struct sv_broker *broker;       /* NULL: not brokered, or not connected yet */
    const struct sv_rule *new_rule; /* rule that is being added, guarded by the rules_mutex */
    bool receives_gso;              /* AF_XDP: GSO frames arrive, from senders on this host or merged by GRO */
    bool delivers_gso;              /* the port can deliver GSO frames unsegmented */

    int guard_fd;                   /* abstract socket that reserves the interface or marks the tc program, or -1 */
    int vlan_guard_fd;              /* the same for the VLAN interface, or -1 */
    int mac_filter_fd;              /* packet socket that holds the MAC filter entries; with a broker, any socket */
    int tso_fd;                     /* packet socket that sends TSO payloads as one packet, or -1 */
    int missed_fd;                  /* file of the interface's rx_missed_errors in sysfs, or -1 */
    uint64_t missed_at_open;        /* its value when the port was opened */
    int netlink_fd;                 /* netlink socket for changes of interfaces */
    int wake_fd;                    /* eventfd that wakes the receive thread */
    int rx_thread_epoll_fd;         /* the receive thread's: netlink_fd, wake_fd, and at times the sockets */
    struct sv_receiver *receivers[SV_NETDEV_PORT_MAX_RECEIVERS];
    _Atomic uint32_t receiver_count; /* it only grows, because a leg may join a bond */
    pthread_t rx_thread;
    bool rx_thread_runs;
    uint64_t legs_due_millis;       /* used by the receive thread only: time of the next update_legs(), 0: none */
    bool mac_update_pending;        /* used by the receive thread only: see sv_netdev_port_update_steering_mac() */
    _Atomic bool stopping;
    /* The epoll instance that contains the sockets (see event_source.c), or -1. Changed with the mutex held. */
    _Atomic int sockets_epoll_fd;
    /* The kernel had no room for the sockets in an epoll instance, so the receive thread retries. */
    _Atomic bool rx_thread_must_retry;
    pthread_mutex_t event_mutex;
    _Atomic unsigned single_armings;
    _Atomic unsigned unarmed_frames;
    _Atomic uint64_t polled_work;   /* work of pollers, as drain() returns it; if it grows, a thread polls */
    _Atomic uint64_t own_mac;       /* the interface's MAC address, as in `local_macs` */
    /* MAC addresses in rules, to which the port delivers frames itself, with the number of rules of each. */
    uint32_t local_mac_refs[SV_NETDEV_PORT_MAX_LOCAL_MACS];
    _Atomic uint32_t local_mac_slots;
    _Atomic uint64_t local_macs[SV_NETDEV_PORT_MAX_LOCAL_MACS];
};

/* Returns the interface that has the port's addresses: the VLAN interface if there is one. */
static inline int sv_netdev_port_host_ifindex(const struct sv_netdev_port *port)
{
    return port->vlan.ifindex != 0 ? port->vlan.ifindex : port->ifindex;
}

/* Returns true if `name` is `prefix` followed by a valid interface name. */
bool sv_netdev_port_is_device_name(const char *name, const char *prefix);

/* Returns the length of the longest frame that an interface may deliver. */
static inline uint32_t sv_netdev_port_max_frame_bytes(const struct sv_device *device)
{
    return atomic_load_explicit(&device->mtu, memory_order_relaxed) + SV_MAX_OVERHEAD;
}

/*
 * Returns the MTU for the segmentation of GSO frames. It never exceeds the MTU at opening, which determined the size of
 * the posted receives: the interface's MTU may have grown since, and a frame longer than its receive stops the queue
 * pair.
 */
static inline uint32_t sv_netdev_port_segment_mtu(const struct sv_device *device)
{
    uint32_t now = atomic_load_explicit(&device->mtu, memory_order_relaxed);
    uint32_t opened = atomic_load_explicit(&device->opened_mtu, memory_order_relaxed);
    return now < opened ? now : opened;
}

/* ---- netdev_port.c: the interface ---- */

/* Applies the MTU, which is known now or has changed. */
void sv_netdev_port_apply_mtu(struct sv_netdev_port *port);

/*
 * Returns the frames that the interface has missed since the port was opened, or 0 if this is unknown. Takes no lock.
 */
uint64_t sv_netdev_port_missed_frames(const struct sv_netdev_port *port);
/* Finds the interface and opens the descriptors. Returns 0 or an errno with an explanation. */
int sv_netdev_port_open_interface(struct sv_netdev_port *port);
void sv_netdev_port_close_interface(struct sv_netdev_port *port);
/* Records a new MAC address of the interface. Only the receive thread calls this. */
void sv_netdev_port_record_mac(struct sv_netdev_port *port, const uint8_t mac[6]);
/* Updates steering after a MAC address change. If another thread is changing a rule, a later call does it. */
void sv_netdev_port_update_steering_mac(struct sv_netdev_port *port);
/* Adds the rules of the port again at the broker's successor: see sv_broker_set_rules(). */
int sv_netdev_port_add_rules_again(struct sv_broker *broker, void *port);
/* Returns true if the port delivers frames to this address itself instead of sending them. Lock-free. */
bool sv_netdev_port_is_local_mac(const struct sv_netdev_port *port, const uint8_t *destination);

/* ---- mac_filter.c ---- */

/*
 * The MAC filter of an interface: the further addresses that it accepts. Memberships of a packet socket add addresses,
 * and end with the socket.
 */

/* Returns the filter entry (PACKET_MR_*) that this rule needs, or -1 if it needs none. */
int sv_mac_filter_type(const struct sv_rule_spec *spec, const uint8_t own_mac[6]);
/* Adds or drops an entry: `option` is PACKET_ADD_MEMBERSHIP or PACKET_DROP_MEMBERSHIP. Does nothing for type -1. */
void sv_mac_filter_change(int socket, int ifindex, int type, const uint8_t mac[6], int option);

/* ---- guard.c ---- */

/*
 * Reserves the interface for this process if only one process can use it. Returns 0, or EBUSY with the owner explained.
 */
int sv_interface_reserve(struct sv_netdev_port *port);
/*
 * Loads a tc program and attaches it to the interface. Returns the link's descriptor or a negative errno.
 *
 * Programs of other processes of this user, and of root, run before it, so the process that came first keeps its
 * frames. Programs of other software run after it, because some of them (Cilium's) end the list for each frame that
 * they pass to the kernel.
 */
int sv_netdev_port_attach_tc(struct sv_netdev_port *port, enum sv_program which);

/* ---- netdev_port_tso.c ---- */

/* Opens the socket for TSO sends. Without it, the library segments them. */
void sv_netdev_port_open_tso(struct sv_netdev_port *port);

/* ---- receive_poll.c ---- */

/* Checks all receivers and restarts stalled rings. The receive thread calls this at intervals. */
void sv_netdev_port_check_receivers(struct sv_netdev_port *port);

/* ---- event_source.c ---- */

/* Event sources of the receive thread. */
enum sv_event_source { SV_EVENT_SOCKET, SV_EVENT_LINK, SV_EVENT_WAKE };

int sv_event_source_add(int epoll_fd, int fd, enum sv_event_source source);
/* Adds a ring; its frames raise events. Returns 0 or an errno. */
int sv_netdev_port_add_receiver(struct sv_netdev_port *port, struct sv_receiver *receiver);
/* A poller has moved frames while the sockets are in an epoll instance. `moved` is the result of drain(). */
void sv_event_source_on_frames_polled(struct sv_netdev_port *port, unsigned moved);
/* Removes the sockets from the receive thread's epoll instance. */
void sv_event_source_pause(struct sv_netdev_port *port);
/* Puts them back if a queue is armed and no channel has them. */
void sv_event_source_resume(struct sv_netdev_port *port);
/* Wakes the receive thread. */
void sv_receive_thread_wake(struct sv_netdev_port *port);

/* ---- link.c: called by the receive thread ---- */

/* Opens the netlink socket. Returns 0 or an errno. */
int sv_link_open(struct sv_netdev_port *port);
/* Handles the kernel's messages about the interface. */
void sv_link_process(struct sv_netdev_port *port);

/* ---- receive_thread.c ---- */

/* Starts the receive thread. The receivers are ready by then. */
int sv_netdev_port_start(struct sv_netdev_port *port);
/* Stops the receive thread, which then calls drain() no more. Does nothing if it was never started. */
void sv_netdev_port_stop(struct sv_netdev_port *port);

/* ---- threads.c ---- */

/* The POSIX thread functions of which glibc has several versions: see threads.c. */

/*
 * Starts a thread with a name and with all signals blocked, since signals belong to the program. Returns 0 or an errno.
 */
int sv_thread_start(pthread_t *thread, void *(*run)(void *), void *argument, const char *name);
void sv_thread_join(pthread_t thread);
/* Returns false if another thread holds the mutex. */
bool sv_mutex_trylock(pthread_mutex_t *mutex);

/* ---- operations for struct sv_port_ops; device->port starts with the struct sv_netdev_port ---- */

/* netdev_port_ops.c */
int sv_netdev_port_open(struct sv_device *device, const struct sv_netdev_port_kind *kind);
void sv_netdev_port_close(struct sv_device *device);
void sv_netdev_port_transmit(struct sv_device *device, struct sv_qp *sender, struct sv_frame *frames, unsigned count);
/* Counts frames of which the interface accepted the first `sent`, and the others by the error. */
void sv_netdev_port_count_sent(const struct sv_netdev_port *port, struct sv_qp *sender, const struct sv_frame *frames,
                               unsigned count, unsigned sent, int error);
void sv_netdev_port_add_counters(struct sv_device *device, struct softverbs_counters *counters);
/* netdev_port_tso.c */
bool sv_netdev_port_transmit_tso(struct sv_device *device, struct sv_qp *sender, const struct sv_tso_request *request);
/* receive_poll.c */
unsigned sv_netdev_port_progress(struct sv_device *device);
void sv_netdev_port_quiesce(struct sv_device *device);
/* event_source.c */
int sv_netdev_port_arm(struct sv_device *device, struct sv_cq *cq);
bool sv_netdev_port_poll_channel(struct sv_device *device, const struct sv_channel *channel);
void sv_netdev_port_return_sockets(struct sv_device *device, struct sv_channel *channel);
/* netdev_port.c */
int sv_netdev_port_on_rule_added(struct sv_device *device, const struct sv_rule_spec *spec, struct sv_rule *rule);
void sv_netdev_port_on_rule_removed(struct sv_device *device, struct sv_flow *flow);

#endif
