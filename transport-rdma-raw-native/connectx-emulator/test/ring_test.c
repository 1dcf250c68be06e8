/* SPDX-License-Identifier: Apache-2.0 */
/* Frames through the rings, which wrap many times. */
#include "harness.h"

#include <errno.h>

enum { TAG = 0x5a1234, FIRST_SEND = SLOTS / 2 };

struct pair {
    struct world world;
    struct side a;
    struct side b;
    struct ibv_flow *flow;
};

static void pair_open(struct pair *pair)
{
    world_open(&pair->world, "mlx5_0");
    side_open(&pair->world, &pair->a, 0, false);
    side_open(&pair->world, &pair->b, 0, false);
    pair->flow = steer_mac(pair->b.qp, mac_b, TAG);
}

static void pair_close(struct pair *pair)
{
    CHECK_EQ(0, ibv_destroy_flow(pair->flow));
    side_close(&pair->a);
    side_close(&pair->b);
    world_close(&pair->world);
}

static void check_received(struct side *side, unsigned slot, const uint8_t *frame, uint32_t length)
{
    struct ibv_wc wc = next_success(side->cq);
    CHECK_EQ(IBV_WC_RECV, wc.opcode);
    CHECK_EQ(slot, wc.wr_id);
    CHECK_EQ(length, wc.byte_len);
    CHECK_EQ(TAG, wc.qp_num);       /* in a raw receive this is the flow's tag */
    CHECK(memcmp(slot_at(side, slot), frame, length) == 0);
}

static void check_sent(struct side *side, unsigned slot)
{
    struct ibv_wc wc = next_success(side->cq);
    CHECK_EQ(IBV_WC_SEND, wc.opcode);
    CHECK_EQ(slot, wc.wr_id);
}

static void a_frame_is_sent_and_received(void)
{
    struct pair pair;
    uint8_t frame[SLOT_BYTES];
    uint32_t length = build_frame(frame, 17, 1000, 500, 1);
    pair_open(&pair);
    post_receive(&pair.b, 0, SLOT_BYTES);
    post_send(&pair.a, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
    check_sent(&pair.a, FIRST_SEND);
    check_received(&pair.b, 0, frame, length);
    pair_close(&pair);
}

/* Every ring wraps several times, with one doorbell for each frame. */
static void frames_one_by_one(void)
{
    struct pair pair;
    uint8_t frame[SLOT_BYTES];
    pair_open(&pair);
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t length = build_frame(frame, 17, 1000, 18 + i % 1400, i);
        unsigned slot = i % RECEIVES;
        post_receive(&pair.b, slot, SLOT_BYTES);
        post_send(&pair.a, FIRST_SEND + i % SENDS, frame, length, IBV_SEND_SIGNALED);
        check_sent(&pair.a, FIRST_SEND + i % SENDS);
        check_received(&pair.b, slot, frame, length);
    }
    check_quiet(&pair.a);
    check_quiet(&pair.b);
    pair_close(&pair);
}

/* Bursts behind one doorbell, of which only the last frame requests a completion. */
static void frames_in_bursts(void)
{
    struct pair pair;
    uint8_t frames[SENDS][SLOT_BYTES];
    uint32_t lengths[SENDS];
    pair_open(&pair);
    for (uint32_t round = 0; round < 200; round++) {
        struct ibv_sge sges[SENDS];
        struct ibv_send_wr wrs[SENDS];
        struct ibv_send_wr *bad;
        uint32_t burst = 1 + round % SENDS;
        memset(wrs, 0, sizeof wrs);
        for (uint32_t i = 0; i < burst; i++) {
            unsigned slot = FIRST_SEND + i;
            lengths[i] = build_frame(frames[i], 17, 1000, 18 + (round * 7 + i) % 200, round * SENDS + i);
            memcpy(slot_at(&pair.a, slot), frames[i], lengths[i]);
            post_receive(&pair.b, i, SLOT_BYTES);
            sges[i] = (struct ibv_sge){(uintptr_t)slot_at(&pair.a, slot), lengths[i], pair.a.mr->lkey};
            wrs[i] = (struct ibv_send_wr){.wr_id = slot, .sg_list = &sges[i], .num_sge = 1, .opcode = IBV_WR_SEND,
                                          .next = i + 1 < burst ? &wrs[i + 1] : NULL,
                                          .send_flags = i + 1 == burst ? IBV_SEND_SIGNALED : 0};
        }
        CHECK_EQ(0, ibv_post_send(pair.a.qp, wrs, &bad));
        check_sent(&pair.a, FIRST_SEND + burst - 1);
        for (uint32_t i = 0; i < burst; i++)
            check_received(&pair.b, i, frames[i], lengths[i]);
    }
    pair_close(&pair);
}

