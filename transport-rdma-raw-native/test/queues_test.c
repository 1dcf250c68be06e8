/* SPDX-License-Identifier: Apache-2.0 */
/* Posting, sending, receiving, polling, and what happens when one of them goes wrong. */
#include "harness.h"

struct pair {
    struct world world;
    struct side a;
    struct side b;
    struct ibv_flow *to_b;
    uint8_t frame[2048];
    uint32_t length;
};

static void pair_open(struct pair *pair)
{
    struct frame_spec spec = default_frame();
    world_open(&pair->world);
    side_open(&pair->world, &pair->a);
    side_open(&pair->world, &pair->b);
    pair->to_b = steer_mac(&pair->b, mac_b);
    pair->length = build_frame(&spec, pair->frame);
}

static void pair_close(struct pair *pair)
{
    CHECK_EQ(0, ibv_destroy_flow(pair->to_b));
    side_close(&pair->a);
    side_close(&pair->b);
    world_close(&pair->world);
}

static void a_frame_arrives_whole(void)
{
    struct pair p;
    pair_open(&p);
    CHECK_EQ(0, post_recv_slot(&p.b, 3, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, IBV_SEND_SIGNALED));
    struct ibv_wc wc = poll_one(p.a.cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(IBV_WC_SEND, wc.opcode);
    CHECK_EQ(p.a.qp->qp_num, wc.qp_num);
    wc = poll_one(p.b.cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(IBV_WC_RECV, wc.opcode);
    CHECK_EQ(3, wc.wr_id);
    CHECK_EQ(p.length, wc.byte_len);
    CHECK_EQ(0, wc.qp_num);     /* the flow tag */
    CHECK_EQ(IBV_WC_IP_CSUM_OK, wc.wc_flags);
    CHECK(memcmp(slot_at(&p.b, 3), p.frame, p.length) == 0);
    check_empty(p.a.cq);
    check_empty(p.b.cq);
    pair_close(&p);
}

static void every_length_arrives_whole(void)
{
    struct pair p;
    pair_open(&p);
    for (uint32_t length = 18; length <= 1514; length++) {
        uint8_t frame[1514];
        memcpy(frame, p.frame, 14);
        frame[12] = 0x88;
        frame[13] = 0xb5;
        for (uint32_t i = 14; i < length; i++)
            frame[i] = (uint8_t)(i * 13 + length);
        CHECK(reaches(&p.a, &p.b, frame, length));
        CHECK_EQ(0x5a, slot_at(&p.b, 0)[length]);       /* nothing beyond it was touched */
    }
    pair_close(&p);
}

static void gather_and_scatter(void)
{
    struct pair p;
    struct ibv_recv_wr *bad_recv;
    struct ibv_send_wr *bad_send;
    pair_open(&p);
    struct ibv_sge to[3] = {{(uintptr_t)slot_at(&p.b, 0), 10, p.b.mr->lkey}, {(uintptr_t)slot_at(&p.b, 1), 30, p.b.mr->lkey},
                            {(uintptr_t)slot_at(&p.b, 2), 500, p.b.mr->lkey}};
    struct ibv_recv_wr recv = {.wr_id = 7, .sg_list = to, .num_sge = 3};
    CHECK_EQ(0, ibv_post_recv(p.b.qp, &recv, &bad_recv));
    memcpy(slot_at(&p.a, 0), p.frame, 14);
    memcpy(slot_at(&p.a, 1), p.frame + 14, 21);
    memcpy(slot_at(&p.a, 2), p.frame + 35, p.length - 35);
    struct ibv_sge from[4] = {{(uintptr_t)slot_at(&p.a, 0), 14, p.a.mr->lkey}, {(uintptr_t)slot_at(&p.a, 1), 21, p.a.mr->lkey},
                              {0, 0, 0}, {(uintptr_t)slot_at(&p.a, 2), p.length - 35, p.a.mr->lkey}};
    struct ibv_send_wr send = {.sg_list = from, .num_sge = 4, .opcode = IBV_WR_SEND};
    CHECK_EQ(0, ibv_post_send(p.a.qp, &send, &bad_send));
    struct ibv_wc wc = poll_one(p.b.cq);
    CHECK_EQ(7, wc.wr_id);
    CHECK_EQ(p.length, wc.byte_len);
    CHECK(memcmp(slot_at(&p.b, 0), p.frame, 10) == 0);
    CHECK(memcmp(slot_at(&p.b, 1), p.frame + 10, 30) == 0);
    CHECK(memcmp(slot_at(&p.b, 2), p.frame + 40, p.length - 40) == 0);
    pair_close(&p);
}

static void inline_data_needs_no_key(void)
{
    struct pair p;
    struct ibv_send_wr *bad;
    pair_open(&p);
    struct ibv_sge sge = {(uintptr_t)p.frame, p.length, 0xdeadbeef};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE};
    CHECK_EQ(0, post_recv_slot(&p.b, 0, SLOT_BYTES));
    CHECK_EQ(0, ibv_post_send(p.a.qp, &wr, &bad));
    CHECK_EQ(IBV_WC_SUCCESS, poll_one(p.b.cq).status);
    CHECK(memcmp(slot_at(&p.b, 0), p.frame, p.length) == 0);
    sge.length = 129;
    CHECK_EQ(ENOMEM, ibv_post_send(p.a.qp, &wr, &bad));
    CHECK(bad == &wr);
    pair_close(&p);
}

/* Slots come free when a later completion is polled, not when the frame has left. */
static void send_slots_come_free_by_completion(void)
{
    struct pair p;
    pair_open(&p);
    for (int i = 0; i < 15; i++)
        CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, 0));
    CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, IBV_SEND_SIGNALED));
    CHECK_EQ(ENOMEM, send_frame(&p.a, p.frame, p.length, 0));
    CHECK_EQ(IBV_WC_SUCCESS, poll_one(p.a.cq).status);
    for (int i = 0; i < 16; i++)
        CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, 0));
    CHECK_EQ(ENOMEM, send_frame(&p.a, p.frame, p.length, 0));
    check_empty(p.a.cq);
    CHECK_EQ(0, to_state(p.a.qp, IBV_QPS_RESET));
    to_ready(p.a.qp);
    CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, 0));
    pair_close(&p);
}

