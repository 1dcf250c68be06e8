/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_TEST_WIRE_FIXTURE_H
#define SV_TEST_WIRE_FIXTURE_H

/*
 * Ports on network interfaces, over veth pairs in a network namespace of this process: frames take a moment, so that
 * tests wait for conditions here. Without the permission to make a namespace these tests say so and are left out.
 */

#include "harness.h"

#include <time.h>

struct wire {
    char name[2][16];       /* the interfaces */
    struct world world[2];
    struct side side[2];
};

/* AF_XDP is as before Linux 6.6, in which a frame fits one chunk. */
extern bool kernel_is_old;

bool have_namespace(void);
/* Whether this kernel is Linux 6.6 or newer, where AF_XDP takes frames in several chunks and links hold tc programs. */
bool is_linux_6_6(void);
/* Whether the verifier lets the programs pass without CAP_PERFMON: see sv_explain_verifier(). */
bool is_linux_6_17(void);
/* "packet", "xdp" in generic mode, "xdp" by an interface of our own. */
void for_each_kind(void (*test)(const char *kind));
/* "xdp" in a mode of SOFTVERBS_XDP_MODE; nothing in mode "tap" where the kernel has none. */
void with_xdp_mode(const char *mode, void (*test)(const char *kind));
/* The way to an interface of our own keeps and places frames as the interface's XDP program does. */
#define IN_BOTH_MODES(NAME) \
    static void test_##NAME(void) \
    { \
        if (!have_namespace()) \
            return; \
        NAME("xdp"); \
        with_xdp_mode("tap", NAME); \
    }

/* Waiting has gone on for longer than anything takes. */
bool overdue(struct timespec since);
struct timespec now(void);
void run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A veth pair, without devices on it. */
void link_open(struct wire *wire, unsigned mtu, unsigned queues);
void link_close(struct wire *wire);
/* Puts a device of a kind ("xdp") on either end, and a queue pair each that is ready. */
void wire_open_on(struct wire *wire, const char *kind);
void wire_open_between(struct wire *wire, const char *from, const char *to);
/* Both. */
void wire_open(struct wire *wire, const char *kind, unsigned mtu, unsigned queues);
void wire_close(struct wire *wire);

/* A TCP segment of IPv4 that nobody has cut up yet, as veth carries it between kernels that offload that. */
void send_uncut(const char *interface, const uint8_t *frame, uint32_t length);

struct ibv_flow *udp_rule(struct side *side, uint16_t port);
struct ibv_wc wait_one(struct ibv_cq *cq);

#endif
