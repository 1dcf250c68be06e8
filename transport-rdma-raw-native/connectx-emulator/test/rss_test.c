/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs that spread frames over work queues by a hash. */
#include "harness.h"

enum { QUEUES = 4, RECEIVES_EACH = 8, FLOWS = 32, FIRST_SEND = SLOTS / 2 };

struct spread {
    struct ibv_cq *cqs[QUEUES];
    struct ibv_wq *wqs[QUEUES];
    struct ibv_rwq_ind_table *table;
    struct ibv_qp *qp;
};

static void post_receives(struct side *side, struct ibv_wq *wq, unsigned queue)
{
    struct ibv_sge sge = {.length = SLOT_BYTES, .lkey = side->mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;
    for (unsigned i = 0; i < RECEIVES_EACH; i++) {
        wr.wr_id = queue * RECEIVES_EACH + i;
        sge.addr = (uintptr_t)slot_at(side, (unsigned)wr.wr_id);
        CHECK_EQ(0, ibv_post_wq_recv(wq, &wr, &bad));
    }
}

static void spread_open(struct side *side, struct spread *spread)
{
    static uint8_t key[40] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
                              0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
                              0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
    struct ibv_context *context = side->world->context;
    for (unsigned i = 0; i < QUEUES; i++) {
        spread->cqs[i] = ibv_create_cq(context, 64, NULL, NULL, 0);
        CHECK(spread->cqs[i] != NULL);
        struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ, .max_wr = RECEIVES_EACH, .max_sge = 1,
                                        .pd = side->world->pd, .cq = spread->cqs[i]};
        spread->wqs[i] = ibv_create_wq(context, &init);
        CHECK(spread->wqs[i] != NULL);
        struct ibv_wq_attr ready = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY};
        CHECK_EQ(0, ibv_modify_wq(spread->wqs[i], &ready));
        post_receives(side, spread->wqs[i], i);
    }
    struct ibv_rwq_ind_table_init_attr table = {.log_ind_tbl_size = 2, .ind_tbl = spread->wqs};
    spread->table = ibv_create_rwq_ind_table(context, &table);
    CHECK(spread->table != NULL);
    struct ibv_qp_init_attr_ex qp = {
        .qp_type = IBV_QPT_RAW_PACKET, .pd = side->world->pd, .rwq_ind_tbl = spread->table,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
        .rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ, .rx_hash_key_len = sizeof key,
                         .rx_hash_key = key,
                         .rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
                                                IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP},
    };
    spread->qp = ibv_create_qp_ex(context, &qp);
    CHECK(spread->qp != NULL);
}

static void spread_close(struct spread *spread)
{
    CHECK_EQ(0, ibv_destroy_qp(spread->qp));
    CHECK_EQ(0, ibv_destroy_rwq_ind_table(spread->table));
    for (unsigned i = 0; i < QUEUES; i++) {
        CHECK_EQ(0, ibv_destroy_wq(spread->wqs[i]));
        CHECK_EQ(0, ibv_destroy_cq(spread->cqs[i]));
    }
}

/* Returns the queue that received the only frame, and checks that the frame is complete. */
static unsigned receiving_queue(struct side *side, struct spread *spread, const uint8_t *frame, uint32_t length)
{
    for (;;) {
        for (unsigned i = 0; i < QUEUES; i++) {
            struct ibv_wc wc;
            if (ibv_poll_cq(spread->cqs[i], 1, &wc) == 0)
                continue;
            CHECK_EQ(IBV_WC_SUCCESS, wc.status);
            CHECK_EQ(length, wc.byte_len);
            CHECK_EQ(i, wc.wr_id / RECEIVES_EACH);
            CHECK(memcmp(slot_at(side, (unsigned)wc.wr_id), frame, length) == 0);
            struct ibv_sge sge = {(uintptr_t)slot_at(side, (unsigned)wc.wr_id), SLOT_BYTES, side->mr->lkey};
            struct ibv_recv_wr wr = {.wr_id = wc.wr_id, .sg_list = &sge, .num_sge = 1};
            struct ibv_recv_wr *bad;
            CHECK_EQ(0, ibv_post_wq_recv(spread->wqs[i], &wr, &bad));
            return i;
        }
    }
}

static void flows_are_spread_and_stay_on_their_queue(void)
{
    struct world world;
    struct side side;
    struct spread spread;
    uint8_t frame[SLOT_BYTES];
    unsigned queue_of[FLOWS];
    unsigned used = 0;
    world_open(&world, "mlx5_0");
    side_open(&world, &side, 0, false);
    spread_open(&side, &spread);
    struct ibv_flow *flow = steer_mac(spread.qp, mac_b, 1);
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < FLOWS; i++) {
            uint32_t length = build_frame(frame, 17, (uint16_t)(1000 + i), 50 + round, round * FLOWS + i);
            post_send(&side, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
            next_success(side.cq);
            unsigned queue = receiving_queue(&side, &spread, frame, length);
            if (round == 0)
                queue_of[i] = queue;
            CHECK_EQ(queue_of[i], queue);
            used |= 1u << queue;
        }
    }
    CHECK_EQ((1u << QUEUES) - 1, used);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    spread_close(&spread);
    side_close(&side);
    world_close(&world);
}

const struct test rss_tests[] = {
    {"flows are spread and stay on their queue", flows_are_spread_and_stay_on_their_queue},
    {NULL, NULL},
};
