/* SPDX-License-Identifier: Apache-2.0 */
/* Work queues, indirection tables and the Toeplitz hash. */
#include "harness.h"

enum { QUEUES = 4 };

/* The key and the vectors of Microsoft's RSS specification ("Verifying the RSS hash calculation"). */
static uint8_t key[40] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
    0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
    0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
    0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

struct rss {
    struct world world;
    struct side from;
    struct ibv_cq *cq;
    struct ibv_wq *wq[QUEUES];
    struct ibv_rwq_ind_table *table;
    struct ibv_qp *qp;
    struct ibv_flow *flow;
};

static void wq_to(struct ibv_wq *wq, enum ibv_wq_state state, int expected)
{
    struct ibv_wq_attr attr = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state};
    CHECK_EQ(expected, ibv_modify_wq(wq, &attr));
}

static struct ibv_qp_init_attr_ex rss_attr(struct rss *rss, uint64_t fields)
{
    return (struct ibv_qp_init_attr_ex){
        .qp_type = IBV_QPT_RAW_PACKET, .pd = rss->world.pd, .rwq_ind_tbl = rss->table,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
        .rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ, .rx_hash_key_len = sizeof key,
                         .rx_hash_key = key, .rx_hash_fields_mask = fields},
    };
}

static void rss_open(struct rss *rss, uint64_t fields)
{
    world_open(&rss->world);
    side_open(&rss->world, &rss->from);
    rss->cq = ibv_create_cq(rss->world.context, 256, NULL, NULL, 0);
    struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 1, .pd = rss->world.pd,
                                    .cq = rss->cq};
    for (int i = 0; i < QUEUES; i++) {
        rss->wq[i] = ibv_create_wq(rss->world.context, &init);
        CHECK(rss->wq[i] != NULL);
        wq_to(rss->wq[i], IBV_WQS_RDY, 0);
    }
    struct ibv_rwq_ind_table_init_attr table = {.log_ind_tbl_size = 2, .ind_tbl = rss->wq};
    rss->table = ibv_create_rwq_ind_table(rss->world.context, &table);
    CHECK(rss->table != NULL);
    struct ibv_qp_init_attr_ex attr = rss_attr(rss, fields);
    rss->qp = ibv_create_qp_ex(rss->world.context, &attr);
    CHECK(rss->qp != NULL);
    struct side side = {.qp = rss->qp};
    rss->flow = steer_mac(&side, mac_b);
}

static void rss_close(struct rss *rss)
{
    CHECK_EQ(EBUSY, ibv_destroy_rwq_ind_table(rss->table));
    CHECK_EQ(0, ibv_destroy_flow(rss->flow));
    CHECK_EQ(0, ibv_destroy_qp(rss->qp));
    CHECK_EQ(EBUSY, ibv_destroy_wq(rss->wq[0]));
    CHECK_EQ(0, ibv_destroy_rwq_ind_table(rss->table));
    for (int i = 0; i < QUEUES; i++)
        CHECK_EQ(0, ibv_destroy_wq(rss->wq[i]));
    CHECK_EQ(0, ibv_destroy_cq(rss->cq));
    side_close(&rss->from);
    world_close(&rss->world);
}

static void post_all(struct rss *rss)
{
    for (unsigned i = 0; i < QUEUES; i++) {
        struct ibv_sge sge = {(uintptr_t)slot_at(&rss->from, i), SLOT_BYTES, rss->from.mr->lkey};
        struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
        struct ibv_recv_wr *bad;
        CHECK_EQ(0, ibv_post_wq_recv(rss->wq[i], &wr, &bad));
    }
}

