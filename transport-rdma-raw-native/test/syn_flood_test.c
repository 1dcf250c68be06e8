/* SPDX-License-Identifier: Apache-2.0 */
/* Devices on AF_XDP under a flood of SYNs. */
#define _GNU_SOURCE                         /* sched_setaffinity */
#include "flood_fixture.h"

static void send_segment(struct side *from, uint8_t flags, uint32_t sequence)
{
    uint8_t frame[2048];
    struct frame_spec spec = default_frame();
    spec.protocol = 6;
    spec.dst_port = SYN_PORT;
    uint32_t length = build_frame(&spec, frame);
    frame[TCP_FLAGS] = flags;
    memcpy(frame + TCP_SEQUENCE, &sequence, sizeof sequence);
    CHECK_EQ(0, send_frame(from, frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(from->cq).status);
}

static void flood_open(struct wire *wire, const char *kind, struct ibv_flow **flow)
{
    struct rule rule;
    wire_open(wire, kind, 1500, 1);
    rule_init(&rule, 0);
    rule_ipv4(&rule, NULL, "192.0.2.2");
    rule_ports(&rule, IBV_FLOW_SPEC_TCP, 0, SYN_PORT);
    *flow = must_create(&wire->side[1], &rule);
    CHECK_EQ(0, post_recv_slot(&wire->side[1], 0, SLOT_BYTES));
    for (uint32_t i = 0; i < SYNS; i++)
        send_segment(&wire->side[0], 0x02, i);
    await_lost_syns(wire, SYNS - SYN_RING);
}

/* Nobody has polled until now. The frame that was sent last is received first. */
static void check_first(struct wire *wire, struct ibv_flow *flow, uint8_t flags, uint32_t sequence)
{
    const uint8_t *frame = wire->side[1].memory;
    await_in_main_ring(wire, 1);
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire->side[1].cq).status);
    CHECK_EQ(flags, frame[TCP_FLAGS]);
    CHECK_EQ(0, memcmp(frame + TCP_SEQUENCE, &sequence, sizeof sequence));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(wire);
}

static void syns_leave_room_for_segments(const char *kind)
{
    static const uint8_t others[] = {0x10, 0x12, 0x14, 0x18, 0x04, 0x06};
    for (unsigned i = 0; i < sizeof others; i++) {
        struct wire wire;
        struct ibv_flow *flow;
        if (!have_namespace())
            return;
        flood_open(&wire, kind, &flow);
        send_segment(&wire.side[0], others[i], 77);
        await_in_main_ring(&wire, 1);
        CHECK_EQ(SYNS - SYN_RING, received_by(&wire).syn_ring_full);
        CHECK_EQ(0, received_by(&wire).ring_full);
        check_first(&wire, flow, others[i], 77);
    }
}

/* Returns false if a SYN was repeated too late, as on a busy machine. Then the counts mean nothing. */
static bool repeat_syn(const char *kind)
{
    const double at_once_seconds = 0.6;         /* SV_BPF_SEEN_MIN_AGE */
    struct wire wire;
    struct ibv_flow *flow;
    flood_open(&wire, kind, &flow);
    uint64_t lost = received_by(&wire).syn_ring_full;
    struct timespec start = now();
    bool in_time;
    send_segment(&wire.side[0], 0x02, 77 << 16);
    send_segment(&wire.side[0], 0x02, 77 << 16);
    while ((in_time = is_within(start, at_once_seconds)) && received_by(&wire).syn_ring_full < lost + 2)
        sched_yield();
    wait_until(now(), 1);
    send_segment(&wire.side[0], 0x02, 77 << 16);
    if (!in_time || !is_within(start, REPEATED_SECONDS)) {
        CHECK_EQ(0, ibv_destroy_flow(flow));
        wire_close(&wire);
        return false;
    }
    await_in_main_ring(&wire, 1);
    CHECK_EQ(lost + 2, received_by(&wire).syn_ring_full);
    check_first(&wire, flow, 0x02, 77 << 16);
    return true;
}

/* A client without an answer repeats its SYN after a while. An immediate repetition is not such a sign. */
static void a_repeated_syn_is_admitted(const char *kind)
{
    if (!have_namespace())
        return;
    for (unsigned floods = 1; !repeat_syn(kind); floods++)
        CHECK(floods < MAX_FLOODS);
}

/*
 * Pins the thread, because the limits are per core and a frame is received on the core that has sent it. Returns the
 * previous cores.
 */
static cpu_set_t stay_on_core(void)
{
    cpu_set_t all, one;
    CHECK_EQ(0, sched_getaffinity(0, sizeof all, &all));
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    CHECK_EQ(0, sched_setaffinity(0, sizeof one, &one));
    return all;
}

