/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues: extended polling, resizing. */
#include "harness.h"

#include "objects.h"

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

/* An allocator with memory tagging returns such addresses. The queue is found by the whole address. */
static void tagged_addresses_are_kept(void)
{
    static struct sv_wr_ring wr_ring;
    for (uint64_t tag = 0; tag < 16; tag++) {
        uint64_t address = tag << 56 | ((uint64_t)(uintptr_t)&wr_ring & 0x0000ffffffffffffu);
        CHECK(sv_address_pack(address) >> 48 == 0);
        CHECK(sv_address_unpack(sv_address_pack(address)) == address);
    }
}

const struct test completion_tests[] = {
    {"tagged addresses are kept", tagged_addresses_are_kept},
    {"extended polling reads fields", extended_polling_reads_fields},
    {"a completion queue is resized with its contents", a_completion_queue_is_resized_with_its_contents},
    {NULL, NULL},
};
