/* SPDX-License-Identifier: Apache-2.0 */
/* Devices on AF_XDP with several receive queues, send queues and event loops. */
#include "port_xdp.h"
#include "wire_fixture.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY_QUEUES = 60, MORE_QUEUES = 130, MANY_FLOWS = 500 };

static int packet_socket(const char *interface)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(interface)};
    int fd = socket(AF_PACKET, SOCK_RAW, 0);
    CHECK(fd >= 0);
    CHECK_EQ(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    return fd;
}

static uint64_t seen_by(const struct wire *wire, uint64_t *unserved)
{
    struct softverbs_counters counters;
    CHECK_EQ(0, softverbs_query_counters(wire->world[1].context, &counters));
    *unserved = counters.received.unserved;
    return counters.received.copied + counters.received.unserved;
}

/*
 * Sends SYNs of many flows, which the kernel spreads over all queues. Returns how many the other end's kernel received.
 */
static uint64_t send_syns(struct wire *wire)
{
    uint8_t frame[2048];
    uint64_t unserved;
    int sender = packet_socket(wire->name[0]);
    uint64_t before = seen_by(wire, &unserved);
    uint64_t unserved_before = unserved;
    for (unsigned i = 0; i < MANY_FLOWS; i++) {
        struct frame_spec spec = default_frame();
        spec.protocol = 6;
        spec.src_port = (uint16_t)(10000 + i);
        uint32_t length = build_frame(&spec, frame);
        frame[47] = 2;
        CHECK_EQ(length, send(sender, frame, length, 0));
    }
    CHECK_EQ(0, close(sender));
    struct timespec start = now();
    while (seen_by(wire, &unserved) - before < MANY_FLOWS && !overdue(start))
        check_empty(wire->side[1].cq);
    CHECK_EQ(MANY_FLOWS, seen_by(wire, &unserved) - before);
    return unserved - unserved_before;
}

/* Frames of a queue without sockets go to the kernel and are counted, also if another queue has a socket. */
static void each_frame_of_many_queues_is_counted(const char *kind)
{
    struct wire wire;
    link_open_with(&wire, 1500, MORE_QUEUES, MORE_QUEUES);
    for (int end = 0; end < 2; end++)
        run("ethtool -L %s rx %d tx %d", wire.name[end], MANY_QUEUES, MANY_QUEUES);
    wire_open_on(&wire, kind);
    struct ibv_flow *flow = steer_mac(&wire.side[1], mac_b);
    CHECK_EQ(0, send_syns(&wire));
    /* More queues while the device is open. */
    run("ethtool -L %s rx %d", wire.name[1], MORE_QUEUES);
    run("ethtool -L %s tx %d", wire.name[0], MORE_QUEUES);
    CHECK(send_syns(&wire) > 0);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
}

static void test_each_frame_of_many_queues_is_counted(void)
{
    if (!have_namespace())
        return;
    each_frame_of_many_queues_is_counted("xdp");
}

/* ---- several queues of the interface, several loops ---- */

/* All three numbers differ: loops, receive queues, send queues. */
enum { LOOPS = 2, INTERFACE_QUEUES = 4, SEND_QUEUES = 3, RECEIVES = 512, FLOWS = 64, PER_FLOW = 8, FIRST_PORT = 5000 };

static uint8_t key[40] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
    0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
    0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
    0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* One of the work queues that share a rule, polled by a separate thread. */
struct loop {
    struct ibv_cq *cq;
    struct ibv_wq *wq;
    uint8_t *memory;
    struct ibv_mr *mr;
    _Atomic unsigned *received;     /* by all loops */
    struct timespec start;
    unsigned of_flow[FLOWS];
    bool bad;
};