static void receive_slots_come_free_by_completion(void)
{
    struct pair p;
    pair_open(&p);
    for (unsigned i = 0; i < 16; i++)
        CHECK_EQ(0, post_recv_slot(&p.b, i, SLOT_BYTES));
    CHECK_EQ(ENOMEM, post_recv_slot(&p.b, 16, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, 0));
    CHECK_EQ(ENOMEM, post_recv_slot(&p.b, 16, SLOT_BYTES));
    CHECK_EQ(0, poll_one(p.b.cq).wr_id);
    CHECK_EQ(0, post_recv_slot(&p.b, 16, SLOT_BYTES));
    pair_close(&p);
}

static void a_list_stops_at_the_bad_request(void)
{
    struct pair p;
    struct ibv_send_wr *bad = NULL;
    struct softverbs_queue_counters sent;
    pair_open(&p);
    memcpy(slot_at(&p.a, 0), p.frame, p.length);
    struct ibv_sge good = {(uintptr_t)slot_at(&p.a, 0), p.length, p.a.mr->lkey};
    struct ibv_sge tiny = {(uintptr_t)slot_at(&p.a, 0), 17, p.a.mr->lkey};
    struct ibv_send_wr third = {.sg_list = &good, .num_sge = 1, .opcode = IBV_WR_SEND};
    struct ibv_send_wr second = {.sg_list = &tiny, .num_sge = 1, .opcode = IBV_WR_SEND, .next = &third};
    struct ibv_send_wr first = {.sg_list = &good, .num_sge = 1, .opcode = IBV_WR_SEND, .next = &second};
    CHECK_EQ(EINVAL, ibv_post_send(p.a.qp, &first, &bad));
    CHECK(bad == &second);
    CHECK_EQ(0, softverbs_query_qp_counters(p.a.qp, &sent, NULL));
    CHECK_EQ(1, sent.frames);
    third.opcode = IBV_WR_RDMA_WRITE;
    CHECK_EQ(EINVAL, ibv_post_send(p.a.qp, &third, &bad));
    third.opcode = IBV_WR_SEND;
    third.num_sge = 5;
    CHECK_EQ(ENOMEM, ibv_post_send(p.a.qp, &third, &bad));
    struct ibv_recv_wr recv = {.sg_list = &good, .num_sge = 5};
    struct ibv_recv_wr *bad_recv = NULL;
    CHECK_EQ(EINVAL, ibv_post_recv(p.b.qp, &recv, &bad_recv));
    CHECK(bad_recv == &recv);
    CHECK_EQ(IBV_QPS_RTS, state_of(p.a.qp));
    pair_close(&p);
}

