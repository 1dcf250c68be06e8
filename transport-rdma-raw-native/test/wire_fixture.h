/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_TEST_WIRE_FIXTURE_H
#define SV_TEST_WIRE_FIXTURE_H

/*
 * Ports on network interfaces, over veth pairs in a network namespace of this process. Frames take a moment, so tests
 * wait for conditions. Without the permission to create a namespace these tests report it and are skipped.
 */

#include "harness.h"

#include <linux/virtio_net.h>

#include <time.h>

struct wire {
    char name[2][16];       /* names of the interfaces */
    struct world world[2];
    struct side side[2];
};

/* Simulates AF_XDP before Linux 6.6, in which a frame has one chunk. */
extern bool kernel_is_old;
/* Driver that veth interfaces report, or NULL: xdp_open_test.c. */
extern const char *reported_driver;
/* Changes the data of recv() and returns its length, or NULL: busy_poll_test.c. */
extern ssize_t (*change_received)(void *data, ssize_t length);
/* Returns the error of binding an AF_XDP socket in any thread, or 0; NULL: none fails. xdp_bind_test.c. */
extern int (*_Atomic error_of_xdp_bind)(int ifindex);
/* Called instead of sleeping by this thread, or NULL. */
extern _Thread_local void (*instead_of_pauses)(void);
/* Returns the error of a call of getsockopt(2) by this thread, or 0; NULL: none fails. */
extern _Thread_local int (*error_of_getsockopt)(int fd, int level, int option);

bool have_namespace(void);
/* Returns true from Linux 6.2 on, where a packet socket sends several datagrams as one packet. */
bool is_linux_6_2(void);
/* Returns true from Linux 6.6 on, where AF_XDP accepts frames in several chunks and links hold tc programs. */
bool is_linux_6_6(void);
/* Returns true if the verifier accepts the programs without CAP_PERFMON: see sv_explain_missing_perfmon(). */
bool is_linux_6_17(void);
/* Runs the test with "packet", with "xdp" in generic mode, and with "xdp" in mode tap. */
void for_each_kind(void (*test)(const char *kind));
/* Runs the test with "xdp" in a mode of SOFTVERBS_XDP_MODE. Skips mode "tap" if the kernel lacks it. */
void with_xdp_mode(const char *mode, void (*test)(const char *kind));
/* Mode tap keeps and places frames as generic mode does. */
#define IN_BOTH_MODES(NAME) \
    static void test_##NAME(void) \
    { \
        if (!have_namespace()) \
            return; \
        NAME("xdp"); \
        with_xdp_mode("tap", NAME); \
    }

/* How long anything may take. SOFTVERBS_TEST_PATIENCE names more seconds for an emulated processor. */
unsigned patience_seconds(void);
/* Returns true if a test has waited for longer than that. */
bool overdue(struct timespec since);
struct timespec now(void);
void run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Creates a veth pair with this number of receive queues and one send queue, without devices on it. */
void link_open(struct wire *wire, unsigned mtu, unsigned queues);
void link_open_with(struct wire *wire, unsigned mtu, unsigned receive_queues, unsigned send_queues);
void link_close(struct wire *wire);
/* Opens a device of a kind ("xdp") on each end, with a queue pair that is ready. */
void wire_open_on(struct wire *wire, const char *kind);
void wire_open_between(struct wire *wire, const char *from, const char *to);
/* Creates the pair and opens the devices. */
void wire_open(struct wire *wire, const char *kind, unsigned mtu, unsigned queues);
void wire_close(struct wire *wire);

/*
 * Sends a packet with this virtio_net header through a packet socket, as a kernel sends packets that it leaves to
 * hardware to complete. Returns false if the kernel refuses the packet.
 */
bool send_with_offload(const char *interface, const struct virtio_net_hdr *offload, const uint8_t *frame,
                       uint32_t length);
/* Sends a TCP segment of IPv4 that has not been cut, as veth carries it between kernels with offloads. */
void send_unsegmented(const char *interface, const uint8_t *frame, uint32_t length);

struct ibv_flow *udp_rule(struct side *side, uint16_t port);
struct ibv_wc wait_one(struct ibv_cq *cq);

#endif
