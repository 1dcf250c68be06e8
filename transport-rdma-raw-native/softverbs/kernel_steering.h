/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_KERNEL_STEERING_H
#define SV_KERNEL_STEERING_H

#include "bpf_layout.h"
#include "flow.h"

#include <stdbool.h>

/*
 * The kernel's half of flow steering: eBPF programs that know the device's rules. They pass the frames that rules match
 * to the library and all others to the kernel. Only one thread at a time changes rules or the MAC address: in the
 * library the device's rules_mutex ensures this. The programs run concurrently.
 *
 * Descriptors hold all kernel objects. When the process ends, even by a signal, the kernel closes them and thereby
 * detaches the programs.
 */
struct sv_kernel_steering;
struct sv_connections;

/* Native mode with fragments is for drivers that deliver a frame in several pages. Generic mode does not need it. */
enum sv_xdp_attach_mode { SV_XDP_ATTACH_GENERIC, SV_XDP_ATTACH_NATIVE, SV_XDP_ATTACH_NATIVE_FRAGS };

/* The programs of bpf/programs.bpf.c. */
enum sv_program {
    SV_PROGRAM_XDP_REDIRECT,
    SV_PROGRAM_XDP_CLASSIFY,
    SV_PROGRAM_TC_REDIRECT,
    SV_PROGRAM_TC_DROP,
    SV_PROGRAM_SOCKET_MATCHES,
    SV_PROGRAM_SOCKET_COPIES,
};

/*
 * Creates the maps. Returns 0 or an errno with an explanation. If `classifies` is set, also creates the maps that
 * SV_PROGRAM_XDP_CLASSIFY needs, which are most of the memory: about 10 MiB.
 */
int sv_kernel_steering_open(struct sv_kernel_steering **steering, const uint8_t mac[6], bool classifies);
/* Sets the MAC address of the interface. */
void sv_kernel_steering_set_mac(struct sv_kernel_steering *steering, const uint8_t mac[6]);
void sv_kernel_steering_close(struct sv_kernel_steering *steering);

/* Loads a program. Returns its descriptor or a negative errno. */
int sv_kernel_steering_load(struct sv_kernel_steering *steering, enum sv_program program);
/*
 * Runs SV_PROGRAM_XDP_REDIRECT or _CLASSIFY on an interface until the returned descriptor is closed. Returns a negative errno on
 * failure. For tc programs see sv_netdev_port_attach_tc().
 */
int sv_kernel_steering_attach(struct sv_kernel_steering *steering, enum sv_program program, int ifindex,
                              enum sv_xdp_attach_mode mode);
/* Sets the interface to which SV_PROGRAM_TC_REDIRECT redirects. Called before the program is attached. */
void sv_kernel_steering_set_redirect_ifindex(struct sv_kernel_steering *steering, int ifindex);
/* Sets the AF_XDP sockets of a receive queue, the main one and the one for SYNs. Returns 0 or an errno. */
int sv_kernel_steering_set_sockets(struct sv_kernel_steering *steering, uint32_t queue, int main_socket, int syn_socket);
/* Sets the number of queues with sockets. Frames of queues from this number on go to the kernel. */
void sv_kernel_steering_set_queues(struct sv_kernel_steering *steering, uint32_t queues);
/* Sets the length above which SYNs are dropped. Called before sv_kernel_steering_set_queues(). */
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
/* Return the numbers of SYNs and of unsolicited segments dropped beyond the limits, and of SYNs dropped as too long. */
uint64_t sv_kernel_steering_syns_dropped(const struct sv_kernel_steering *steering);
uint64_t sv_kernel_steering_unsolicited_dropped(const struct sv_kernel_steering *steering);
uint64_t sv_kernel_steering_long_syns_dropped(const struct sv_kernel_steering *steering);
/*
 * Returns the number of frames that matched a rule but went to the kernel, because their receive queue has no socket.
 */
uint64_t sv_kernel_steering_unserved_passed(const struct sv_kernel_steering *steering);
/*
 * Leaves UDP frames beyond this length to the kernel. Such a frame holds several datagrams of a sender on this host.
 * Only the kernel knows the lengths of the datagrams. Initially there is no limit.
 */