static void states_allow_what_they_should(void)
{
    struct pair p;
    pair_open(&p);
    CHECK_EQ(0, to_state(p.b.qp, IBV_QPS_RESET));
    CHECK_EQ(EINVAL, post_recv_slot(&p.b, 0, SLOT_BYTES));
    CHECK_EQ(0, to_init(p.b.qp));
    CHECK_EQ(0, post_recv_slot(&p.b, 0, SLOT_BYTES));
    CHECK_EQ(EINVAL, send_frame(&p.b, p.frame, p.length, 0));
    CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, 0));
    check_empty(p.b.cq);        /* posted, but not ready to receive */
    CHECK_EQ(0, to_state(p.b.qp, IBV_QPS_RTR));
    CHECK_EQ(EINVAL, send_frame(&p.b, p.frame, p.length, 0));
    CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, 0));
    CHECK_EQ(IBV_WC_SUCCESS, poll_one(p.b.cq).status);
    struct softverbs_queue_counters received;
    CHECK_EQ(0, softverbs_query_qp_counters(p.b.qp, NULL, &received));
    CHECK_EQ(1, received.not_ready);
    CHECK_EQ(1, received.frames);
    pair_close(&p);
}

static void no_receive_posted_is_counted(void)
{
    struct pair p;
    struct softverbs_counters counters;
    pair_open(&p);
    CHECK_EQ(0, post_recv_slot(&p.b, 0, SLOT_BYTES));
    for (int i = 0; i < 3; i++)
        CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, IBV_SEND_SIGNALED));
    CHECK_EQ(0, softverbs_query_counters(p.world.context, &counters));
    CHECK_EQ(3, counters.sent.frames);
    CHECK_EQ(3 * p.length, counters.sent.bytes);
    CHECK_EQ(1, counters.received.frames);
    CHECK_EQ(2, counters.received.no_receive);
    pair_close(&p);
}

/* What a failed receive does: its own completion, the rest flushed, later posts flushed, recovery through RESET. */
static void check_receive_error(struct pair *p, enum ibv_wc_status status, uint64_t wr_id)
{
    CHECK_EQ(0, post_recv_slot(&p->b, 9, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&p->a, p->frame, p->length, 0));
    struct ibv_wc wc = poll_one(p->b.cq);
    CHECK_EQ(status, wc.status);
    CHECK_EQ(wr_id, wc.wr_id);
    CHECK_EQ(p->b.qp->qp_num, wc.qp_num);
    wc = poll_one(p->b.cq);
    CHECK_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
    CHECK_EQ(9, wc.wr_id);
    CHECK_EQ(IBV_QPS_ERR, state_of(p->b.qp));
    CHECK_EQ(0, post_recv_slot(&p->b, 10, SLOT_BYTES));
    CHECK_EQ(IBV_WC_WR_FLUSH_ERR, poll_one(p->b.cq).status);
    CHECK_EQ(0, send_frame(&p->b, p->frame, p->length, 0));
    CHECK_EQ(IBV_WC_WR_FLUSH_ERR, poll_one(p->b.cq).status);
    CHECK_EQ(0, to_state(p->b.qp, IBV_QPS_RESET));
    to_ready(p->b.qp);
    CHECK(reaches(&p->a, &p->b, p->frame, p->length));
}

static void a_buffer_too_small_is_a_length_error(void)
{
    struct pair p;
    struct softverbs_queue_counters received;
    pair_open(&p);
    CHECK_EQ(0, post_recv_slot(&p.b, 1, p.length - 1));
    check_receive_error(&p, IBV_WC_LOC_LEN_ERR, 1);
    CHECK_EQ(0, softverbs_query_qp_counters(p.b.qp, NULL, &received));
    CHECK_EQ(1, received.length_errors);
    CHECK_EQ(2, received.flushed);
    pair_close(&p);
}

