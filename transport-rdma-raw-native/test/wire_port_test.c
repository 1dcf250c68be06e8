/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices on network interfaces: frames of unusual length, the kernel's silence, and interfaces that appear and
 * disappear.
 */
#define _GNU_SOURCE
#include "wire_fixture.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { JUMBO_SLOTS = 5, JUMBO_BYTES = JUMBO_SLOTS * SLOT_BYTES, SEND_SLOT = 40, WAITING = 60 };

static struct softverbs_counters counters_of(const struct wire *wire, int end)
{
    struct softverbs_counters counters;
    CHECK_EQ(0, softverbs_query_counters(wire->world[end].context, &counters));
    return counters;
}

/* ---- long frames ---- */

static uint32_t put_jumbo(struct side *side, uint32_t length, uint32_t seed)
{
    struct frame_spec spec = default_frame();
    uint8_t *frame = slot_at(side, SEND_SLOT);
    spec.payload = (uint16_t)(length - 42);
    CHECK_EQ(length, build_frame(&spec, frame));
    for (uint32_t i = 42; i < length; i++)
        frame[i] = (uint8_t)(seed + i * 7 + (i >> 8));
    frame[40] = frame[41] = 0;      /* UDP without a checksum */
    return length;
}

static void send_jumbo(struct side *side, uint32_t length)
{
    struct ibv_sge sge = {(uintptr_t)slot_at(side, SEND_SLOT), length, side->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad;
    CHECK_EQ(0, ibv_post_send(side->qp, &wr, &bad));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(side->cq).status);
}

static void post_jumbo(struct side *side, int elements)
{
    struct ibv_sge sge[4];
    for (int i = 0; i < elements; i++)
        sge[i] = (struct ibv_sge){(uintptr_t)slot_at(side, 0) + (unsigned)(i * JUMBO_BYTES / elements),
                                  (unsigned)(JUMBO_BYTES / elements), side->mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = sge, .num_sge = elements};
    struct ibv_recv_wr *bad;
    CHECK_EQ(0, ibv_post_recv(side->qp, &wr, &bad));
}

/* Around every length at which a frame needs one more chunk, when received (3840 bytes) and when sent (4096). */
static void long_frames_arrive_whole(struct wire *wire)
{
    static const uint32_t lengths[] = {60, 1514, 3839, 3840, 3841, 4095, 4096, 4097, 7680, 7681, 8192, 8193, 9014};
    struct side *from = &wire->side[0], *to = &wire->side[1];
    struct ibv_flow *flow = udp_rule(to, 2000);
    /* Often enough to wrap every ring. */
    for (uint32_t round = 0; round < 120; round++) {
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            uint32_t length = put_jumbo(from, lengths[i], round);
            post_jumbo(to, round % 4 == 3 ? 4 : 1);
            send_jumbo(from, length);
            struct ibv_wc wc = wait_one(to->cq);
            CHECK_EQ(IBV_WC_SUCCESS, wc.status);
            CHECK_EQ(length, wc.byte_len);
            CHECK_EQ(0, memcmp(slot_at(from, SEND_SLOT), slot_at(to, 0), length));
        }
    }
    CHECK_EQ(0, ibv_destroy_flow(flow));
}

/* More of these frames wait than are assembled at a time. */
static void many_long_frames_wait(struct wire *wire)
{
    struct side *from = &wire->side[0], to = wire->side[1];
    struct ibv_qp_init_attr attr = {.send_cq = to.cq, .recv_cq = to.cq, .qp_type = IBV_QPT_RAW_PACKET,
                                    .cap = {.max_send_wr = 1, .max_recv_wr = WAITING, .max_send_sge = 1,
                                            .max_recv_sge = 1}};
    to.qp = ibv_create_qp(to.world->pd, &attr);
    CHECK(to.qp != NULL);
    to_ready(to.qp);
    struct ibv_flow *flow = udp_rule(&to, 2000);
    uint32_t length = put_jumbo(from, 9000, 1);
    for (int i = 0; i < WAITING; i++) {
        post_jumbo(&to, 1);
        send_jumbo(from, length);
    }
    for (int i = 0; i < WAITING; i++) {
        struct ibv_wc wc = wait_one(to.cq);
        CHECK_EQ(IBV_WC_SUCCESS, wc.status);
        CHECK_EQ(length, wc.byte_len);
        CHECK_EQ(0, memcmp(slot_at(from, SEND_SLOT), slot_at(&to, 0), length));
    }
    CHECK_EQ(0, ibv_destroy_flow(flow));
    CHECK_EQ(0, ibv_destroy_qp(to.qp));
}

static bool takes_long_frames(const char *kind)
{
    return strcmp(kind, "xdp") != 0 || is_linux_6_6();
}

static void frames_of_an_mtu_of_9000_arrive_complete(const char *kind)
{
    struct wire wire;
    if (!takes_long_frames(kind))
        return;
    wire_open(&wire, kind, 9000, 1);
    long_frames_arrive_whole(&wire);
    many_long_frames_wait(&wire);
    wire_close(&wire);
}