static void frames_are_gathered_and_scattered(void)
{
    struct pair pair;
    uint8_t frame[SLOT_BYTES];
    pair_open(&pair);
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t length = build_frame(frame, 17, 1000, 600 + i, i);
        memcpy(slot_at(&pair.a, FIRST_SEND), frame, length);
        uint8_t *from = slot_at(&pair.a, FIRST_SEND);
        uint32_t key = pair.a.mr->lkey;
        /* The first element is shorter than the inline header of the request. */
        struct ibv_sge sends[4] = {{(uintptr_t)from, 10, key}, {(uintptr_t)from + 10, 30 + i, key},
                                   {(uintptr_t)from + 40 + i, 1, key},
                                   {(uintptr_t)from + 41 + i, length - 41 - i, key}};
        uint8_t *to = slot_at(&pair.b, 0);
        key = pair.b.mr->lkey;
        struct ibv_sge receives[3] = {{(uintptr_t)to, 7, key}, {(uintptr_t)to + 7, 300, key},
                                      {(uintptr_t)to + 307, SLOT_BYTES - 307, key}};
        struct ibv_recv_wr receive = {.wr_id = 0, .sg_list = receives, .num_sge = 3};
        struct ibv_recv_wr *bad_receive;
        struct ibv_send_wr send = {.wr_id = FIRST_SEND, .sg_list = sends, .num_sge = 4, .opcode = IBV_WR_SEND,
                                   .send_flags = IBV_SEND_SIGNALED};
        struct ibv_send_wr *bad_send;
        CHECK_EQ(0, ibv_post_recv(pair.b.qp, &receive, &bad_receive));
        CHECK_EQ(0, ibv_post_send(pair.a.qp, &send, &bad_send));
        check_sent(&pair.a, FIRST_SEND);
        check_received(&pair.b, 0, frame, length);
    }
    pair_close(&pair);
}

/* Bytes in the request itself, up to the wrap of the ring. */
static void inline_frames_wrap_around_the_ring(void)
{
    struct pair pair;
    uint8_t frame[SLOT_BYTES];
    pair_open(&pair);
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t length = build_frame(frame, 17, 1000, i % 80, i);
        post_receive(&pair.b, 1, SLOT_BYTES);
        post_send(&pair.a, FIRST_SEND, frame, length, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
        memset(slot_at(&pair.a, FIRST_SEND), 0xee, SLOT_BYTES);
        check_sent(&pair.a, FIRST_SEND);
        check_received(&pair.b, 1, frame, length);
    }
    pair_close(&pair);
}