/* A burst of three, of which the first does not fit: the others find a queue in ERR. */
static void the_rest_of_a_failed_burst_is_counted(void)
{
    struct pair p;
    struct ibv_send_wr *bad;
    struct softverbs_queue_counters received;
    pair_open(&p);
    memcpy(slot_at(&p.a, 0), p.frame, p.length);
    struct ibv_sge sge = {(uintptr_t)slot_at(&p.a, 0), p.length, p.a.mr->lkey};
    struct ibv_send_wr third = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
    struct ibv_send_wr second = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .next = &third};
    struct ibv_send_wr first = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .next = &second};
    CHECK_EQ(0, post_recv_slot(&p.b, 0, 20));
    CHECK_EQ(0, post_recv_slot(&p.b, 1, SLOT_BYTES));
    CHECK_EQ(0, post_recv_slot(&p.b, 2, SLOT_BYTES));
    CHECK_EQ(0, ibv_post_send(p.a.qp, &first, &bad));
    CHECK_EQ(0, softverbs_query_qp_counters(p.b.qp, NULL, &received));
    CHECK_EQ(0, received.frames);
    CHECK_EQ(1, received.length_errors);
    CHECK_EQ(2, received.not_ready);
    CHECK_EQ(2, received.flushed);
    pair_close(&p);
}

static void a_receive_outside_its_region_is_a_protection_error(void)
{
    struct pair p;
    struct ibv_recv_wr *bad;
    pair_open(&p);
    struct ibv_sge sge = {(uintptr_t)slot_at(&p.b, SLOTS) - 20, SLOT_BYTES, p.b.mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = 77, .sg_list = &sge, .num_sge = 1};
    CHECK_EQ(0, ibv_post_recv(p.b.qp, &wr, &bad));
    check_receive_error(&p, IBV_WC_LOC_PROT_ERR, 77);
    /* A region without LOCAL_WRITE. */
    struct ibv_mr *read_only = ibv_reg_mr(p.world.pd, p.b.memory, 4096, 0);
    sge = (struct ibv_sge){(uintptr_t)p.b.memory, 2048, read_only->lkey};
    CHECK_EQ(0, ibv_post_recv(p.b.qp, &wr, &bad));
    check_receive_error(&p, IBV_WC_LOC_PROT_ERR, 77);
    /* A region that is gone. */
    CHECK_EQ(0, ibv_dereg_mr(read_only));
    CHECK_EQ(0, ibv_post_recv(p.b.qp, &wr, &bad));
    check_receive_error(&p, IBV_WC_LOC_PROT_ERR, 77);
    pair_close(&p);
}

