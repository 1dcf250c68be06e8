/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_STEERING_H
#define SV_STEERING_H

#include "connections.h"
#include "flow.h"

/*
 * The kernel's half of flow steering: eBPF programs that know the device's rules and tell our frames from the kernel's.
 * All calls are made with the device's mutex held; the programs run beside them.
 *
 * Everything hangs on file descriptors. When the process ends, however it ends, the kernel closes them, detaches the
 * programs and has its frames back.
 */
struct sv_steering;

/* Native with fragments: for drivers that bring frames in several pages. In generic mode that would only cost. */
enum sv_xdp_mode { SV_XDP_GENERIC, SV_XDP_NATIVE, SV_XDP_NATIVE_FRAGS };

enum sv_program { SV_PROGRAM_XDP, SV_PROGRAM_PLACE, SV_PROGRAM_REDIRECT, SV_PROGRAM_TC, SV_PROGRAM_FILTER, SV_PROGRAM_COPIES };

/* 0 or an errno, with the reason explained. `places`: SV_PROGRAM_PLACE will run, which takes 13 MiB. */
int sv_steering_open(struct sv_steering **steering, const uint8_t mac[6], bool places);
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
/* Where SV_PROGRAM_REDIRECT redirects to. Before it is attached. */
void sv_steering_redirect_to(struct sv_steering *steering, int ifindex);
/*
 * Frames of this receive queue that are ours go to an AF_XDP socket, and SYNs among them to another. In turn, from queue
 * 0 on: those of later queues go to the kernel.
 */
int sv_steering_set_sockets(struct sv_steering *steering, uint32_t queue, int socket, int syns);
/* Longer SYNs are dropped. Before SV_PROGRAM_PLACE is attached. */
void sv_steering_set_longest_syn(struct sv_steering *steering, uint32_t bytes);

/* More SYNs come than are looked at: for a second only a few are let through. At any time, by any thread. */
void sv_steering_limit_syns(struct sv_steering *steering);
/* More comes than is looked at: for a second only a few segments of no connection are let through. As before. */
void sv_steering_limit_strangers(struct sv_steering *steering);
/* How many were not. */
uint64_t sv_steering_dropped_syns(const struct sv_steering *steering);
uint64_t sv_steering_dropped_strangers(const struct sv_steering *steering);
uint64_t sv_steering_long_syns(const struct sv_steering *steering);
/* Frames of ours that the kernel got, as they came by a receive queue without sockets. */
uint64_t sv_steering_unserved(const struct sv_steering *steering);
/* What tells the two apart; whoever sends has it learn. */
const struct sv_connections *sv_steering_connections(const struct sv_steering *steering);

int sv_steering_add(struct sv_steering *steering, const struct sv_rule_spec *spec);
void sv_steering_remove(struct sv_steering *steering, const struct sv_flow *flow);

#endif
