/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums and large sends. */
#include "harness.h"

struct offload {
    struct world world;
    struct side a, b;
    struct ibv_flow *flow;
};

static void offload_open(struct offload *o)
{
    world_open(&o->world);
    side_open(&o->world, &o->a);
    side_open(&o->world, &o->b);
    o->flow = steer_mac(&o->b, mac_b);
}

static void offload_close(struct offload *o)
{
    CHECK_EQ(0, ibv_destroy_flow(o->flow));
    side_close(&o->a);
    side_close(&o->b);
    world_close(&o->world);
}

static unsigned flags_of(struct offload *o, const uint8_t *frame, uint32_t length, unsigned send_flags)
{
    CHECK_EQ(0, post_recv_slot(&o->b, 0, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&o->a, frame, length, send_flags | IBV_SEND_SIGNALED));
    poll_one(o->a.cq);
    struct ibv_wc wc = poll_one(o->b.cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    return wc.wc_flags;
}

static void checksums_are_verified_bit_by_bit(void)
{
    struct offload o;
    uint8_t frame[2048];
    offload_open(&o);
    for (int tcp = 0; tcp < 2; tcp++) {
        for (int tagged = 0; tagged < 2; tagged++) {
            struct frame_spec spec = default_frame();
            spec.protocol = tcp ? 6 : 17;
            spec.vlan = tagged ? 5 : -1;
            spec.payload = 33;
            uint32_t length = build_frame(&spec, frame);
            CHECK_EQ(IBV_WC_IP_CSUM_OK, flags_of(&o, frame, length, 0));
            for (uint32_t bit = (14 + (uint32_t)tagged * 4) * 8; bit < length * 8; bit += 3) {
                frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
                if (flags_of(&o, frame, length, 0) != 0)
                    test_failed(__FILE__, __LINE__, "bit %u of a broken frame passed (tcp %d, tagged %d)", bit, tcp,
                                tagged);
                frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
            }
        }
    }
    offload_close(&o);
}

static void padding_does_not_count(void)
{
    struct offload o;
    uint8_t frame[2048];
    struct frame_spec spec = default_frame();
    offload_open(&o);
    spec.payload = 1;
    uint32_t length = build_frame(&spec, frame);
    memset(frame + length, 0xee, 60 - length);
    CHECK_EQ(IBV_WC_IP_CSUM_OK, flags_of(&o, frame, 60, 0));
    frame[40] = frame[41] = 0;      /* no UDP checksum */
    CHECK_EQ(IBV_WC_IP_CSUM_OK, flags_of(&o, frame, 60, 0));
    spec.fragment = 0x2000;
    length = build_frame(&spec, frame);
    CHECK_EQ(0, flags_of(&o, frame, 60, 0));
    spec = default_frame();
    spec.src_ip = "2001:db8::1";
    spec.dst_ip = "2001:db8::2";
    length = build_frame(&spec, frame);
    CHECK_EQ(0, flags_of(&o, frame, length, 0));
    offload_close(&o);
}

static void checksums_are_filled_in(void)
{
    struct offload o;
    uint8_t frame[2048], broken[2048];
    offload_open(&o);
    for (int v6 = 0; v6 < 2; v6++) {
        for (int tcp = 0; tcp < 2; tcp++) {
            struct frame_spec spec = default_frame();
            spec.protocol = tcp ? 6 : 17;
            spec.payload = 101;
            if (v6) {
                spec.src_ip = "2001:db8::1";
                spec.dst_ip = "2001:db8::2";
            }
            uint32_t length = build_frame(&spec, frame);
            memcpy(broken, frame, length);
            uint32_t l4 = v6 ? 54 : 34;
            memset(broken + l4 + (tcp ? 16 : 6), 0x77, 2);
            if (!v6)
                memset(broken + 24, 0x77, 2);
            flags_of(&o, broken, length, IBV_SEND_IP_CSUM);
            CHECK(memcmp(slot_at(&o.b, 0), frame, length) == 0);
            CHECK_EQ(0x77, slot_at(&o.a, SLOTS - 1)[l4 + (tcp ? 16 : 6)]);      /* the sender's memory is unchanged */
        }
    }
    offload_close(&o);
}

static uint32_t be32(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* rdma-core's tests request a header of max_tso / 800 bytes. */
static void headers_of_large_sends_have_a_limit(void)
{
    struct offload o;
    struct ibv_device_attr_ex device;
    offload_open(&o);
    CHECK_EQ(0, ibv_query_device_ex(o.world.context, NULL, &device));
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = o.a.cq, .recv_cq = o.a.cq, .qp_type = IBV_QPT_RAW_PACKET, .pd = o.world.pd,
        .max_tso_header = (uint16_t)(device.tso_caps.max_tso / 800),
        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 1},
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
    };
    struct ibv_qp *qp = ibv_create_qp_ex(o.world.context, &attr);
    CHECK(qp != NULL);
    CHECK_EQ(0, ibv_destroy_qp(qp));
    attr.max_tso_header = 513;
    CHECK(ibv_create_qp_ex(o.world.context, &attr) == NULL);
    CHECK_EQ(EINVAL, errno);
    offload_close(&o);
}