static void check_send_error(struct pair *p, struct ibv_sge sge, enum ibv_wc_status status)
{
    struct ibv_send_wr *bad;
    memcpy(slot_at(&p->a, 0), p->frame, p->length);
    struct ibv_sge good = {(uintptr_t)slot_at(&p->a, 0), p->length, p->a.mr->lkey};
    struct ibv_send_wr third = {.wr_id = 3, .sg_list = &good, .num_sge = 1, .opcode = IBV_WR_SEND};
    struct ibv_send_wr second = {.wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .next = &third};
    struct ibv_send_wr first = {.wr_id = 1, .sg_list = &good, .num_sge = 1, .opcode = IBV_WR_SEND, .next = &second,
                                .send_flags = IBV_SEND_SIGNALED};
    CHECK_EQ(0, post_recv_slot(&p->b, 0, SLOT_BYTES));
    CHECK_EQ(0, post_recv_slot(&p->a, 5, SLOT_BYTES));
    CHECK_EQ(0, ibv_post_send(p->a.qp, &first, &bad));
    CHECK_EQ(IBV_WC_SUCCESS, poll_one(p->b.cq).status);     /* the first one left */
    check_empty(p->b.cq);
    struct ibv_wc wc = poll_one(p->a.cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(1, wc.wr_id);
    wc = poll_one(p->a.cq);
    CHECK_EQ(status, wc.status);
    CHECK_EQ(2, wc.wr_id);
    bool flushed_send = false, flushed_recv = false;
    for (int i = 0; i < 2; i++) {
        wc = poll_one(p->a.cq);
        CHECK_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
        flushed_send |= wc.wr_id == 3;
        flushed_recv |= wc.wr_id == 5;
    }
    CHECK(flushed_send && flushed_recv);
    CHECK_EQ(IBV_QPS_ERR, state_of(p->a.qp));
    CHECK_EQ(0, to_state(p->a.qp, IBV_QPS_RESET));
    to_ready(p->a.qp);
    CHECK(reaches(&p->a, &p->b, p->frame, p->length));
}

static void sends_are_checked_against_memory_and_mtu(void)
{
    struct pair p;
    struct world other;
    pair_open(&p);
    uint64_t base = (uintptr_t)slot_at(&p.a, 0);
    uint32_t key = p.a.mr->lkey;
    check_send_error(&p, (struct ibv_sge){base, 64, 0x100}, IBV_WC_LOC_PROT_ERR);
    check_send_error(&p, (struct ibv_sge){base, 64, 0}, IBV_WC_LOC_PROT_ERR);
    check_send_error(&p, (struct ibv_sge){base, 64, key + 1}, IBV_WC_LOC_PROT_ERR);
    check_send_error(&p, (struct ibv_sge){base - 1, 64, key}, IBV_WC_LOC_PROT_ERR);
    check_send_error(&p, (struct ibv_sge){base + SLOTS * SLOT_BYTES - 63, 64, key}, IBV_WC_LOC_PROT_ERR);
    check_send_error(&p, (struct ibv_sge){UINT64_MAX - 10, 64, key}, IBV_WC_LOC_PROT_ERR);
    check_send_error(&p, (struct ibv_sge){base, 1515, key}, IBV_WC_LOC_LEN_ERR);
    world_open(&other);
    struct ibv_mr *foreign = ibv_reg_mr(other.pd, p.a.memory, 4096, 0);
    struct ibv_pd *second_pd = ibv_alloc_pd(p.world.context);
    struct ibv_mr *other_pd = ibv_reg_mr(second_pd, p.a.memory, 4096, 0);
    check_send_error(&p, (struct ibv_sge){base, 64, other_pd->lkey}, IBV_WC_LOC_PROT_ERR);
    CHECK_EQ(0, ibv_dereg_mr(other_pd));
    CHECK_EQ(0, ibv_dealloc_pd(second_pd));
    CHECK_EQ(0, ibv_dereg_mr(foreign));
    world_close(&other);
    pair_close(&p);
}

static void the_mtu_allows_a_vlan_tag(void)
{
    struct pair p;
    uint8_t frame[2048];
    struct frame_spec spec = default_frame();
    pair_open(&p);
    spec.payload = 1472;
    CHECK_EQ(1514, build_frame(&spec, frame));
    CHECK(reaches(&p.a, &p.b, frame, 1514));
    spec.vlan = 7;
    CHECK_EQ(1518, build_frame(&spec, frame));
    CHECK(reaches(&p.a, &p.b, frame, 1518));
    CHECK_EQ(EINVAL, softverbs_set_mtu(p.world.context, 9001));
    CHECK_EQ(0, softverbs_set_mtu(p.world.context, 1200));
    CHECK_EQ(0, send_frame(&p.a, frame, 1219, 0));
    CHECK_EQ(IBV_WC_LOC_LEN_ERR, poll_one(p.a.cq).status);
    pair_close(&p);
}

static void to_error_flushes_everything(void)
{
    struct pair p;
    pair_open(&p);
    for (unsigned i = 0; i < 5; i++)
        CHECK_EQ(0, post_recv_slot(&p.b, i, SLOT_BYTES));
    CHECK_EQ(0, to_state(p.b.qp, IBV_QPS_ERR));
    for (unsigned i = 0; i < 5; i++) {
        struct ibv_wc wc = poll_one(p.b.cq);
        CHECK_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
        CHECK_EQ(i, wc.wr_id);
    }
    check_empty(p.b.cq);
    pair_close(&p);
}

static void reset_takes_completions_back(void)
{
    struct pair p;
    pair_open(&p);
    CHECK_EQ(0, post_recv_slot(&p.b, 0, SLOT_BYTES));
    CHECK_EQ(0, post_recv_slot(&p.b, 1, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, IBV_SEND_SIGNALED));
    CHECK_EQ(0, to_state(p.b.qp, IBV_QPS_RESET));
    check_empty(p.b.cq);
    CHECK_EQ(IBV_WC_SUCCESS, poll_one(p.a.cq).status);      /* another queue's stay */
    pair_close(&p);
}

static void indexes_wrap_round(void)
{
    struct pair p;
    pair_open(&p);
    for (int i = 0; i < 70000; i++) {
        CHECK_EQ(0, post_recv_slot(&p.b, (unsigned)i % 16, SLOT_BYTES));
        CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, IBV_SEND_SIGNALED));
        CHECK_EQ(SLOTS - 1, poll_one(p.a.cq).wr_id);
        CHECK_EQ(i % 16, poll_one(p.b.cq).wr_id);
    }
    pair_close(&p);
}