/* The definition: for each set bit of the input, the 32 bits of the key that start there. */
static uint32_t toeplitz(const uint8_t *input, unsigned bytes)
{
    uint32_t hash = 0;
    for (unsigned bit = 0; bit < bytes * 8; bit++)
        for (unsigned i = 0; (input[bit / 8] & (0x80 >> bit % 8)) && i < 32; i++)
            hash ^= (uint32_t)(key[(bit + i) / 8] >> (7 - (bit + i) % 8) & 1) << (31 - i);
    return hash;
}

static void loop_open(struct loop *loop, struct world *world, _Atomic unsigned *received)
{
    *loop = (struct loop){.received = received, .start = now()};
    struct ibv_wq_attr ready = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY};
    loop->memory = aligned_alloc(4096, RECEIVES * SLOT_BYTES);
    loop->mr = ibv_reg_mr(world->pd, loop->memory, RECEIVES * SLOT_BYTES, IBV_ACCESS_LOCAL_WRITE);
    loop->cq = ibv_create_cq(world->context, RECEIVES, NULL, NULL, 0);
    CHECK(loop->mr != NULL && loop->cq != NULL);
    struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ, .max_wr = RECEIVES, .max_sge = 1, .pd = world->pd,
                                    .cq = loop->cq};
    loop->wq = ibv_create_wq(world->context, &init);
    CHECK(loop->wq != NULL);
    CHECK_EQ(0, ibv_modify_wq(loop->wq, &ready));
    for (unsigned i = 0; i < RECEIVES; i++) {
        struct ibv_sge sge = {(uintptr_t)loop->memory + i * SLOT_BYTES, SLOT_BYTES, loop->mr->lkey};
        struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
        struct ibv_recv_wr *bad;
        CHECK_EQ(0, ibv_post_wq_recv(loop->wq, &wr, &bad));
    }
}

static void loop_close(struct loop *loop)
{
    CHECK_EQ(0, ibv_destroy_wq(loop->wq));
    CHECK_EQ(0, ibv_destroy_cq(loop->cq));
    CHECK_EQ(0, ibv_dereg_mr(loop->mr));
    free(loop->memory);
}

static void *run_loop(void *argument)
{
    struct loop *loop = argument;
    struct ibv_wc wc[16];
    while (*loop->received < FLOWS * PER_FLOW && !overdue(loop->start)) {
        int count = ibv_poll_cq(loop->cq, 16, wc);
        for (int i = 0; i < count; i++) {
            const uint8_t *frame = loop->memory + wc[i].wr_id * SLOT_BYTES;
            unsigned flow = ((unsigned)frame[34] << 8 | frame[35]) - FIRST_PORT;
            if (wc[i].status != IBV_WC_SUCCESS || flow >= FLOWS)
                loop->bad = true;
            else
                loop->of_flow[flow]++;
            ++*loop->received;
        }
    }
    return NULL;
}

/* Sends from one queue pair for each queue of the interface. */
static void send_all(struct wire *wire)
{
    struct side *from = &wire->side[0];
    struct ibv_qp *first = from->qp;
    struct ibv_qp *senders[INTERFACE_QUEUES];
    for (unsigned i = 0; i < INTERFACE_QUEUES; i++) {
        senders[i] = qp_create(&wire->world[0], from->cq);
        to_ready(senders[i]);
    }
    for (unsigned i = 0; i < FLOWS * PER_FLOW; i++) {
        uint8_t frame[2048];
        struct frame_spec spec = default_frame();
        spec.src_port = (uint16_t)(FIRST_PORT + i % FLOWS);
        uint32_t length = build_frame(&spec, frame);
        from->qp = senders[i / FLOWS % INTERFACE_QUEUES];
        CHECK_EQ(0, send_frame(from, frame, length, IBV_SEND_SIGNALED));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(from->cq).status);
    }
    for (unsigned i = 0; i < INTERFACE_QUEUES; i++)
        CHECK_EQ(0, ibv_destroy_qp(senders[i]));
    from->qp = first;
}