/* Returns the work queue that receives the frame. The receives of the others stay posted, so the queues are reset. */
static unsigned queue_of(struct rss *rss, const struct frame_spec *spec)
{
    uint8_t frame[2048];
    uint32_t length = build_frame(spec, frame);
    post_all(rss);
    CHECK_EQ(0, send_frame(&rss->from, frame, length, IBV_SEND_SIGNALED));
    poll_one(rss->from.cq);
    struct ibv_wc wc = poll_one(rss->cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(length, wc.byte_len);
    CHECK_EQ(0, wc.wc_flags);       /* never verified on a work queue */
    for (int i = 0; i < QUEUES; i++) {
        wq_to(rss->wq[i], IBV_WQS_RESET, 0);
        wq_to(rss->wq[i], IBV_WQS_RDY, 0);
    }
    return (unsigned)wc.wr_id;
}

static void the_hash_is_the_standard_one(void)
{
    static const struct {
        const char *dst, *src;
        uint16_t dst_port, src_port;
        uint32_t with_ports, without;
    } vectors[] = {
        {"161.142.100.80", "66.9.149.187", 1766, 2794, 0x51ccc178, 0x323e8fc2},
        {"65.69.140.83", "199.92.111.2", 4739, 14230, 0xc626b0ea, 0xd718262a},
        {"12.22.207.184", "24.19.198.95", 38024, 12898, 0x5c2b394a, 0xd2d0a5de},
        {"209.142.163.6", "38.27.205.30", 2217, 48228, 0xafc7327f, 0x82989176},
        {"202.188.127.2", "153.39.163.191", 1303, 44251, 0x10e828a2, 0x5d1809c5},
        {"3ffe:2501:200:3::1", "3ffe:2501:200:1fff::7", 1766, 2794, 0x40207d3d, 0x2cc18cd5},
        {"ff02::1", "3ffe:501:8::260:97ff:fe40:efab", 4739, 14230, 0xdde51bbf, 0x0f0c461c},
        {"fe80::200:f8ff:fe21:67cf", "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 38024, 44251, 0x02d1feef, 0x4b61e985},
    };
    for (int with_ports = 0; with_ports < 2; with_ports++) {
        for (int v6 = 0; v6 < 2; v6++) {
            struct rss rss;
            uint64_t fields = v6 ? IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6
                                 : IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
            if (with_ports)
                fields |= IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP;
            rss_open(&rss, fields);
            for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
                if ((strchr(vectors[i].dst, ':') != NULL) != v6)
                    continue;
                struct frame_spec spec = default_frame();
                spec.dst_ip = vectors[i].dst;
                spec.src_ip = vectors[i].src;
                spec.dst_port = vectors[i].dst_port;
                spec.src_port = vectors[i].src_port;
                spec.protocol = 6;
                uint32_t hash = with_ports ? vectors[i].with_ports : vectors[i].without;
                CHECK_EQ(hash % QUEUES, queue_of(&rss, &spec));
            }
            rss_close(&rss);
        }
    }
}

/* Flows are spread, and each flow stays on its queue, also when frames of several flows alternate. */
static void flows_are_spread_and_stay_on_their_queue(void)
{
    struct rss rss;
    unsigned used[QUEUES] = {0};
    rss_open(&rss, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP);
    for (unsigned flow = 0; flow < 64; flow++) {
        struct frame_spec spec = default_frame();
        spec.src_port = (uint16_t)(5000 + flow);
        unsigned queue = queue_of(&rss, &spec);
        CHECK_EQ(queue, queue_of(&rss, &spec));
        used[queue]++;
    }
    for (int i = 0; i < QUEUES; i++)
        CHECK(used[i] > 0);
    rss_close(&rss);
}

static void frames_without_the_hashed_layer_go_to_the_first_queue(void)
{
    struct rss rss;
    rss_open(&rss, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP);
    for (unsigned i = 0; i < 8; i++) {
        struct frame_spec spec = default_frame();
        spec.src_port = (uint16_t)(5000 + i);
        CHECK_EQ(0, queue_of(&rss, &spec));
    }
    rss_close(&rss);
}

static void an_rss_queue_pair_has_no_queues_of_its_own(void)
{
    struct rss rss;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
    rss_open(&rss, IBV_RX_HASH_SRC_IPV4);
    CHECK_EQ(EOPNOTSUPP, ibv_modify_qp(rss.qp, &attr, IBV_QP_STATE));
    struct ibv_send_wr send = {.opcode = IBV_WR_SEND};
    struct ibv_send_wr *bad_send;
    CHECK_EQ(EINVAL, ibv_post_send(rss.qp, &send, &bad_send));
    struct ibv_recv_wr recv = {0};
    struct ibv_recv_wr *bad_recv;
    CHECK_EQ(EINVAL, ibv_post_recv(rss.qp, &recv, &bad_recv));
    struct ibv_qp_init_attr_ex ex = rss_attr(&rss, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_IPV6);
    CHECK_FAILS(EINVAL, ibv_create_qp_ex(rss.world.context, &ex));
    ex = rss_attr(&rss, IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP);
    CHECK_FAILS(EINVAL, ibv_create_qp_ex(rss.world.context, &ex));
    ex = rss_attr(&rss, IBV_RX_HASH_SRC_IPV4);
    ex.rx_hash_conf.rx_hash_key_len = 39;
    CHECK_FAILS(EINVAL, ibv_create_qp_ex(rss.world.context, &ex));
    ex = rss_attr(&rss, IBV_RX_HASH_SRC_IPV4);
    ex.rx_hash_conf.rx_hash_function = 2;
    CHECK_FAILS(EOPNOTSUPP, ibv_create_qp_ex(rss.world.context, &ex));
    ex = rss_attr(&rss, IBV_RX_HASH_SRC_IPV4);
    ex.cap.max_recv_wr = 1;
    CHECK_FAILS(EINVAL, ibv_create_qp_ex(rss.world.context, &ex));
    struct ibv_rwq_ind_table_init_attr table = {.log_ind_tbl_size = 10, .ind_tbl = rss.wq};
    CHECK_FAILS(EINVAL, ibv_create_rwq_ind_table(rss.world.context, &table));
    rss_close(&rss);
}

static void work_queues_have_states(void)
{
    struct rss rss;
    struct frame_spec spec = default_frame();
    uint8_t frame[2048];
    uint32_t length = build_frame(&spec, frame);
    rss_open(&rss, 0);
    post_all(&rss);
    wq_to(rss.wq[0], IBV_WQS_ERR, 0);
    CHECK_EQ(IBV_WC_WR_FLUSH_ERR, poll_one(rss.cq).status);
    CHECK_EQ(0, send_frame(&rss.from, frame, length, 0));
    check_empty(rss.cq);
    struct softverbs_queue_counters received;
    CHECK_EQ(0, softverbs_query_wq_counters(rss.wq[0], &received));
    CHECK_EQ(1, received.not_ready);
    CHECK_EQ(1, received.flushed);
    wq_to(rss.wq[0], IBV_WQS_RDY, EINVAL);
    wq_to(rss.wq[0], IBV_WQS_RESET, 0);
    CHECK_EQ(IBV_WQS_RESET, rss.wq[0]->state);
    wq_to(rss.wq[0], IBV_WQS_RDY, 0);
    wq_to(rss.wq[1], IBV_WQS_RESET, 0);
    wq_to(rss.wq[1], IBV_WQS_ERR, EINVAL);
    rss_close(&rss);
}

const struct test rss_tests[] = {
    {"the hash is the standard one", the_hash_is_the_standard_one},
    {"flows are spread and stay on their queue", flows_are_spread_and_stay_on_their_queue},
    {"frames without the hashed layer go to the first queue", frames_without_the_hashed_layer_go_to_the_first_queue},
    {"an RSS queue pair has no queues of its own", an_rss_queue_pair_has_no_queues_of_its_own},
    {"work queues have states", work_queues_have_states},
    {NULL, NULL},
};
