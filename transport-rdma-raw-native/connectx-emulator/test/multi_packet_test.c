/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enhanced multi-packet requests. libmlx5 builds none for raw packets, so the test writes them to its ring instead of
 * libmlx5's requests.
 */
#include "harness.h"

#include <endian.h>
#include <stdatomic.h>

enum {
    FIRST_SEND = SLOTS / 2,
    OPCODE = 0x29,
    UNIT_BYTES = 16,
    BLOCK_UNITS = 4,
    MAX_FRAMES = RECEIVES,
    CHECKSUMS = MLX5_ETH_WQE_L3_CSUM | MLX5_ETH_WQE_L4_CSUM,
};

struct sender {
    struct world world;
    struct side side;
    struct ibv_flow *flow;
    struct mlx5dv_qp qp;
    uint16_t producer;
    unsigned bells;
    unsigned units;                 /* of the request that is being written */
};

static void sender_open(struct sender *sender)
{
    memset(sender, 0, sizeof *sender);
    world_open(&sender->world, "mlx5_0");
    side_open(&sender->world, &sender->side, 0, false);
    sender->flow = steer_mac(sender->side.qp, mac_b, 1);
    struct mlx5dv_obj object = {.qp = {.in = sender->side.qp, .out = &sender->qp}};
    CHECK_EQ(0, mlx5dv_init_obj(&object, MLX5DV_OBJ_QP));
}

static void sender_close(struct sender *sender)
{
    CHECK_EQ(0, ibv_destroy_flow(sender->flow));
    side_close(&sender->side);
    world_close(&sender->world);
}

static uint8_t *unit_at(const struct sender *sender, unsigned index)
{
    unsigned units = sender->qp.sq.wqe_cnt * BLOCK_UNITS;
    return (uint8_t *)sender->qp.sq.buf + (sender->producer * BLOCK_UNITS + index) % units * UNIT_BYTES;
}

static void begin(struct sender *sender, uint8_t checksums)
{
    struct mlx5_wqe_eth_seg eth = {.cs_flags = checksums};
    memcpy(unit_at(sender, 1), &eth, UNIT_BYTES);
    sender->units = 2;
}

static void point_to(struct sender *sender, const void *frame, uint32_t length)
{
    struct mlx5_wqe_data_seg segment = {htobe32(length), htobe32(sender->side.mr->lkey), htobe64((uintptr_t)frame)};
    memcpy(unit_at(sender, sender->units++), &segment, sizeof segment);
}

static void hold(struct sender *sender, const void *frame, uint32_t length)
{
    uint8_t segment[SLOT_BYTES] = {0};
    uint32_t count = htobe32(length | MLX5_INLINE_SEG);
    memcpy(segment, &count, sizeof count);
    memcpy(segment + sizeof count, frame, length);
    for (uint32_t at = 0; at < sizeof count + length; at += UNIT_BYTES)
        memcpy(unit_at(sender, sender->units++), segment + at, UNIT_BYTES);
}

static void ring(struct sender *sender, uint8_t opcode)
{
    struct mlx5_wqe_ctrl_seg control = {
        .opmod_idx_opcode = htobe32((uint32_t)sender->producer << 8 | opcode),
        .qpn_ds = htobe32(sender->side.qp->qp_num << 8 | sender->units),
        .fm_ce_se = MLX5_WQE_CTRL_CQ_UPDATE,
    };
    uint64_t word;
    memcpy(unit_at(sender, 0), &control, sizeof control);
    memcpy(&word, &control, sizeof word);
    sender->producer += (uint16_t)((sender->units + BLOCK_UNITS - 1) / BLOCK_UNITS);
    atomic_store_explicit((_Atomic uint32_t *)&sender->qp.dbrec[1], htobe32(sender->producer), memory_order_release);
    uint8_t *half = (uint8_t *)sender->qp.bf.reg + sender->bells++ % 2 * sender->qp.bf.size;
    atomic_store_explicit((_Atomic uint64_t *)half, word, memory_order_release);
}