static void large_sends_become_segments(void)
{
    enum { MSS = 400, PAYLOAD = 1300, HEADER = 54 };
    struct offload o;
    uint8_t header[2048];
    struct ibv_send_wr *bad;
    offload_open(&o);
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = o.a.cq, .recv_cq = o.a.cq, .qp_type = IBV_QPT_RAW_PACKET, .pd = o.world.pd, .max_tso_header = 128,
        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 1},
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
    };
    struct ibv_qp *qp = ibv_create_qp_ex(o.world.context, &attr);
    CHECK(qp != NULL);
    to_ready(qp);
    struct frame_spec spec = default_frame();
    spec.protocol = 6;
    spec.payload = 0;
    CHECK_EQ(HEADER, build_frame(&spec, header));
    header[47] = 0x19;      /* ACK, PSH, FIN */
    memset(header + 38, 0xff, 4);
    for (unsigned i = 0; i < PAYLOAD; i++)
        slot_at(&o.a, 0)[i] = (uint8_t)(i * 31 >> 2);
    struct ibv_sge sge[2] = {{(uintptr_t)slot_at(&o.a, 0), 700, o.a.mr->lkey},
                             {(uintptr_t)slot_at(&o.a, 0) + 700, PAYLOAD - 700, o.a.mr->lkey}};
    struct ibv_send_wr wr = {.wr_id = 1, .sg_list = sge, .num_sge = 2, .opcode = IBV_WR_TSO,
                             .send_flags = IBV_SEND_SIGNALED};
    wr.tso.hdr = header;
    wr.tso.hdr_sz = HEADER;
    wr.tso.mss = MSS;
    for (unsigned i = 0; i < 4; i++)
        CHECK_EQ(0, post_recv_slot(&o.b, i, SLOT_BYTES));
    CHECK_EQ(0, ibv_post_send(qp, &wr, &bad));
    struct ibv_wc wc = poll_one(o.a.cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(IBV_WC_TSO, wc.opcode);
    for (unsigned i = 0; i < 4; i++) {
        uint32_t part = i < 3 ? MSS : PAYLOAD - 3 * MSS;
        const uint8_t *segment = slot_at(&o.b, i);
        wc = poll_one(o.b.cq);
        CHECK_EQ(HEADER + part, wc.byte_len);
        CHECK_EQ(IBV_WC_IP_CSUM_OK, wc.wc_flags);
        CHECK_EQ((uint32_t)(0xffffffff + i * MSS), be32(segment + 38));
        CHECK_EQ(i < 3 ? 0x10 : 0x19, segment[47]);
        CHECK_EQ(i, segment[18] << 8 | segment[19]);
        CHECK(memcmp(segment + HEADER, slot_at(&o.a, 0) + i * MSS, part) == 0);
    }
    wr.tso.hdr_sz = 129;
    CHECK_EQ(EINVAL, ibv_post_send(qp, &wr, &bad));
    wr.tso.hdr_sz = HEADER;
    wr.tso.mss = 1461;
    CHECK_EQ(0, ibv_post_send(qp, &wr, &bad));
    CHECK_EQ(IBV_WC_LOC_LEN_ERR, poll_one(o.a.cq).status);
    CHECK_EQ(EINVAL, ibv_post_send(o.a.qp, &wr, &bad));     /* created without TSO */
    CHECK_EQ(0, ibv_destroy_qp(qp));
    offload_close(&o);
}

const struct test offload_tests[] = {
    {"checksums are verified bit by bit", checksums_are_verified_bit_by_bit},
    {"padding does not count", padding_does_not_count},
    {"checksums are filled in", checksums_are_filled_in},
    {"headers of large sends have a limit", headers_of_large_sends_have_a_limit},
    {"large sends become segments", large_sends_become_segments},
    {NULL, NULL},
};
