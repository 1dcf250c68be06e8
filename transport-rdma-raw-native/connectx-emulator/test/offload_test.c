/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums and large sends. */
#include "harness.h"

enum { FIRST_SEND = SLOTS / 2 };

struct loop {
    struct world world;
    struct side side;
    struct ibv_flow *flow;
};

static void loop_open(struct loop *loop)
{
    world_open(&loop->world, "mlx5_0");
    side_open(&loop->world, &loop->side, 0, false);
    loop->flow = steer_mac(loop->side.qp, mac_b, 1);
}

static void loop_close(struct loop *loop)
{
    CHECK_EQ(0, ibv_destroy_flow(loop->flow));
    side_close(&loop->side);
    world_close(&loop->world);
}

static struct ibv_wc receive_one(struct loop *loop)
{
    struct ibv_wc wc = next_success(loop->side.cq);
    if (wc.opcode != IBV_WC_RECV)
        wc = next_success(loop->side.cq);
    CHECK_EQ(IBV_WC_RECV, wc.opcode);
    return wc;
}

/* Returns true if the device reports the checksums of a frame as correct. */
static bool arrives_verified(struct loop *loop, const uint8_t *frame, uint32_t length)
{
    post_receive(&loop->side, 0, SLOT_BYTES);
    post_send(&loop->side, FIRST_SEND, frame, length, 0);
    struct ibv_wc wc = receive_one(loop);
    CHECK_EQ(length, wc.byte_len);
    return wc.wc_flags & IBV_WC_IP_CSUM_OK;
}

static void received_checksums_are_verified(void)
{
    struct loop loop;
    uint8_t frame[SLOT_BYTES];
    loop_open(&loop);
    for (uint8_t protocol = 6; protocol <= 17; protocol += 11) {
        uint32_t length = build_frame(frame, protocol, 1000, 101, protocol);
        CHECK(arrives_verified(&loop, frame, length));
        frame[length - 1] ^= 1;
        CHECK(!arrives_verified(&loop, frame, length));
        frame[length - 1] ^= 1;
        frame[14 + 8]++;        /* time to live, which the header's checksum covers */
        CHECK(!arrives_verified(&loop, frame, length));
    }
    /* This completion frees the places of the unsignalled sends. */
    post_receive(&loop.side, 0, SLOT_BYTES);
    uint32_t length = build_frame(frame, 17, 1000, 101, 0);
    post_send(&loop.side, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
    next_success(loop.side.cq);
    next_success(loop.side.cq);
    loop_close(&loop);
}

static void sent_checksums_are_filled_in(void)
{
    struct loop loop;
    uint8_t frame[SLOT_BYTES], expected[SLOT_BYTES];
    loop_open(&loop);
    for (uint32_t i = 0; i < 20; i++) {
        uint8_t protocol = i % 2 == 0 ? 6 : 17;
        uint32_t length = build_frame(expected, protocol, 1000, 100 + i, i);
        memcpy(frame, expected, length);
        memset(frame + 14 + 10, 0xab, 2);
        memset(frame + 34 + (protocol == 6 ? 16 : 6), 0xcd, 2);
        post_receive(&loop.side, 0, SLOT_BYTES);
        post_send(&loop.side, FIRST_SEND, frame, length, IBV_SEND_IP_CSUM | IBV_SEND_SIGNALED);
        struct ibv_wc first = next_success(loop.side.cq);
        struct ibv_wc second = next_success(loop.side.cq);
        CHECK((first.wc_flags | second.wc_flags) & IBV_WC_IP_CSUM_OK);
        CHECK(memcmp(slot_at(&loop.side, 0), expected, length) == 0);
    }
    loop_close(&loop);
}

/* A card fills in no checksum of UDP in a fragment, not even in the first one. The program has to. */
static void checksums_in_fragments_are_left(void)
{
    enum { FLAGS_AT = 14 + 6, UDP_CHECKSUM_AT = 34 + 6, MORE_FRAGMENTS = 0x20 };
    struct loop loop;
    uint8_t frame[SLOT_BYTES];
    loop_open(&loop);
    uint32_t length = build_frame(frame, 17, 1000, 100, 1);
    frame[FLAGS_AT] |= MORE_FRAGMENTS;
    memset(frame + UDP_CHECKSUM_AT, 0xcd, 2);
    post_receive(&loop.side, 0, SLOT_BYTES);
    post_send(&loop.side, FIRST_SEND, frame, length, IBV_SEND_IP_CSUM | IBV_SEND_SIGNALED);
    receive_one(&loop);
    CHECK(memcmp(slot_at(&loop.side, 0) + UDP_CHECKSUM_AT, frame + UDP_CHECKSUM_AT, length - UDP_CHECKSUM_AT) == 0);
    loop_close(&loop);
}

static uint32_t be32_at(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* A payload of several segments and a remainder: each segment has its own headers, checksums and sequence number. */
static void large_sends_are_cut(void)
{
    enum { HEADER = 54, MSS = 1000, PAYLOAD = 4321, SEGMENTS = 5 };
    struct loop loop;
    uint8_t whole[HEADER + 8192];
    loop_open(&loop);
    build_frame(whole, 6, 1000, PAYLOAD, 9);
    for (unsigned i = 0; i < SEGMENTS; i++)
        post_receive(&loop.side, i, SLOT_BYTES);
    uint8_t *payload = slot_at(&loop.side, FIRST_SEND);
    memcpy(payload, whole + HEADER, PAYLOAD);
    struct ibv_sge sge = {.addr = (uintptr_t)payload, .length = PAYLOAD, .lkey = loop.side.mr->lkey};
    struct ibv_send_wr wr = {.wr_id = 77, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_TSO,
                             .send_flags = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM,
                             .tso = {.hdr = whole, .hdr_sz = HEADER, .mss = MSS}};
    struct ibv_send_wr *bad;
    CHECK_EQ(0, ibv_post_send(loop.side.qp, &wr, &bad));
    bool sent = false;
    for (unsigned segment = 0; segment < SEGMENTS;) {
        struct ibv_wc wc = next_success(loop.side.cq);
        if (wc.opcode == IBV_WC_TSO) {
            CHECK_EQ(77, wc.wr_id);
            sent = true;
            continue;
        }
        uint32_t part = segment + 1 < SEGMENTS ? MSS : PAYLOAD - (SEGMENTS - 1) * MSS;
        const uint8_t *received = slot_at(&loop.side, segment);
        CHECK_EQ(segment, wc.wr_id);
        CHECK_EQ(HEADER + part, wc.byte_len);
        CHECK(wc.wc_flags & IBV_WC_IP_CSUM_OK);
        CHECK_EQ(be32_at(whole + 38) + segment * MSS, be32_at(received + 38));
        CHECK(memcmp(received + HEADER, whole + HEADER + segment * MSS, part) == 0);
        segment++;
    }
    if (!sent)
        CHECK_EQ(IBV_WC_TSO, next_success(loop.side.cq).opcode);
    loop_close(&loop);
}

const struct test offload_tests[] = {
    {"received checksums are verified", received_checksums_are_verified},
    {"sent checksums are filled in", sent_checksums_are_filled_in},
    {"checksums in fragments are left", checksums_in_fragments_are_left},
    {"large sends are cut", large_sends_are_cut},
    {NULL, NULL},
};