static uint32_t build(const struct sender *sender, unsigned slot, uint32_t seed)
{
    return build_frame(slot_at(&sender->side, FIRST_SEND + slot), seed % 2 == 0 ? 17 : 6, 1000, 26 + seed * 13 % 300,
                       seed);
}

/* All sent frames arrive in order, and one completion reports all of them. */
static void check_all_arrive(struct sender *sender, unsigned frames, const uint8_t *expected, const uint32_t *lengths)
{
    unsigned arrived = 0, sent = 0;
    while (arrived < frames || sent == 0) {
        struct ibv_wc wc = next_success(sender->side.cq);
        /* libmlx5 does not know the operation. In a receive the number is the rule's tag. */
        if (wc.qp_num == sender->side.qp->qp_num) {
            sent++;
            continue;
        }
        CHECK_EQ(arrived, wc.wr_id);
        CHECK_EQ(lengths[arrived], wc.byte_len);
        CHECK(memcmp(slot_at(&sender->side, arrived), expected + arrived * SLOT_BYTES, wc.byte_len) == 0);
        arrived++;
    }
    CHECK_EQ(1, sent);
    check_quiet(&sender->side);
}

/*
 * Requests of every size, from every block of the ring on, including across its end; with frames by pointer, inline,
 * and both.
 */
static void one_request_sends_several_frames(void)
{
    static uint8_t expected[MAX_FRAMES * SLOT_BYTES];
    struct sender sender;
    uint32_t lengths[MAX_FRAMES];
    sender_open(&sender);
    for (uint32_t round = 0; round < 400; round++) {
        unsigned frames = 1 + round * 7 % (MAX_FRAMES - 1);
        begin(&sender, 0);
        for (unsigned i = 0; i < frames; i++) {
            post_receive(&sender.side, i, SLOT_BYTES);
            lengths[i] = build(&sender, i, round + i);
            const uint8_t *frame = slot_at(&sender.side, FIRST_SEND + i);
            memcpy(expected + i * SLOT_BYTES, frame, lengths[i]);
            bool fits = sender.units + (lengths[i] + 4 + UNIT_BYTES - 1) / UNIT_BYTES + frames - i <= 60;
            if (fits && (round + i) % 3 == 0)
                hold(&sender, frame, lengths[i]);
            else
                point_to(&sender, frame, lengths[i]);
        }
        ring(&sender, OPCODE);
        check_all_arrive(&sender, frames, expected, lengths);
    }
    sender_close(&sender);
}

static void checksums_of_all_are_filled_in(void)
{
    static uint8_t expected[MAX_FRAMES * SLOT_BYTES];
    struct sender sender;
    uint32_t lengths[MAX_FRAMES];
    sender_open(&sender);
    begin(&sender, CHECKSUMS);
    for (unsigned i = 0; i < MAX_FRAMES; i++) {
        post_receive(&sender.side, i, SLOT_BYTES);
        lengths[i] = build(&sender, i, i);
        uint8_t *frame = slot_at(&sender.side, FIRST_SEND + i);
        memcpy(expected + i * SLOT_BYTES, frame, lengths[i]);
        frame[24] ^= 0x55;
        frame[34 + (i % 2 == 0 ? 6 : 16)] ^= 0x55;
        point_to(&sender, frame, lengths[i]);
    }
    ring(&sender, OPCODE);
    check_all_arrive(&sender, MAX_FRAMES, expected, lengths);
    sender_close(&sender);
}

static void check_refused(struct sender *sender, enum ibv_wc_status status)
{
    ring(sender, OPCODE);
    struct ibv_wc wc = next_completion(sender->side.cq);
    CHECK_EQ(status, wc.status);
    CHECK_EQ(0, to_state(sender->side.qp, IBV_QPS_RESET));
    to_ready(sender->side.qp);
    sender->producer = 0;
}

static struct mlx5_wqe_eth_seg *eth_of(const struct sender *sender)
{
    return (struct mlx5_wqe_eth_seg *)unit_at(sender, 1);
}

