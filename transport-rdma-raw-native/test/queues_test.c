/* SPDX-License-Identifier: Apache-2.0 */
/* Posting, sending and receiving. */
#include "harness.h"

static void a_frame_arrives_complete(void)
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

static void frames_of_every_length_arrive_complete(void)
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
        CHECK_EQ(0x5a, slot_at(&p.b, 0)[length]);       /* no byte beyond it has changed */
    }
    pair_close(&p);
}

static void frames_are_gathered_and_scattered(void)
{
    struct pair p;
    struct ibv_recv_wr *bad_recv;
    struct ibv_send_wr *bad_send;
    pair_open(&p);
    struct ibv_sge to[3] = {{(uintptr_t)slot_at(&p.b, 0), 10, p.b.mr->lkey}, {(uintptr_t)slot_at(&p.b, 1), 30,
                                                                              p.b.mr->lkey},
                            {(uintptr_t)slot_at(&p.b, 2), 500, p.b.mr->lkey}};
    struct ibv_recv_wr recv = {.wr_id = 7, .sg_list = to, .num_sge = 3};
    CHECK_EQ(0, ibv_post_recv(p.b.qp, &recv, &bad_recv));
    memcpy(slot_at(&p.a, 0), p.frame, 14);
    memcpy(slot_at(&p.a, 1), p.frame + 14, 21);
    memcpy(slot_at(&p.a, 2), p.frame + 35, p.length - 35);
    struct ibv_sge from[4] = {{(uintptr_t)slot_at(&p.a, 0), 14, p.a.mr->lkey}, {(uintptr_t)slot_at(&p.a, 1), 21,
                                                                                p.a.mr->lkey},
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

/* Slots become free when a later completion is polled, not when the frame has been sent. */
static void send_slots_become_free_by_completion(void)
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

static void receive_slots_become_free_by_completion(void)
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

static void a_list_longer_than_a_burst_is_sent(void)
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

const struct test queue_tests[] = {
    {"a frame arrives complete", a_frame_arrives_complete},
    {"frames of every length arrive complete", frames_of_every_length_arrive_complete},
    {"frames are gathered and scattered", frames_are_gathered_and_scattered},
    {"inline data needs no key", inline_data_needs_no_key},
    {"send slots become free by completion", send_slots_become_free_by_completion},
    {"receive slots become free by completion", receive_slots_become_free_by_completion},
    {"a list stops at the bad request", a_list_stops_at_the_bad_request},
    {"indexes wrap round", indexes_wrap_round},
    {"a list longer than a burst is sent", a_list_longer_than_a_burst_is_sent},
    {NULL, NULL},
};
