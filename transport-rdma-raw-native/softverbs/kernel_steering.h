/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_KERNEL_STEERING_H
#define SV_KERNEL_STEERING_H

#include "bpf_layout.h"
#include "flow.h"

#include <stdbool.h>

/*
 * Creates, loads and feeds the kernel's half of flow steering: eBPF programs that know the device's rules. They pass
 * the frames that rules match to the library, and all others to the kernel. If a rule only wants copies, the frame goes
 * to both. The library's own search of its rules, which selects the queue pair, is in flow_search.c. Only one thread at
 * a time changes rules or the MAC address: in the library the device's rules_mutex ensures this. The programs run
 * concurrently.
 *
 * Maps, programs and links exist while a process has their descriptors, so a killed process leaves none. With a broker,
 * the broker has some of the descriptors too, see below.
 */
struct sv_kernel_steering;
struct sv_connections;

/*
 * With SV_XDP_ATTACH_NATIVE_FRAGS the program accepts frames in several pages, as drivers deliver jumbo frames. In
 * generic mode every program does.
 */
enum sv_xdp_attach_mode { SV_XDP_ATTACH_GENERIC, SV_XDP_ATTACH_NATIVE, SV_XDP_ATTACH_NATIVE_FRAGS };

/* The programs of bpf/programs.bpf.c: the hook at which each runs, and its purpose. */
enum sv_program {
    SV_PROGRAM_XDP_REDIRECT,    /* calls XDP_CLASSIFY for frames that rules take */
    SV_PROGRAM_XDP_CLASSIFY,    /* redirects to an AF_XDP socket, the main one or that for SYNs, or drops */
    SV_PROGRAM_TC_REDIRECT,     /* redirects them to a TAP interface, on which XDP_CLASSIFY runs */
    SV_PROGRAM_TC_DROP,         /* drops them, after an AF_PACKET ring has copied them */
    SV_PROGRAM_SOCKET_MATCHES,  /* socket filter of an AF_PACKET ring: frames that match a rule */
    SV_PROGRAM_SOCKET_COPIES,   /* the same beside AF_XDP sockets: only frames for both, kernel and library */
};

/*
 * Creates the maps. Returns 0 or an errno with an explanation. If `classifies` is set, as for AF_XDP, also creates the
 * maps that SV_PROGRAM_XDP_CLASSIFY needs. These take 10 MiB, all maps together about 13 MiB.
 */
int sv_kernel_steering_open(struct sv_kernel_steering **steering, const uint8_t mac[6], bool classifies);
/* Sets the MAC address of the interface. */
void sv_kernel_steering_set_mac(struct sv_kernel_steering *steering, const uint8_t mac[6]);
void sv_kernel_steering_close(struct sv_kernel_steering *steering);

/* Loads a program. Returns its descriptor or a negative errno. */
int sv_kernel_steering_load(struct sv_kernel_steering *steering, enum sv_program program);
/*
 * Loads SV_PROGRAM_XDP_REDIRECT or _CLASSIFY and attaches it to an interface, until the returned descriptor is closed.
 * Returns a negative errno on failure. For tc programs see sv_netdev_port_attach_tc().
 */
int sv_kernel_steering_attach(struct sv_kernel_steering *steering, enum sv_program program, int ifindex,
                              enum sv_xdp_attach_mode mode);
/* Sets the interface to which SV_PROGRAM_TC_REDIRECT redirects. Call it before the program is attached. */
void sv_kernel_steering_set_redirect_ifindex(struct sv_kernel_steering *steering, int ifindex);
/* Sets the AF_XDP sockets of a receive queue, the main one and the one for SYNs. Returns 0 or an errno. */
int sv_kernel_steering_set_sockets(struct sv_kernel_steering *steering, uint32_t queue, int main_socket,
                                   int syn_socket);
/*
 * Removes all sockets. An open socket in the map keeps the map's memory, even after all descriptors of the map are
 * closed.
 */
void sv_kernel_steering_delete_sockets(struct sv_kernel_steering *steering);
/* Sets the number of queues with sockets. Frames of queues with this number or a higher one go to the kernel. */
void sv_kernel_steering_set_queues(struct sv_kernel_steering *steering, uint32_t queues);
/*
 * Sets the state of one of a bond's legs, SV_BPF_LEG_* of bpf_layout.h. Once there is such a leg, frames of other
 * interfaces than those are dropped.
 */