/* Returns how many SYNs may have been admitted since then, by windows that have begun. */
static uint32_t admitted_since(struct timespec since)
{
    struct timespec at = now();
    int64_t nanos = (at.tv_sec - since.tv_sec) * 1000000000 + (at.tv_nsec - since.tv_nsec);
    return (uint32_t)(((nanos >> SV_BPF_WINDOW_SHIFT) + 2) * SV_BPF_UNKNOWN_PER_WINDOW);
}

static uint32_t syns_produced(const struct sv_xdp_queue *queue)
{
    return __atomic_load_n(queue->syn.rx.producer, __ATOMIC_ACQUIRE);
}

/* Returns false if the limit ended before the SYNs were sent that it should drop, as on a busy machine. */
static bool limit_flood(const char *kind)
{
    struct wire wire;
    struct ibv_flow *flow;
    struct softverbs_queue_counters received;
    uint32_t sent = SYNS;
    flood_open(&wire, kind, &flow);
    struct timespec limited = now();
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire.side[1].cq).status);
    for (received = received_by(&wire); received.copied < SYN_RING; received = received_by(&wire))
        check_empty(wire.side[1].cq);
    const uint64_t before = received.syn_ring_full;
    CHECK_EQ(SYNS - SYN_RING, before);
    const struct sv_xdp_queue *queue = receiving_queue(&wire);
    cpu_set_t cores = stay_on_core();
    struct timespec start = now();
    uint32_t admitted = 0;
    /* If the machine sends no more SYNs than are admitted, nothing is dropped for a while. */
    while (admitted <= admitted_since(start) && admitted < SYN_RING / 2) {
        uint32_t produced = syns_produced(queue);
        struct timespec sending = now();
        send_segment(&wire.side[0], 0x02, sent++);
        do {
            CHECK(!overdue(sending));
            received = received_by(&wire);
        } while (received.syn_ring_full == before && syns_produced(queue) == produced);
        if (received.syn_ring_full > before)
            break;
        admitted++;
    }
    bool is_limited = admitted <= admitted_since(start);
    CHECK(is_limited || !is_within(limited, LIMITED_SECONDS));
    CHECK_EQ(0, sched_setaffinity(0, sizeof cores, &cores));
    struct timespec end = now();
    send_segment(&wire.side[0], 0x10, 0);
    while (received.copied + received.syn_ring_full < sent + 1) {
        CHECK(!overdue(end));
        check_empty(wire.side[1].cq);
        received = received_by(&wire);
    }
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
    return is_limited;
}

/* Once a poll has found the ring full, most SYNs are dropped before it, so it has room again. Each drop is counted. */
static void a_flood_of_syns_is_limited_and_counted(const char *kind)
{
    if (!have_namespace())
        return;
    for (unsigned floods = 1; !limit_flood(kind); floods++)
        CHECK(floods < MAX_FLOODS);
}

enum { LARGE = 60000, SOME_SYNS = 600 };

/*
 * A peer on this host that leaves cutting to others can send a SYN that fills many entries of a ring. It is dropped
 * before the ring, and SYNs after it are received although the ring is more than half full.
 */
static void a_large_syn_delays_no_others(const char *kind)
{
    static uint8_t frame[LARGE + 64];
    struct wire wire;
    struct softverbs_queue_counters received;
    struct frame_spec spec = default_frame();
    wire_open(&wire, kind, is_linux_6_6() ? 9000 : 1500, 1);
    struct ibv_flow *flow = steer_mac(&wire.side[1], mac_b);
    spec.protocol = 6;
    spec.dst_port = SYN_PORT;
    spec.payload = LARGE;
    uint32_t length = build_frame(&spec, frame);
    frame[TCP_FLAGS] = SYN_FLAG;
    send_unsegmented(wire.name[0], frame, length);
    for (uint32_t i = 0; i < SOME_SYNS; i++)
        send_segment(&wire.side[0], SYN_FLAG, i);
    struct timespec start = now();
    do {
        check_empty(wire.side[1].cq);
        received = received_by(&wire);
    } while (received.copied + received.length_errors < SOME_SYNS + 1 && !overdue(start));
    CHECK_EQ(SOME_SYNS, received.copied);
    CHECK_EQ(1, received.length_errors);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
}

static void test_a_large_syn_delays_no_others(void)
{
    if (have_namespace())
        a_large_syn_delays_no_others("xdp");
}

IN_BOTH_MODES(a_flood_of_syns_is_limited_and_counted)
IN_BOTH_MODES(syns_leave_room_for_segments)
IN_BOTH_MODES(a_repeated_syn_is_admitted)

const struct test syn_flood_tests[] = {
    {"xdp: a flood of SYNs is limited and counted", test_a_flood_of_syns_is_limited_and_counted},
    {"xdp: a large SYN delays no others", test_a_large_syn_delays_no_others},
    {"xdp: SYNs leave room for other segments", test_syns_leave_room_for_segments},
    {"xdp: a repeated SYN is admitted", test_a_repeated_syn_is_admitted},
    {NULL, NULL},
};