/* SYNs, which no sender leaves to hardware to cut. */
static void frames_above_the_mtu(const char *kind, unsigned mtu)
{
    static uint8_t frame[32768];
    struct wire wire;
    struct rule rule;
    struct frame_spec spec = default_frame();
    spec.protocol = 6;
    wire_open(&wire, kind, mtu, 1);
    rule_init(&rule, 0);
    rule_ports(&rule, IBV_FLOW_SPEC_TCP, 0, spec.dst_port);
    struct ibv_flow *flow = must_create(&wire.side[1], &rule);
    CHECK_EQ(0, post_recv_slot(&wire.side[1], 0, SLOT_BYTES));
    for (unsigned payload = 10000; payload <= 30000; payload += 10000) {
        spec.payload = (uint16_t)payload;
        uint32_t uncut = build_frame(&spec, frame);
        frame[14 + 20 + 13] |= 0x02;
        send_unsegmented(wire.name[0], frame, uncut);
    }
    spec.payload = 100;
    uint32_t length = build_frame(&spec, frame);
    CHECK_EQ(0, send_frame(&wire.side[0], frame, length, 0));
    struct ibv_wc wc = wait_one(wire.side[1].cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(length, wc.byte_len);
    struct softverbs_counters counters = counters_of(&wire, 1);
    CHECK_EQ(1, counters.received.frames);
    CHECK_EQ(3, counters.received.length_errors + counters.received.gso_flags + counters.received.ring_full);
    CHECK_EQ(IBV_QPS_RTS, state_of(wire.side[1].qp));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
}

static void frames_above_the_mtu_are_counted_and_dropped(const char *kind)
{
    frames_above_the_mtu(kind, 1500);
    if (takes_long_frames(kind))
        frames_above_the_mtu(kind, 9000);
}

/* ---- the kernel's silence ---- */

static void check_kernel_visible(const struct wire *wire, struct ibv_flow *flow, unsigned expected)
{
    CHECK_EQ(expected, counters_of(wire, 1).kernel_visible_rules);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    CHECK_EQ(0, counters_of(wire, 1).kernel_visible_rules);
}

static void rules_that_the_kernel_answers_are_counted(void)
{
    struct wire wire;
    struct rlimit limit;
    if (!have_namespace())
        return;
    CHECK_EQ(0, setenv("SOFTVERBS_PACKET_QUIET", "sockets", 1));
    wire_open(&wire, "packet", 1500, 1);
    check_kernel_visible(&wire, udp_rule(&wire.side[1], 2000), 0);
    check_kernel_visible(&wire, steer_mac(&wire.side[1], mac_b), 1);
    struct sockaddr_in taken = {.sin_family = AF_INET, .sin_port = htons(2001)};
    int holder = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK_EQ(0, bind(holder, (struct sockaddr *)&taken, sizeof taken));
    check_kernel_visible(&wire, udp_rule(&wire.side[1], 2001), 1);
    close(holder);
    check_kernel_visible(&wire, udp_rule(&wire.side[1], 2001), 0);
    /* No descriptors left. */
    CHECK_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
    int next = dup(0);
    close(next);
    struct rlimit none = {(rlim_t)next, limit.rlim_max};
    CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
    struct ibv_flow *flow = udp_rule(&wire.side[1], 2002);
    CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
    check_kernel_visible(&wire, flow, 1);
    CHECK_EQ(0, unsetenv("SOFTVERBS_PACKET_QUIET"));
    wire_close(&wire);
}

/* ---- interfaces that come and go ---- */

static void add_absent(const char *prefix)
{
    for (unsigned i = 0; i < 100; i++) {
        char name[64];
        snprintf(name, sizeof name, "xdp:%s%u", prefix, i);
        CHECK_EQ(0, softverbs_add_device(name));
    }
}

static void names_of_removed_interfaces_are_forgotten(void)
{
    struct wire wire;
    char name[32];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    snprintf(name, sizeof name, "xdp:%s", wire.name[0]);
    CHECK_EQ(0, softverbs_add_device(name));
    struct ibv_device **list = ibv_get_device_list(NULL);
    CHECK(list != NULL);
    link_close(&wire);
    add_absent("svgone");
    CHECK_EQ(EEXIST, softverbs_add_device("xdp:svgone99"));
    CHECK_EQ(EEXIST, softverbs_add_device(name));      /* in a list */
    CHECK_EQ(0, softverbs_add_device("xdp:svgone0"));
    ibv_free_device_list(list);
    add_absent("svleft");
    CHECK_EQ(0, softverbs_add_device(name));
}

static void test_frames_of_an_mtu_of_9000_arrive_complete(void)
{
    for_each_kind(frames_of_an_mtu_of_9000_arrive_complete);
    if (have_namespace())
        with_xdp_mode("native", frames_of_an_mtu_of_9000_arrive_complete);
}

static void test_frames_above_the_mtu_are_counted_and_dropped(void)
{
    for_each_kind(frames_above_the_mtu_are_counted_and_dropped);
}

const struct test wire_port_tests[] = {
    {"wire: frames of an MTU of 9000 arrive complete", test_frames_of_an_mtu_of_9000_arrive_complete},
    {"wire: frames above the MTU are counted and dropped", test_frames_above_the_mtu_are_counted_and_dropped},
    {"wire: rules that the kernel answers for are counted", rules_that_the_kernel_answers_are_counted},
    {"wire: names of removed interfaces are forgotten", names_of_removed_interfaces_are_forgotten},
    {NULL, NULL},
};