void sv_kernel_steering_set_leg(struct sv_kernel_steering *steering, uint32_t number, int ifindex, uint32_t state);
/* While it is paused, all frames go to the kernel. Call it after all queues are set. */
void sv_kernel_steering_pause(struct sv_kernel_steering *steering, bool is_paused);
/*
 * Sets the length above which SYNs are dropped. Such a SYN comes from a sender on this host that relies on segmentation
 * offload, and cannot open a connection. Call it before sv_kernel_steering_set_queues().
 */
void sv_kernel_steering_set_max_syn_bytes(struct sv_kernel_steering *steering, uint32_t bytes);

/*
 * Admits only a few SYNs for the next second. Called if the library cannot keep up with them; any thread may call it.
 */
void sv_kernel_steering_limit_syns(struct sv_kernel_steering *steering);
/*
 * Admits only a few unsolicited segments for the next second. Called if the library cannot keep up with the frames; any
 * thread may call it.
 */
void sv_kernel_steering_limit_unsolicited(struct sv_kernel_steering *steering);
/* Returns the number of SYNs dropped while SYNs were limited. */
uint64_t sv_kernel_steering_syns_dropped(const struct sv_kernel_steering *steering);
/* Returns the number of segments dropped while unsolicited segments were limited. */
uint64_t sv_kernel_steering_unsolicited_dropped(const struct sv_kernel_steering *steering);
/* Returns the number of SYNs dropped because of their length. */
uint64_t sv_kernel_steering_long_syns_dropped(const struct sv_kernel_steering *steering);
/*
 * Returns the number of frames that matched a rule and were not delivered, because their receive queue or their leg of
 * a bond has no socket.
 */
uint64_t sv_kernel_steering_unserved_frames(const struct sv_kernel_steering *steering);
/* Returns the number of frames that matched a rule and arrived by a leg by which the bond does not receive. */
uint64_t sv_kernel_steering_inactive_leg_dropped(const struct sv_kernel_steering *steering);
/*
 * Sets the length, with all headers, above which UDP frames go to the kernel. Such a frame is a GSO frame: it holds
 * several datagrams of a sender on this host. Only the kernel knows where they end. Initially there is no limit.
 */
void sv_kernel_steering_set_max_udp_frame_bytes(struct sv_kernel_steering *steering, uint32_t bytes);
/* Returns the number of UDP GSO frames that went to the kernel. */
uint64_t sv_kernel_steering_udp_gso_frames_passed(const struct sv_kernel_steering *steering);
/* Returns the tables of connections: sv_connections_track() writes them, sv_connections_is_unsolicited() reads them. */
const struct sv_connections *sv_kernel_steering_connections(const struct sv_kernel_steering *steering);

/*
 * Rules with the same priority and mask (the header bits that they compare) are in the same subtable. Returns true if
 * the programs know the subtable of this rule. If not, sv_kernel_steering_add() publishes the list of subtables again,
 * and may first wait for a grace period of RCU: milliseconds. A few subtables without rules are kept.
 */
bool sv_kernel_steering_has_subtable(const struct sv_kernel_steering *steering, const struct sv_rule_spec *spec);
/* Returns the number of subtables that have rules, without those that are merely kept. */
uint32_t sv_kernel_steering_live_subtable_count(const struct sv_kernel_steering *steering);
/* Adds a rule. Returns 0 or an errno: ENOMEM if there are too many subtables or rules. */
int sv_kernel_steering_add(struct sv_kernel_steering *steering, const struct sv_rule_spec *spec);
/*
 * Removes a rule. Returns false if there is no such rule. Default rules and sniffers are only counted, so removing one
 * returns true in any case.
 */
bool sv_kernel_steering_remove(struct sv_kernel_steering *steering, const struct sv_rule_spec *spec);

/*
 * Steering shared by a broker, which owns the maps of the rules, and its client, which receives the frames (broker.h).
 * The client receives descriptors of SV_CLIENT_MAP_COUNT maps. The maps of rules are not among them, so it cannot
 * change rules. The broker keeps its descriptors and mappings of all maps, so a later device can reuse them. It must
 * not call mmap() again for a map that a client has a descriptor of: mmap() waits for a mutex that every process with a
 * descriptor can hold, so a client could block the broker. While the device is open, the broker changes rules and the
 * MAC address, and does not write the shared maps.
 */