static void a_list_longer_than_a_burst(void)
{
    enum { COUNT = 200 };
    struct world world;
    struct side a, b;
    struct ibv_wc wc;
    static struct ibv_send_wr send[COUNT];
    static struct ibv_recv_wr recv[COUNT];
    static struct ibv_sge to[COUNT];
    struct ibv_send_wr *bad_send;
    struct ibv_recv_wr *bad_recv;
    struct frame_spec spec = default_frame();
    world_open(&world);
    side_open(&world, &a);
    side_open(&world, &b);
    struct ibv_cq *cq = ibv_create_cq(world.context, 2 * COUNT, NULL, NULL, 0);
    struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RAW_PACKET, .sq_sig_all = 1,
                                    .cap = {.max_send_wr = COUNT, .max_recv_wr = COUNT, .max_send_sge = 1,
                                            .max_recv_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(world.pd, &attr);
    to_ready(qp);
    struct side both = {.world = &world, .cq = cq, .qp = qp, .mr = a.mr, .memory = a.memory};
    struct ibv_flow *flow = steer_mac(&both, mac_b);
    uint32_t length = build_frame(&spec, slot_at(&a, 0));
    struct ibv_sge from = {(uintptr_t)slot_at(&a, 0), length, a.mr->lkey};
    for (int i = 0; i < COUNT; i++) {
        to[i] = (struct ibv_sge){(uintptr_t)slot_at(&b, (unsigned)i % SLOTS), SLOT_BYTES, b.mr->lkey};
        recv[i] = (struct ibv_recv_wr){.wr_id = 1000u + (unsigned)i, .sg_list = &to[i], .num_sge = 1,
                                       .next = i + 1 < COUNT ? &recv[i + 1] : NULL};
        send[i] = (struct ibv_send_wr){.wr_id = (unsigned)i, .sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND,
                                       .next = i + 1 < COUNT ? &send[i + 1] : NULL};
    }
    CHECK_EQ(0, ibv_post_recv(qp, recv, &bad_recv));
    CHECK_EQ(0, ibv_post_send(qp, send, &bad_send));
    unsigned sent = 0, received = 0;
    while (ibv_poll_cq(cq, 1, &wc) == 1) {
        CHECK_EQ(IBV_WC_SUCCESS, wc.status);
        if (wc.opcode == IBV_WC_RECV)
            CHECK_EQ(1000 + received++, wc.wr_id);
        else
            CHECK_EQ(sent++, wc.wr_id);
    }
    CHECK_EQ(COUNT, sent);
    CHECK_EQ(COUNT, received);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    CHECK_EQ(0, ibv_destroy_qp(qp));
    CHECK_EQ(0, ibv_destroy_cq(cq));
    side_close(&a);
    side_close(&b);
    world_close(&world);
}

static void extended_polling_reads_fields(void)
{
    struct pair p;
    pair_open(&p);
    struct ibv_cq_init_attr_ex attr = {.cqe = 8, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_FLOW_TAG,
                                       .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
                                       .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED};
    struct ibv_cq_ex *cq = ibv_create_cq_ex(p.world.context, &attr);
    CHECK(cq != NULL);
    struct side side = {.world = &p.world, .cq = ibv_cq_ex_to_cq(cq), .mr = p.b.mr, .memory = p.b.memory};
    side.qp = qp_create(&p.world, side.cq);
    to_ready(side.qp);
    struct rule rule;
    rule_init(&rule, 0);
    rule_eth(&rule, mac_b, NULL, 0, -1);
    rule_tag(&rule, 0x123456);
    struct ibv_flow *flow = must_create(&side, &rule);
    struct ibv_poll_cq_attr poll_attr = {0};
    CHECK_EQ(ENOENT, ibv_start_poll(cq, &poll_attr));
    CHECK_EQ(0, post_recv_slot(&side, 4, SLOT_BYTES));
    CHECK_EQ(0, post_recv_slot(&side, 5, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, 0));
    CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, 0));
    CHECK_EQ(0, ibv_start_poll(cq, &poll_attr));
    CHECK_EQ(4, cq->wr_id);
    CHECK_EQ(IBV_WC_SUCCESS, cq->status);
    CHECK_EQ(IBV_WC_RECV, ibv_wc_read_opcode(cq));
    CHECK_EQ(p.length, ibv_wc_read_byte_len(cq));
    CHECK_EQ(0x123456, ibv_wc_read_flow_tag(cq));
    CHECK_EQ(IBV_WC_IP_CSUM_OK, ibv_wc_read_wc_flags(cq));
    CHECK_EQ(0, ibv_next_poll(cq));
    CHECK_EQ(5, cq->wr_id);
    CHECK_EQ(ENOENT, ibv_next_poll(cq));
    ibv_end_poll(cq);
    attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
    CHECK_FAILS(EOPNOTSUPP, ibv_create_cq_ex(p.world.context, &attr));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    CHECK_EQ(0, ibv_destroy_qp(side.qp));
    CHECK_EQ(0, ibv_destroy_cq(side.cq));
    pair_close(&p);
}

