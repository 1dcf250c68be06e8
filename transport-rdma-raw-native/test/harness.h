/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_TEST_HARNESS_H
#define SV_TEST_HARNESS_H

/*
 * A test is a function. Each test has a new device, so that it does not see the rules of other tests. The loop device
 * delivers within post_send, so tests on it need not wait.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "softverbs.h"

/* Checks that the call returns NULL and sets this errno. */
#define CHECK_FAILS(error, call) \
    do { \
        errno = 0; \
        CHECK((call) == NULL); \
        CHECK_EQ(error, errno); \
    } while (0)

extern const struct test object_tests[], queue_tests[], queue_error_tests[], completion_tests[], flow_tests[],
    flow_search_tests[], rss_tests[], event_tests[], fault_tests[], offload_tests[], thread_tests[], wire_tests[],
    wire_port_tests[], guard_tests[], link_tests[], netlink_tests[], event_source_tests[], event_source_threads_tests[],
    large_send_tests[], xdp_open_tests[],
    xdp_spread_tests[], xdp_pause_tests[], xdp_frames_tests[], xdp_drain_tests[], xdp_send_tests[],
    xdp_counters_tests[],
    xdp_bind_tests[], xdp_threads_tests[], syn_flood_tests[], segment_flood_tests[], gso_frame_tests[],
    gso_frame_fuzz_tests[],
    packet_offload_tests[], other_program_tests[], packet_stall_tests[], xdp_mode_tests[], xdp_virtio_tests[],
    busy_poll_tests[], broker_policy_tests[], broker_tests[], broker_rules_tests[], broker_resume_tests[],
    broker_passed_tests[], broker_device_tests[], broker_session_tests[], broker_client_tests[],
    broker_storm_tests[], broker_late_tests[], broker_reasons_tests[],
    broker_adversary_tests[], broker_confinement_tests[], broker_answers_tests[], refusal_tests[], verifier_tests[],
    verdict_cache_tests[], gso_receive_tests[], vlan_tests[], bond_tests[], bond_legs_tests[];

/* Set by a test that simulates the kernel or has threads: stops that before the next test. */
extern void (*after_failure)(void);

/* ---- a device and queue pairs on it ---- */

enum { SLOT_BYTES = 2048, SLOTS = 64 };

struct world {
    char device_name[64];
    struct ibv_context *context;
    struct ibv_pd *pd;
};

struct side {
    struct world *world;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint8_t *memory;        /* SLOTS slots; tests send from the upper half */
};

void world_open(struct world *world);
void world_close(struct world *world);
struct ibv_device *find_device(const char *name);

/* Opens a queue pair that is ready to send and receive: 16 sends, 16 receives, up to 4 elements, 128 bytes inline. */
void side_open(struct world *world, struct side *side);
/* Creates such a queue pair in RESET, on an existing completion queue. */
struct ibv_qp *qp_create(struct world *world, struct ibv_cq *cq);
void side_close(struct side *side);
int to_init(struct ibv_qp *qp);
int to_state(struct ibv_qp *qp, enum ibv_qp_state state);
void to_ready(struct ibv_qp *qp);
enum ibv_qp_state state_of(struct ibv_qp *qp);

int post_recv_slot(struct side *side, unsigned slot, uint32_t length);
uint8_t *slot_at(struct side *side, unsigned slot);
/* Sends a copy of the frame. wr_id is the slot of the copy. */
int send_frame(struct side *side, const void *frame, uint32_t length, unsigned flags);
/* Polls one completion. Fails the test if there is none. */
struct ibv_wc poll_one(struct ibv_cq *cq);
void check_empty(struct ibv_cq *cq);
/* Sends unsignalled. Returns true if the other side received the frame, and returns the slot to the queue. */
bool reaches(struct side *from, struct side *to, const void *frame, uint32_t length);

/* Returns the next number of a fixed pseudo-random sequence (xorshift64). */
uint32_t random_number(void);

/* ---- frames ---- */

struct frame_spec {
    uint8_t dst[6];
    uint8_t src[6];
    int vlan;               /* -1: none */
    const char *src_ip;
    const char *dst_ip;     /* IPv6 if it contains a colon */
    uint8_t protocol;
    uint16_t src_port;
    uint16_t dst_port;
    uint16_t payload;
    uint16_t fragment;      /* flags and offset of the IPv4 header */
};

extern const uint8_t mac_a[6], mac_b[6], mac_broadcast[6], mac_multicast[6];

/* Returns UDP from a to b, 192.0.2.1:1000 to 192.0.2.2:2000, with 32 bytes of payload. */
struct frame_spec default_frame(void);
/* Builds the frame with correct checksums. Returns its length. */
uint32_t build_frame(const struct frame_spec *spec, uint8_t *frame);
uint16_t internet_checksum(const void *data, size_t length, uint32_t sum);

/* ---- rules ---- */

struct rule {
    struct ibv_flow_attr attr;
    uint8_t specs[512];
};

void rule_init(struct rule *rule, uint16_t priority);
void *rule_add(struct rule *rule, uint32_t type, uint16_t size);
/* NULL: not matched. ether_type and vlan are in host order; 0 and -1: not matched. */
void rule_eth(struct rule *rule, const uint8_t *dst, const uint8_t *src, uint16_t ether_type, int vlan);
void rule_ipv4(struct rule *rule, const char *src, const char *dst);
void rule_ipv6(struct rule *rule, const char *src, const char *dst);
void rule_ports(struct rule *rule, enum ibv_flow_spec_type type, uint16_t src, uint16_t dst);
void rule_tag(struct rule *rule, uint32_t tag);
struct ibv_flow *must_create(struct side *side, struct rule *rule);
/* Steers all frames to a MAC address. */
struct ibv_flow *steer_mac(struct side *side, const uint8_t *mac);

/* ---- two queue pairs of a device ---- */

struct pair {
    struct world world;
    struct side a;
    struct side b;
    struct ibv_flow *to_b;
    uint8_t frame[2048];    /* from a to b */
    uint32_t length;
};

void pair_open(struct pair *pair);
void pair_close(struct pair *pair);

#endif
