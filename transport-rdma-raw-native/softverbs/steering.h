/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_STEERING_H
#define SV_STEERING_H

#include "connections.h"
#include "flow.h"

/*
 * The kernel's half of flow steering: eBPF programs that know the device's rules and separate the frames that rules
 * take from the kernel's. The caller holds the device's mutex; the programs run concurrently.
 *
 * All kernel objects are held by file descriptors. However the process ends, the kernel closes them and detaches the
 * programs.
 */
struct sv_steering;

/* Native with fragments is for drivers that deliver a frame in several pages. Generic mode does not need it. */
enum sv_xdp_mode { SV_XDP_GENERIC, SV_XDP_NATIVE, SV_XDP_NATIVE_FRAGS };

/* The programs of bpf/steer.bpf.c. */
enum sv_program {
    SV_PROGRAM_XDP,
    SV_PROGRAM_CLASSIFY,
    SV_PROGRAM_REDIRECT,
    SV_PROGRAM_TC,
    SV_PROGRAM_FILTER,
    SV_PROGRAM_COPIES,
};

/* Returns 0 or an errno with an explanation. `classifies`: SV_PROGRAM_CLASSIFY will run, which takes 13 MiB. */
int sv_steering_open(struct sv_steering **steering, const uint8_t mac[6], bool classifies);
/* The interface has another address. */
void sv_steering_set_mac(struct sv_steering *steering, const uint8_t mac[6]);
void sv_steering_close(struct sv_steering *steering);

/* A descriptor of the loaded program, or a negative errno. */
int sv_steering_load(struct sv_steering *steering, enum sv_program program);
/*
 * Runs SV_PROGRAM_XDP, _PLACE, _REDIRECT or _TC on an interface until the descriptor returned is closed; or a negative
 * errno.
 */
int sv_steering_attach(struct sv_steering *steering, enum sv_program program, int ifindex, enum sv_xdp_mode mode);
/* Sets the interface to which SV_PROGRAM_REDIRECT redirects, before it is attached. */
void sv_steering_redirect_to(struct sv_steering *steering, int ifindex);
/*
 * Sets the AF_XDP sockets of a receive queue: one for SYNs, one for all other frames that rules take.
 */
int sv_steering_set_sockets(struct sv_steering *steering, uint32_t queue, int socket, int syns);
/* Queues below this number have sockets. Frames of the others go to the kernel. */
void sv_steering_set_queues(struct sv_steering *steering, uint32_t queues);
/* Sets the length above which SYNs are dropped, before SV_PROGRAM_CLASSIFY is attached. */
void sv_steering_set_longest_syn(struct sv_steering *steering, uint32_t bytes);

/* SYNs arrive faster than they are handled: admits only a few for a second. Any thread may call this at any time. */
void sv_steering_limit_syns(struct sv_steering *steering);
/* Frames arrive faster than they are handled: admits only a few unsolicited segments for a second. As above. */
void sv_steering_limit_unsolicited(struct sv_steering *steering);
/* The numbers of segments dropped. */
uint64_t sv_steering_dropped_syns(const struct sv_steering *steering);
uint64_t sv_steering_dropped_unsolicited(const struct sv_steering *steering);
uint64_t sv_steering_long_syns(const struct sv_steering *steering);
/* Frames that rules take but the kernel got, from receive queues without sockets. */
uint64_t sv_steering_unserved(const struct sv_steering *steering);
/*
 * UDP frames beyond this length are the kernel's: they are several datagrams of a sender on this host, whose lengths
 * only the kernel knows. At first there is no such length.
 */
void sv_steering_set_longest_datagram(struct sv_steering *steering, uint32_t bytes);
uint64_t sv_steering_datagrams_passed(const struct sv_steering *steering);
/* The connections that tell unsolicited segments apart. Threads that send frames track them there. */
const struct sv_connections *sv_steering_connections(const struct sv_steering *steering);

int sv_steering_add(struct sv_steering *steering, const struct sv_rule_spec *spec);
/* False: there was no such rule. */
bool sv_steering_remove(struct sv_steering *steering, const struct sv_rule_spec *spec);

/*
 * Between a broker, which has the rules, and the process that it serves, which has the traffic (broker.h). Neither can
 * take the other's part: rules are in maps of which the process has no descriptor.
 */
enum { SV_STEERING_SHARED_MAPS = 4 };

/* The broker's part. The descriptors of the maps to hand over; they still belong to `steering`. */
void sv_steering_shared(const struct sv_steering *steering, int maps[SV_STEERING_SHARED_MAPS]);
/* Once it is attached: no process can replace its programs any more. Returns 0 or an errno. */
int sv_steering_seal(const struct sv_steering *steering);
/* Gives up all but the rules, after the others were handed over. From then on only rules and the address can change. */
void sv_steering_keep_rules(struct sv_steering *steering);
/* The process's part, without rules. Takes the descriptors, also on an error. Returns 0 or an errno. */
int sv_steering_adopt(struct sv_steering **steering, const int maps[SV_STEERING_SHARED_MAPS]);

#endif