static void a_completion_queue_is_resized_with_its_contents(void)
{
    struct pair p;
    pair_open(&p);
    for (unsigned i = 0; i < 10; i++)
        CHECK_EQ(0, post_recv_slot(&p.b, i, SLOT_BYTES));
    for (unsigned i = 0; i < 10; i++)
        CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, 0));
    CHECK_EQ(EINVAL, ibv_resize_cq(p.b.cq, 3));
    CHECK_EQ(0, ibv_resize_cq(p.b.cq, 12));
    CHECK_EQ(15, p.b.cq->cqe);
    for (unsigned i = 0; i < 10; i++)
        CHECK_EQ(i, poll_one(p.b.cq).wr_id);
    check_empty(p.b.cq);
    pair_close(&p);
}

const struct test queue_tests[] = {
    {"a frame arrives whole", a_frame_arrives_whole},
    {"every length arrives whole", every_length_arrives_whole},
    {"gather and scatter", gather_and_scatter},
    {"inline data needs no key", inline_data_needs_no_key},
    {"send slots come free by completion", send_slots_come_free_by_completion},
    {"receive slots come free by completion", receive_slots_come_free_by_completion},
    {"a list stops at the bad request", a_list_stops_at_the_bad_request},
    {"states allow what they should", states_allow_what_they_should},
    {"no receive posted is counted", no_receive_posted_is_counted},
    {"a buffer too small is a length error", a_buffer_too_small_is_a_length_error},
    {"the rest of a failed burst is counted", the_rest_of_a_failed_burst_is_counted},
    {"a receive outside its region is a protection error", a_receive_outside_its_region_is_a_protection_error},
    {"sends are checked against memory and MTU", sends_are_checked_against_memory_and_mtu},
    {"the MTU allows a VLAN tag", the_mtu_allows_a_vlan_tag},
    {"to ERR flushes everything", to_error_flushes_everything},
    {"RESET takes completions back", reset_takes_completions_back},
    {"indexes wrap round", indexes_wrap_round},
    {"a list longer than a burst", a_list_longer_than_a_burst},
    {"extended polling reads fields", extended_polling_reads_fields},
    {"a completion queue is resized with its contents", a_completion_queue_is_resized_with_its_contents},
    {NULL, NULL},
};