static void check_spread(const struct loop *loops)
{
    for (unsigned flow = 0; flow < FLOWS; flow++) {
        unsigned port = FIRST_PORT + flow;
        const uint8_t input[12] = {192, 0, 2, 1, 192, 0, 2, 2, (uint8_t)(port >> 8), (uint8_t)port, 2000 >> 8,
                                   2000 & 255};
        unsigned expected = toeplitz(input, sizeof input) % LOOPS;
        CHECK_EQ(PER_FLOW, loops[expected].of_flow[flow]);
    }
}

static void frames_are_spread_over_loops(const char *kind)
{
    struct wire wire;
    struct loop loops[LOOPS];
    pthread_t threads[LOOPS];
    _Atomic unsigned received = 0;
    link_open_with(&wire, 1500, INTERFACE_QUEUES, SEND_QUEUES);
    wire_open_on(&wire, kind);
    struct world *world = &wire.world[1];
    for (int i = 0; i < LOOPS; i++)
        loop_open(&loops[i], world, &received);
    struct ibv_wq *queues[LOOPS] = {loops[0].wq, loops[1].wq};
    struct ibv_rwq_ind_table_init_attr entries = {.log_ind_tbl_size = 1, .ind_tbl = queues};
    struct ibv_rwq_ind_table *table = ibv_create_rwq_ind_table(world->context, &entries);
    CHECK(table != NULL);
    struct ibv_qp_init_attr_ex attr = {
        .qp_type = IBV_QPT_RAW_PACKET, .pd = world->pd, .rwq_ind_tbl = table,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
        .rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ, .rx_hash_key_len = sizeof key,
                         .rx_hash_key = key,
                         .rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
                                                IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP},
    };
    struct side spread = {.qp = ibv_create_qp_ex(world->context, &attr)};
    CHECK(spread.qp != NULL);
    struct ibv_flow *flow = udp_rule(&spread, 2000);
    for (int i = 0; i < LOOPS; i++)
        CHECK_EQ(0, pthread_create(&threads[i], NULL, run_loop, &loops[i]));
    send_all(&wire);
    for (int i = 0; i < LOOPS; i++)
        CHECK_EQ(0, pthread_join(threads[i], NULL));
    CHECK_EQ(FLOWS * PER_FLOW, received);
    CHECK(!loops[0].bad && !loops[1].bad);
    check_spread(loops);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    CHECK_EQ(0, ibv_destroy_qp(spread.qp));
    CHECK_EQ(0, ibv_destroy_rwq_ind_table(table));
    for (int i = 0; i < LOOPS; i++)
        loop_close(&loops[i]);
    wire_close(&wire);
}

/* In native mode the frames arrive through all queues of a veth. */
static void test_spread(void)
{
    if (!have_namespace())
        return;
    frames_are_spread_over_loops("xdp");
    with_xdp_mode("native", frames_are_spread_over_loops);
    with_xdp_mode("tap", frames_are_spread_over_loops);
}

/* ---- interfaces with fewer send queues than receive queues ---- */

enum { SENDERS = 5, PER_SENDER = 8 };

/* Returns the counters of an interface's device: frames sent and received. */
static struct softverbs_counters counters_of(struct wire *wire, int end)
{
    struct softverbs_counters counters;
    CHECK_EQ(0, softverbs_query_counters(wire->world[end].context, &counters));
    return counters;
}