static void invalid_multi_packet_requests_are_refused(void)
{
    struct sender sender;
    sender_open(&sender);
    uint32_t length = build(&sender, 0, 1);
    const uint8_t *frame = slot_at(&sender.side, FIRST_SEND);

    begin(&sender, 0);
    check_refused(&sender, IBV_WC_LOC_QP_OP_ERR);       /* no frame at all */

    begin(&sender, 0);
    eth_of(&sender)->inline_hdr_sz = htobe16(18);
    point_to(&sender, frame, length);
    point_to(&sender, frame, length);
    check_refused(&sender, IBV_WC_LOC_QP_OP_ERR);

    begin(&sender, 0);
    eth_of(&sender)->mss = htobe16(1000);
    point_to(&sender, frame, length);
    check_refused(&sender, IBV_WC_LOC_QP_OP_ERR);

    begin(&sender, 0);
    point_to(&sender, frame, 18);
    check_refused(&sender, IBV_WC_LOC_LEN_ERR);

    begin(&sender, 0);
    point_to(&sender, frame, 0);
    check_refused(&sender, IBV_WC_LOC_LEN_ERR);

    begin(&sender, 0);
    hold(&sender, frame, length);
    sender.units--;
    check_refused(&sender, IBV_WC_LOC_QP_OP_ERR);       /* the request ends within the frame */

    begin(&sender, 0);
    point_to(&sender, frame, length);
    CHECK_EQ(0, emulator.set_min_inline("mlx5_0", 18));
    check_refused(&sender, IBV_WC_LOC_QP_OP_ERR);       /* no segment could contain the beginning of the frame */
    CHECK_EQ(0, emulator.set_min_inline("mlx5_0", 0));
    sender_close(&sender);
}

static struct cxemu_counters counters_now(void)
{
    struct cxemu_counters counters;
    CHECK_EQ(0, emulator.query_counters("mlx5_0", &counters));
    return counters;
}

/* The benefit: 16 bytes per frame and a share of 32, instead of 64. */
static void a_request_costs_less_over_pcie(void)
{
    enum { FRAMES = 30 };
    static uint8_t expected[MAX_FRAMES * SLOT_BYTES];
    struct sender sender;
    uint32_t lengths[MAX_FRAMES];
    uint64_t bytes = 0;
    sender_open(&sender);
    begin(&sender, 0);
    for (unsigned i = 0; i < FRAMES; i++) {
        post_receive(&sender.side, i, SLOT_BYTES);
        lengths[i] = build(&sender, i, i);
        bytes += lengths[i];
        memcpy(expected + i * SLOT_BYTES, slot_at(&sender.side, FIRST_SEND + i), lengths[i]);
        point_to(&sender, slot_at(&sender.side, FIRST_SEND + i), lengths[i]);
    }
    struct cxemu_counters before = counters_now();
    ring(&sender, OPCODE);
    check_all_arrive(&sender, FRAMES, expected, lengths);
    struct cxemu_counters after = counters_now();
    CHECK_EQ((FRAMES + 2) * UNIT_BYTES, after.request_bytes - before.request_bytes);
    CHECK_EQ(bytes, after.frame_bytes - before.frame_bytes);
    CHECK_EQ(FRAMES, after.frame_reads - before.frame_reads);
    CHECK_EQ(1, after.doorbells - before.doorbells);
    sender_close(&sender);
}

static void the_device_reports_multi_packet_requests(void)
{
    struct sender sender;
    struct mlx5dv_context attributes = {0};
    sender_open(&sender);
    CHECK_EQ(0, mlx5dv_query_device(sender.world.context, &attributes));
    CHECK(attributes.flags & MLX5DV_CONTEXT_FLAGS_ENHANCED_MPW);
    sender_close(&sender);
}

const struct test multi_packet_tests[] = {
    {"one request sends several frames", one_request_sends_several_frames},
    {"checksums of all frames of a request are filled in", checksums_of_all_are_filled_in},
    {"invalid multi-packet requests are refused", invalid_multi_packet_requests_are_refused},
    {"a multi-packet request costs less over PCIe", a_request_costs_less_over_pcie},
    {"the device reports multi-packet requests", the_device_reports_multi_packet_requests},
    {NULL, NULL},
};