/* A small completion queue wraps with unequal numbers of receives and sends. */
static void a_small_completion_queue_wraps(void)
{
    struct world world;
    struct side side;
    uint8_t frame[SLOT_BYTES];
    uint32_t length = build_frame(frame, 17, 1000, 100, 3);
    world_open(&world, "mlx5_0");
    side_open(&world, &side, 3, false);
    struct ibv_flow *flow = steer_mac(side.qp, mac_b, TAG);
    for (uint32_t i = 0; i < 100; i++) {
        post_receive(&side, 2, SLOT_BYTES);
        post_send(&side, FIRST_SEND, frame, length, i % 3 == 0 ? IBV_SEND_SIGNALED : 0);
        bool received = false, sent = i % 3 != 0;
        while (!received || !sent) {
            struct ibv_wc wc = next_success(side.cq);
            if (wc.opcode == IBV_WC_RECV)
                received = true;
            else
                sent = true;
        }
        CHECK(memcmp(slot_at(&side, 2), frame, length) == 0);
        if (i % 4 == 3) {
            /* A later completion frees the places of unsignalled sends. */
            post_receive(&side, 2, SLOT_BYTES);
            post_send(&side, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
            next_success(side.cq);
            next_success(side.cq);
        }
    }
    CHECK_EQ(0, ibv_destroy_flow(flow));
    side_close(&side);
    world_close(&world);
}

static void each_doorbell_is_traced_and_executed_in_steps(void)
{
    struct pair pair;
    struct ibv_wc wc;
    uint8_t frame[SLOT_BYTES];
    uint32_t length = build_frame(frame, 17, 1000, 100, 3);
    uint32_t done;
    pair_open(&pair);
    CHECK_EQ(0, emulator.set_stepping("mlx5_0", 1));
    for (unsigned i = 0; i < 4; i++) {
        post_receive(&pair.b, i, SLOT_BYTES);
        post_send(&pair.a, FIRST_SEND + i, frame, length, IBV_SEND_SIGNALED);
    }
    CHECK_EQ(0, ibv_poll_cq(pair.a.cq, 1, &wc));
    CHECK_EQ(0, emulator.step("mlx5_0", 3, &done));
    for (unsigned i = 0; i < 3; i++)
        check_sent(&pair.a, FIRST_SEND + i);
    CHECK_EQ(0, ibv_poll_cq(pair.a.cq, 1, &wc));
    CHECK_EQ(0, emulator.step("mlx5_0", 3, &done));
    check_sent(&pair.a, FIRST_SEND + 3);

    /* The last doorbells are of this queue pair: its number is in the second word. */
    struct cxemu_doorbell bells[2];
    uint32_t count = 2;
    CHECK_EQ(0, emulator.trace("mlx5_0", bells, &count));
    CHECK_EQ(2, count);
    for (unsigned i = 0; i < 2; i++) {
        CHECK(bells[i].offset >= 0x800);
        CHECK_EQ(pair.a.qp->qp_num, be32toh((uint32_t)(bells[i].value >> 32)) >> 8);
    }
    CHECK(bells[0].offset != bells[1].offset);      /* alternately the halves of the register */
    CHECK_EQ(0, emulator.set_stepping("mlx5_0", 0));
    for (unsigned i = 0; i < 4; i++)
        check_received(&pair.b, i, frame, length);
    pair_close(&pair);
}

/* libmlx5's description of the rings, from which programs that write them start. */
static void libmlx5_describes_the_rings(void)
{
    struct world world;
    struct side side;
    struct mlx5dv_qp qp = {0};
    struct mlx5dv_cq cq = {0};
    world_open(&world, "mlx5_0");
    side_open(&world, &side, 0, false);
    struct mlx5dv_obj object = {.qp = {.in = side.qp, .out = &qp}, .cq = {.in = side.cq, .out = &cq}};
    CHECK_EQ(0, mlx5dv_init_obj(&object, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ));
    CHECK(qp.sq.wqe_cnt >= SENDS && qp.rq.wqe_cnt >= RECEIVES);
    CHECK_EQ(64, qp.sq.stride);
    CHECK_EQ(256, qp.bf.size);
    CHECK(qp.bf.reg != NULL);
    CHECK_EQ(64, cq.cqe_size);
    CHECK_EQ(64, cq.cqe_cnt);
    CHECK(cq.cq_uar != NULL);
    side_close(&side);
    world_close(&world);
}

const struct test ring_tests[] = {
    {"a frame is sent and received", a_frame_is_sent_and_received},
    {"frames one by one", frames_one_by_one},
    {"frames in bursts", frames_in_bursts},
    {"frames are gathered and scattered", frames_are_gathered_and_scattered},
    {"inline frames wrap around the ring", inline_frames_wrap_around_the_ring},
    {"a small completion queue wraps", a_small_completion_queue_wraps},
    {"each doorbell is traced and executed in steps", each_doorbell_is_traced_and_executed_in_steps},
    {"libmlx5 describes the rings", libmlx5_describes_the_rings},
    {NULL, NULL},
};
