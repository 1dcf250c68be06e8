/* SPDX-License-Identifier: Apache-2.0 */
/* States of queue pairs, and failing requests. */
#include "harness.h"

static void states_allow_the_right_operations(void)
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

/* A failed receive completes with its error, the rest is flushed, as are later posts, and RESET recovers the queue. */
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
    CHECK_EQ(0, post_recv_slot(&p.b, 2, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, 0));
    struct ibv_wc wc = poll_one(p.b.cq);
    CHECK_EQ(IBV_WC_LOC_LEN_ERR, wc.status);
    CHECK_EQ(1, wc.wr_id);
    /* The error concerns the frame only: as with mlx5, the queue continues. */
    CHECK_EQ(IBV_QPS_RTS, state_of(p.b.qp));
    CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, 0));
    wc = poll_one(p.b.cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(2, wc.wr_id);
    CHECK_EQ(0, softverbs_query_qp_counters(p.b.qp, NULL, &received));
    CHECK_EQ(1, received.length_errors);
    CHECK_EQ(1, received.frames);
    CHECK_EQ(0, received.flushed);
    pair_close(&p);
}

/* A burst of three: the first frame does not fit, the second one fails the queue, and the third one finds it in ERR. */
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
    struct ibv_recv_wr *bad_receive;
    struct ibv_sge beyond = {(uintptr_t)slot_at(&p.b, SLOTS) - 20, SLOT_BYTES, p.b.mr->lkey};
    struct ibv_recv_wr wrong = {.wr_id = 1, .sg_list = &beyond, .num_sge = 1};
    CHECK_EQ(0, post_recv_slot(&p.b, 0, 20));
    CHECK_EQ(0, ibv_post_recv(p.b.qp, &wrong, &bad_receive));
    CHECK_EQ(0, post_recv_slot(&p.b, 2, SLOT_BYTES));
    CHECK_EQ(0, ibv_post_send(p.a.qp, &first, &bad));
    CHECK_EQ(0, softverbs_query_qp_counters(p.b.qp, NULL, &received));
    CHECK_EQ(0, received.frames);
    CHECK_EQ(1, received.length_errors);
    CHECK_EQ(1, received.protection_errors);
    CHECK_EQ(1, received.not_ready);
    CHECK_EQ(1, received.flushed);
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
    /* A destroyed region. */
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
    CHECK_EQ(IBV_WC_SUCCESS, poll_one(p->b.cq).status);     /* the first one was sent */
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

static void unpolled_receives_of_a_destroyed_queue_are_counted(void)
{
    struct world world;
    struct side a, b;
    struct softverbs_counters counters;
    struct frame_spec spec = default_frame();
    uint8_t frame[2048];
    uint32_t length = build_frame(&spec, frame);
    world_open(&world);
    side_open(&world, &a);
    side_open(&world, &b);
    struct ibv_flow *flow = steer_mac(&b, mac_b);
    CHECK_EQ(0, post_recv_slot(&b, 0, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&a, frame, length, 0));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    side_close(&b);
    CHECK_EQ(0, softverbs_query_counters(world.context, &counters));
    CHECK_EQ(1, counters.received.frames);
    CHECK_EQ(1, counters.received.not_ready);
    side_close(&a);
    world_close(&world);
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

static void moving_to_err_flushes_everything(void)
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

static void reset_removes_completions(void)
{
    struct pair p;
    pair_open(&p);
    CHECK_EQ(0, post_recv_slot(&p.b, 0, SLOT_BYTES));
    CHECK_EQ(0, post_recv_slot(&p.b, 1, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, IBV_SEND_SIGNALED));
    CHECK_EQ(0, to_state(p.b.qp, IBV_QPS_RESET));
    check_empty(p.b.cq);
    CHECK_EQ(IBV_WC_SUCCESS, poll_one(p.a.cq).status);      /* completions of another queue stay */
    pair_close(&p);
}

const struct test queue_error_tests[] = {
    {"states allow the right operations", states_allow_the_right_operations},
    {"no receive posted is counted", no_receive_posted_is_counted},
    {"unpolled receives of a destroyed queue are counted", unpolled_receives_of_a_destroyed_queue_are_counted},
    {"a buffer too small is a length error", a_buffer_too_small_is_a_length_error},
    {"the rest of a failed burst is counted", the_rest_of_a_failed_burst_is_counted},
    {"a receive outside its region is a protection error", a_receive_outside_its_region_is_a_protection_error},
    {"sends are checked against memory and MTU", sends_are_checked_against_memory_and_mtu},
    {"the MTU allows a VLAN tag", the_mtu_allows_a_vlan_tag},
    {"moving to ERR flushes everything", moving_to_err_flushes_everything},
    {"RESET removes completions", reset_removes_completions},
    {NULL, NULL},
};
