/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_TEST_HARNESS_H
#define CX_TEST_HARNESS_H

/*
 * Tests of the emulated ConnectX through the system's libibverbs and libmlx5. A test is a function, and the first
 * failure ends the program. The engine runs beside the test, so tests wait for its results, with a limit that only a
 * lost completion reaches.
 */

#include "../../test/check.h"
#include "connectx_emulator.h"

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

extern const struct test ring_tests[], offload_tests[], event_tests[], error_tests[], rss_tests[], compression_tests[],
    striding_tests[], multi_packet_tests[], flow_tests[], wire_tests[], tap_tests[], own_tests[];

/* Returns true if the device's wire is a TAP device of the kernel. */
bool has_tap(void);

/* ---- the emulator's functions, found in the preloaded library ---- */

struct controls {
    int (*query_counters)(const char *device, struct cxemu_counters *counters);
    int (*trace)(const char *device, struct cxemu_doorbell *bells, uint32_t *count);
    int (*set_stepping)(const char *device, int on);
    int (*set_min_inline)(const char *device, uint32_t bytes);
    int (*step)(const char *device, uint32_t requests, uint32_t *done);
    int (*fail_next_completion)(const char *device, uint32_t number, int receive, uint8_t syndrome);
    int (*fail_qp)(const char *device, uint32_t number);
    int (*overrun_cq)(const char *device, uint32_t cqn);
    int (*drop_frames)(const char *device, uint32_t frames);
    int (*duplicate_frames)(const char *device, uint32_t frames);
    int (*set_port_up)(const char *device, int up);
    int (*remove_device)(const char *device);
    int (*restore_device)(const char *device);
    int (*fail_commands)(const char *device, uint32_t command, int error, uint32_t count);
    int (*inject)(const char *device, const void *frame, uint32_t length);
};

extern struct controls emulator;

/* ---- queues ---- */

enum { SLOT_BYTES = 2048, SLOTS = 64, SENDS = 16, RECEIVES = 32, MAX_INLINE = 128, TSO_HEADER = 128 };

struct world {
    struct ibv_context *context;
    struct ibv_pd *pd;
};

struct side {
    struct world *world;
    struct ibv_comp_channel *channel;   /* NULL: none */
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint8_t *memory;                    /* SLOTS slots: receives in the lower half, sends in the upper half */
};

/* The port of the wire, which is the last one of the devices. Set by world_open(). */
extern uint8_t wire_port;
void world_open(struct world *world, const char *device);
void world_close(struct world *world);
/* Opens a queue pair that is ready to send and receive. Its completion queue has `entries` entries; 0: enough. */
void side_open(struct world *world, struct side *side, int entries, bool with_channel);
void side_close(struct side *side);
void to_ready(struct ibv_qp *qp);
int to_state(struct ibv_qp *qp, enum ibv_qp_state state);
enum ibv_qp_state state_of(struct ibv_qp *qp);

uint8_t *slot_at(const struct side *side, unsigned slot);
void post_receive(struct side *side, unsigned slot, uint32_t bytes);
/* Posts a copy of the frame in a slot of the upper half. wr_id is the slot. */
void post_send(struct side *side, unsigned slot, const void *frame, uint32_t length, unsigned flags);
/* Waits for the next completion of any status. */
struct ibv_wc next_completion(struct ibv_cq *cq);
/* Waits for the next completion, which must be a success. */
struct ibv_wc next_success(struct ibv_cq *cq);
/* Waits until all rung requests are executed, and checks that there is no completion. */
void check_quiet(struct side *side);
void await_readable(int fd, const char *what);
struct ibv_async_event next_event(struct ibv_context *context);

/* ---- frames and rules ---- */

extern const uint8_t mac_a[6], mac_b[6];

/*
 * Builds UDP (17) or TCP (6) over IPv4 from a to b with correct checksums and a payload that depends on `seed`. Returns
 * the length.
 */
uint32_t build_frame(uint8_t *frame, uint8_t protocol, uint16_t source_port, uint32_t payload, uint32_t seed);
uint16_t internet_checksum(const void *data, size_t length, uint32_t sum);
struct ibv_flow *steer_mac(struct ibv_qp *qp, const uint8_t *mac, uint32_t tag);
struct ibv_flow *steer_sender(struct ibv_qp *qp, const uint8_t *mac, uint32_t tag, uint16_t priority);

#endif
