/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed completions, read in place: libmlx5 creates such queues for programs that do so, and has no reader for
 * them. The same frames go to a queue pair with plain completions, which libmlx5 polls. Both must agree.
 */
#include "cqe_reader.h"

#include <errno.h>
#include <stdlib.h>

enum { ENTRIES = 128, TAG = 0x70707, FIRST_SEND = SLOTS / 2 };

struct pair {
    struct world world;
    struct side plain;
    struct side sender;
    struct ibv_cq_ex *cq;
    struct ibv_qp *qp;
    struct mlx5dv_qp rings;
    uint32_t posted;
    struct cqe_reader reader;
    struct ibv_flow *flows[2];
};

static struct ibv_qp *receiver(struct pair *pair)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = pair->sender.cq, .recv_cq = ibv_cq_ex_to_cq(pair->cq), .qp_type = IBV_QPT_RAW_PACKET,
        .cap = {.max_send_wr = 1, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1},
    };
    return ibv_create_qp(pair->world.pd, &attr);
}

static void pair_open(struct pair *pair, uint8_t format)
{
    world_open(&pair->world, "mlx5_0");
    side_open(&pair->world, &pair->plain, 0, false);
    side_open(&pair->world, &pair->sender, 0, false);
    pair->cq = create_compressed(&pair->world, ENTRIES, format);
    CHECK(pair->cq != NULL);
    cqe_reader_open(&pair->reader, ibv_cq_ex_to_cq(pair->cq), format);
    pair->qp = receiver(pair);
    CHECK(pair->qp != NULL);
    struct mlx5dv_obj object = {.qp = {.in = pair->qp, .out = &pair->rings}};
    CHECK_EQ(0, mlx5dv_init_obj(&object, MLX5DV_OBJ_QP));
    pair->posted = 0;
    to_ready(pair->qp);
    /* Every frame goes to both. */
    pair->flows[0] = steer_mac(pair->plain.qp, mac_b, TAG);
    pair->flows[1] = steer_mac(pair->qp, mac_a, TAG);
}

static void pair_close(struct pair *pair)
{
    CHECK_EQ(0, ibv_destroy_flow(pair->flows[0]));
    CHECK_EQ(0, ibv_destroy_flow(pair->flows[1]));
    CHECK_EQ(0, ibv_destroy_qp(pair->qp));
    CHECK_EQ(0, ibv_destroy_cq(ibv_cq_ex_to_cq(pair->cq)));
    side_close(&pair->plain);
    side_close(&pair->sender);
    world_close(&pair->world);
}

/* Sends two bursts of the same frames, one to each queue. Some have a wrong checksum. */
static uint32_t send_burst(struct pair *pair, uint32_t burst, uint32_t seed, const uint8_t *mac)
{
    uint8_t frame[SLOT_BYTES];
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < burst; i++) {
        uint32_t length = build_frame(frame, 17, 1000, 18 + (seed * 31 + i * 7) % 900, seed + i);
        memcpy(frame, mac, 6);
        if ((seed + i) % 13 == 0)
            frame[length - 1] ^= 1;
        post_send(&pair->sender, FIRST_SEND + i % SENDS, frame, length, i + 1 == burst ? IBV_SEND_SIGNALED : 0);
        bytes += length;
    }
    return bytes;
}

/* Writes to the ring: libmlx5 would wait for completions that it never polls. */
static void post_receives(struct pair *pair, uint32_t burst)
{
    for (uint32_t i = 0; i < burst; i++) {
        uint32_t place = pair->posted++ % pair->rings.rq.wqe_cnt;
        mlx5dv_set_data_seg((void *)((uint8_t *)pair->rings.rq.buf + place * pair->rings.rq.stride), SLOT_BYTES,
                            pair->sender.mr->lkey, (uintptr_t)slot_at(&pair->sender, i));
        post_receive(&pair->plain, i, SLOT_BYTES);
    }
    __atomic_store_n(&pair->rings.dbrec[0], htobe32(pair->posted & 0xffff), __ATOMIC_RELEASE);
}

/* Stops the engine while a burst is posted, so that its frames arrive together. */
static void deliver(struct pair *pair, uint32_t burst, uint32_t seed, const uint8_t *mac)
{
    uint32_t done;
    CHECK_EQ(0, emulator.set_stepping("mlx5_0", 1));
    send_burst(pair, burst, seed, mac);
    do
        CHECK_EQ(0, emulator.step("mlx5_0", 64, &done));
    while (done > 0);
    CHECK_EQ(0, emulator.set_stepping("mlx5_0", 0));
    CHECK_EQ(IBV_WC_SEND, next_success(pair->sender.cq).opcode);
}

static void compare_bursts(struct pair *pair, uint32_t round)
{
    struct cqe_fields received[ENTRIES];
    uint32_t burst = 1 + round * 5 % SENDS;
    post_receives(pair, burst);
    deliver(pair, burst, round, mac_b);
    deliver(pair, burst, round, mac_a);
    uint32_t count = 0;
    for (uint32_t taken; (taken = cqe_reader_take(&pair->reader, received + count)) > 0;)
        count += taken;
    CHECK_EQ(burst, count);
    for (uint32_t i = 0; i < burst; i++) {
        struct ibv_wc wc = next_success(pair->plain.cq);
        CHECK_EQ(wc.byte_len, received[i].byte_count);
        CHECK_EQ(wc.qp_num, received[i].tag);
        CHECK_EQ((wc.wc_flags & IBV_WC_IP_CSUM_OK) != 0, received[i].checksum_ok);
        CHECK_EQ((uint16_t)(pair->reader.consumed - burst + i), received[i].counter);
    }
}

static void compressed_as_plain(uint8_t format)
{
    struct pair pair;
    pair_open(&pair, format);
    for (uint32_t round = 0; round < 500; round++)
        compare_bursts(&pair, round);
    CHECK(pair.reader.sessions > 100);
    pair_close(&pair);
}

static void compressed_with_hashes(void)
{
    compressed_as_plain(MLX5DV_CQE_RES_FORMAT_HASH);
}

static void compressed_with_checksums(void)
{
    compressed_as_plain(MLX5DV_CQE_RES_FORMAT_CSUM);
}

static void compression_formats_are_reported_and_checked(void)
{
    struct world world;
    struct mlx5dv_context caps = {.comp_mask = MLX5DV_CONTEXT_MASK_CQE_COMPRESION};
    world_open(&world, "mlx5_0");
    CHECK_EQ(0, mlx5dv_query_device(world.context, &caps));
    CHECK_EQ(64, caps.cqe_comp_caps.max_num);
    CHECK((caps.cqe_comp_caps.supported_format & MLX5DV_CQE_RES_FORMAT_HASH) != 0);
    CHECK(create_compressed(&world, ENTRIES, 1 << 6) == NULL);
    CHECK(create_compressed(&world, ENTRIES, MLX5DV_CQE_RES_FORMAT_HASH | MLX5DV_CQE_RES_FORMAT_CSUM) == NULL);
    CHECK_EQ(EINVAL, errno);
    world_close(&world);
}

const struct test compression_tests[] = {
    {"completions compressed with hashes are those that libmlx5 polls", compressed_with_hashes},
    {"completions compressed with checksums are those that libmlx5 polls", compressed_with_checksums},
    {"compression formats are reported and checked", compression_formats_are_reported_and_checked},
    {NULL, NULL},
};