/* Sends from several queue pairs, and waits until all frames that count as sent have arrived. */
static void send_from_all(struct wire *wire)
{
    struct side *from = &wire->side[0];
    struct ibv_qp *first = from->qp;
    struct ibv_qp *senders[SENDERS];
    struct ibv_flow *flow = udp_rule(&wire->side[1], 2000);
    uint64_t arrived = 0;
    for (unsigned i = 0; i < SENDERS; i++) {
        senders[i] = qp_create(&wire->world[0], from->cq);
        to_ready(senders[i]);
    }
    for (unsigned i = 0; i < SENDERS * PER_SENDER; i++) {
        uint8_t frame[2048];
        struct frame_spec spec = default_frame();
        uint32_t length = build_frame(&spec, frame);
        from->qp = senders[i % SENDERS];
        CHECK_EQ(0, post_recv_slot(&wire->side[1], 0, SLOT_BYTES));
        CHECK_EQ(0, send_frame(from, frame, length, IBV_SEND_SIGNALED));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(from->cq).status);
        uint64_t sent = counters_of(wire, 0).sent.frames;
        for (; arrived < sent; arrived++)
            CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire->side[1].cq).status);
    }
    CHECK_EQ(arrived, counters_of(wire, 1).received.frames);
    for (unsigned i = 0; i < SENDERS; i++)
        CHECK_EQ(0, ibv_destroy_qp(senders[i]));
    from->qp = first;
    CHECK_EQ(0, ibv_destroy_flow(flow));
}

/* Neither number equals that of the queue pairs, nor on every host that of its processors. */
static void frames_leave_by_the_send_queues_that_exist(const char *kind)
{
    static const unsigned queues[][2] = {{4, 1}, {3, 2}, {8, 3}, {1, 1}, {1, 3}};
    const char *mode = getenv("SOFTVERBS_XDP_MODE");
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        /* veth has no native mode for this. */
        if (queues[i][0] < queues[i][1] && mode != NULL && strcmp(mode, "native") == 0)
            continue;
        struct wire wire;
        link_open_with(&wire, 1500, queues[i][0], queues[i][1]);
        wire_open_on(&wire, kind);
        send_from_all(&wire);
        struct softverbs_queue_counters sent = counters_of(&wire, 0).sent;
        CHECK_EQ(SENDERS * PER_SENDER, sent.frames);
        CHECK_EQ(0, sent.ring_full + sent.unserved);
        wire_close(&wire);
    }
}

/* Makes the port behave as if the interface had had four send queues when the device was opened. It has one. */
static void pretend_four_send_queues(struct wire *wire)
{
    const struct sv_device *device = (const struct sv_device *)(const void *)wire->world[0].context->device;
    struct xdp_port *port = device->port;
    CHECK_EQ(1, atomic_exchange(&port->leg[0].send_queue_count, 4));
    for (uint32_t i = 0; i < 4; i++)
        atomic_store(&port->queue[i]->can_send, true);
}

/* Only the first frame of a queue that is gone is lost, and it is counted with its reason. */
static void a_send_queue_that_disappears_is_counted(const char *kind)
{
    struct wire wire;
    link_open_with(&wire, 1500, 4, 1);
    wire_open_on(&wire, kind);
    pretend_four_send_queues(&wire);
    send_from_all(&wire);
    struct softverbs_queue_counters sent = counters_of(&wire, 0).sent;
    CHECK(sent.unserved >= 1 && sent.unserved <= 3);
    CHECK_EQ(SENDERS * PER_SENDER, sent.frames + sent.unserved);
    CHECK_EQ(0, sent.ring_full);
    wire_close(&wire);
}

static void test_a_send_queue_that_disappears_is_counted(void)
{
    if (have_namespace())
        a_send_queue_that_disappears_is_counted("xdp");
}

static void test_only_existing_send_queues_are_used(void)
{
    if (!have_namespace())
        return;
    frames_leave_by_the_send_queues_that_exist("packet");
    frames_leave_by_the_send_queues_that_exist("xdp");
    with_xdp_mode("native", frames_leave_by_the_send_queues_that_exist);
    with_xdp_mode("tap", frames_leave_by_the_send_queues_that_exist);
}

const struct test xdp_spread_tests[] = {
    {"xdp: only existing send queues are used", test_only_existing_send_queues_are_used},
    {"xdp: a send queue that disappears is counted", test_a_send_queue_that_disappears_is_counted},
    {"xdp: each frame of many queues is counted", test_each_frame_of_many_queues_is_counted},
    {"xdp: frames of all queues are spread over loops by the hash", test_spread},
    {NULL, NULL},
};