enum {
    SV_TRAFFIC_MAP_COUNT = 3,               /* the first of the client's maps; it calls mmap() for these only */
    SV_CLIENT_MAP_PROGRAMS = SV_TRAFFIC_MAP_COUNT,
    SV_CLIENT_MAP_COUNT
};

/* For the broker: stores the descriptors of the maps to hand over. They still belong to `steering`. */
void sv_kernel_steering_get_client_maps(const struct sv_kernel_steering *steering, int map_fds[SV_CLIENT_MAP_COUNT]);
/*
 * For the broker, after attaching: freezes the map of programs, so that no process can replace SV_PROGRAM_XDP_CLASSIFY.
 * Returns 0 or an errno.
 */
int sv_kernel_steering_seal(const struct sv_kernel_steering *steering);
/*
 * For the broker: loads SV_PROGRAM_XDP_CLASSIFY, which SV_PROGRAM_XDP_REDIRECT calls. Returns 0 or a negative errno.
 * The kernel's verifier needs milliseconds for each of the two programs, so the broker serves other clients in between.
 */
int sv_kernel_steering_load_classifier(struct sv_kernel_steering *steering, enum sv_xdp_attach_mode mode);
/*
 * For the broker, after sv_kernel_steering_load_classifier(): loads SV_PROGRAM_XDP_REDIRECT. Returns its descriptor or
 * a negative errno.
 */
int sv_kernel_steering_load_xdp(struct sv_kernel_steering *steering, enum sv_xdp_attach_mode mode);
/*
 * For the broker: prepares the steering of a closed device for a new device. Removes all rules, sockets and
 * connections. SV_PROGRAM_XDP_REDIRECT must not be attached. Returns 0 or an errno.
 */
int sv_kernel_steering_reuse(struct sv_kernel_steering *steering, const uint8_t mac[6]);
/*
 * For the broker: creates steering without rules for a device of an ended broker. It uses the client's maps of traffic,
 * and never calls mmap() for them (see above). Takes ownership of the descriptors, also on an error. Returns 0 or an
 * errno with an explanation: EINVAL if a descriptor is no such map.
 */
int sv_kernel_steering_resume(struct sv_kernel_steering **steering, const uint8_t mac[6],
                              const int map_fds[SV_TRAFFIC_MAP_COUNT]);
/*
 * For the client: creates steering without rules. Takes ownership of the descriptors, also on an error. Returns 0 or
 * an errno.
 */
int sv_kernel_steering_adopt(struct sv_kernel_steering **steering, const int map_fds[SV_CLIENT_MAP_COUNT]);

/* ---- connections.c ---- */

/*
 * Tracks connections, so that SV_PROGRAM_XDP_CLASSIFY can separate their segments from unsolicited ones under overload.
 * Only sent segments add entries, as in a stateful firewall; received segments never do. A sent segment with ACK,
 * without SYN and RST, marks its connection as known. A sent RST removes that mark. A sent SYN or SYN-ACK marks the
 * connection as opening. A received segment that acknowledges this SYN is admitted like one of a known connection,
 * because only a peer that received the SYN knows its sequence number.
 *
 * The marks are in tables that the program reads; see struct sv_bpf_marks. Sending threads write them concurrently
 * without a lock. At worst a mark is lost, and the next segment writes it again.
 */

struct sv_connections {
    uint64_t secret;
    struct sv_bpf_marks *known;         /* SV_BPF_KNOWN_BUCKETS of them */
    struct sv_bpf_marks *opening;       /* SV_BPF_OPENING_BUCKETS of them */
};

/*
 * Marks the connections of frames to be sent. Called before sending, because the answer may arrive before the send call
 * returns.
 */
void sv_connections_track(const struct sv_connections *connections, const struct sv_frame *frames, unsigned count);

/*
 * Returns true for a received TCP segment that belongs to no tracked connection. Returns false also for a SYN without
 * ACK and RST, and for a segment to a local address and port from which nothing but RSTs has been sent.
 */
bool sv_connections_is_unsolicited(const struct sv_connections *connections, const struct sv_frame *frame);

#endif