void sv_kernel_steering_set_max_udp_frame_bytes(struct sv_kernel_steering *steering, uint32_t bytes);
uint64_t sv_kernel_steering_udp_gso_frames_passed(const struct sv_kernel_steering *steering);
/* Returns the tables of connections: sv_connections_track() writes them, sv_connections_is_unsolicited() reads them. */
const struct sv_connections *sv_kernel_steering_connections(const struct sv_kernel_steering *steering);

/*
 * Rules with the same priority and mask (the header bits that they compare) are in the same subtable. Returns true if
 * the programs know the subtable of this rule; adding the rule is then fast. A subtable may outlive its rules.
 */
bool sv_kernel_steering_has_subtable(const struct sv_kernel_steering *steering, const struct sv_rule_spec *spec);
/* Returns the number of subtables that have rules. */
uint32_t sv_kernel_steering_live_subtable_count(const struct sv_kernel_steering *steering);
/* Adds a rule. Returns 0 or an errno: ENOMEM if there are too many subtables or rules. */
int sv_kernel_steering_add(struct sv_kernel_steering *steering, const struct sv_rule_spec *spec);
/* Removes a rule. Returns false if the rule is of type IBV_FLOW_ATTR_NORMAL and was not found, else true. */
bool sv_kernel_steering_remove(struct sv_kernel_steering *steering, const struct sv_rule_spec *spec);

/*
 * Steering shared by a broker, which has the rules, and the process that it serves, which has the traffic (broker.h).
 * The process receives descriptors of SV_CLIENT_MAP_COUNT maps. The maps of rules are not among them, so it
 * cannot change rules. The broker keeps its descriptors and mappings of all maps, so a later device can reuse them.
 * It must not map such a map again: mmap() waits for a mutex that every process with a descriptor can hold. While the
 * device is open, the broker may only change rules and the MAC address.
 */
enum { SV_CLIENT_MAP_COUNT = 4 };

/* For the broker: stores the descriptors of the maps to hand over. They still belong to `steering`. */
void sv_kernel_steering_get_client_maps(const struct sv_kernel_steering *steering, int map_fds[SV_CLIENT_MAP_COUNT]);
/*
 * For the broker, after attaching: prevents any process from replacing SV_PROGRAM_XDP_CLASSIFY. Returns 0 or an errno.
 */
int sv_kernel_steering_seal(const struct sv_kernel_steering *steering);
/*
 * For the broker: loads SV_PROGRAM_XDP_CLASSIFY, which SV_PROGRAM_XDP_REDIRECT calls. Returns 0 or a negative errno. The kernel's
 * verifier needs milliseconds for each of the two programs.
 */
int sv_kernel_steering_load_classifier(struct sv_kernel_steering *steering, enum sv_xdp_attach_mode mode);
/*
 * For the broker, after sv_kernel_steering_load_classifier(): loads SV_PROGRAM_XDP_REDIRECT. Returns its descriptor or a negative
 * errno.
 */
int sv_kernel_steering_load_xdp(struct sv_kernel_steering *steering, enum sv_xdp_attach_mode mode);
/*
 * For the broker: prepares the steering of a closed device for a new device. Removes all rules, sockets and
 * connections. SV_PROGRAM_XDP_REDIRECT must not be attached. Returns 0 or an errno.
 */
int sv_kernel_steering_reuse(struct sv_kernel_steering *steering, const uint8_t mac[6]);
/*
 * For the process: creates steering without rules. Takes ownership of the descriptors, also on an error. Returns 0 or
 * an errno.
 */
int sv_kernel_steering_adopt(struct sv_kernel_steering **steering, const int map_fds[SV_CLIENT_MAP_COUNT]);

/* ---- connections.c ---- */

/*
 * Tracks connections, so that the XDP program xdp_classify can separate their segments from unsolicited ones under
 * overload. Only sent segments add entries, as in a stateful firewall; received segments never do. A sent segment with
 * ACK, without SYN and RST, marks its connection as known. A sent RST removes that mark. A sent SYN or SYN-ACK marks
 * the connection as opening. A received segment that acknowledges the sent SYN is admitted like one of a known
 * connection, because only a peer that received the SYN knows its sequence number.
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
 * Returns true for a received TCP segment that belongs to no tracked connection. Two kinds of segments are excepted: a
 * SYN without ACK, and a segment to a local address and port that never had a tracked connection.
 */
bool sv_connections_is_unsolicited(const struct sv_connections *connections, const struct sv_frame *frame);

#endif
