/* SPDX-License-Identifier: Apache-2.0 */
/* GSO frames that are received unsegmented: softverbs_set_qp_gso_wq(). */
#include "wire_fixture.h"

#include <unistd.h>

enum {
    PORT = 2000, FLOW_TAG = 77, VLAN = 7, SEGMENT = 1000,
    LARGE_BYTES = 66000, LARGE_RECEIVES = 4, LARGE_ID = 1000, PAYLOAD = 60000, SHORT_PAYLOAD = 15000, ROOM = 1 << 17,
};

/* ---- packets ---- */

struct packet {
    bool v6;
    int vlan;
    uint32_t l4, headers, length;
    struct virtio_net_hdr offload;
    uint8_t frame[ROOM];
};

/*
 * The checksum field holds the sum of the pseudo header, and the rest is left to hardware. `segment` is 0 for a packet
 * that is not to be cut.
 */
static void make(struct packet *p, bool v6, int vlan, uint16_t payload, uint16_t segment)
{
    struct frame_spec spec = default_frame();
    spec.protocol = 6;
    spec.vlan = vlan;
    spec.payload = payload;
    if (v6) {
        spec.src_ip = "2001:db8::1";
        spec.dst_ip = "2001:db8::2";
    }
    memset(p, 0, sizeof *p);
    p->v6 = v6;
    p->vlan = vlan;
    p->length = build_frame(&spec, p->frame);
    uint32_t l3 = vlan < 0 ? 14 : 18;
    p->l4 = l3 + (v6 ? 40 : 20);
    p->headers = p->l4 + 20;
    p->frame[p->l4 + 13] = 0x10;    /* ACK */
    uint32_t l4_bytes = p->length - p->l4;
    uint16_t sum = (uint16_t)~internet_checksum(p->frame + l3 + (v6 ? 8 : 12), v6 ? 32 : 8, 6 + l4_bytes);
    p->frame[p->l4 + 16] = (uint8_t)(sum >> 8);
    p->frame[p->l4 + 17] = (uint8_t)sum;
    p->offload = (struct virtio_net_hdr){.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .csum_start = (uint16_t)p->l4,
                                         .csum_offset = 16};
    if (segment > 0) {
        p->offload.gso_type = v6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4;
        p->offload.gso_size = segment;
        p->offload.hdr_len = (uint16_t)p->headers;
    }
}

static bool inject(const struct wire *wire, const struct packet *p)
{
    return send_with_offload(wire->name[0], &p->offload, p->frame, p->length);
}

/*
 * Runs a test for each kind of device that receives GSO frames. Before Linux 6.6 a socket of AF_XDP receives no frame
 * that is longer than a chunk.
 */
static void for_each_gso_kind(void (*test)(const char *kind))
{
    if (is_linux_6_6())
        for_each_kind(test);
    else if (have_namespace())
        test("packet");
}

/* ---- a device that receives them ---- */

struct receiver {
    struct wire wire;
    struct side *side;
    struct ibv_wq *large;
    uint8_t *memory;
    struct ibv_mr *mr;
    struct ibv_flow *flows[3];      /* two of TCP, by IP version, and one of a VLAN */
};

static struct ibv_wq *make_large(struct side *side, struct ibv_cq *cq)
{
    struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ, .max_wr = LARGE_RECEIVES, .max_sge = 1,
                                    .pd = side->world->pd, .cq = cq};
    struct ibv_wq_attr ready = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY};
    struct ibv_wq *wq = ibv_create_wq(side->world->context, &init);
    CHECK(wq != NULL);
    CHECK_EQ(0, ibv_modify_wq(wq, &ready));
    return wq;
}

static void open_flows(struct receiver *r, uint32_t flags)
{
    for (unsigned i = 0; i < 2; i++) {
        struct rule rule;
        rule_init(&rule, 0);
        if (i == 0)
            rule_ipv4(&rule, NULL, "192.0.2.2");
        else
            rule_ipv6(&rule, NULL, "2001:db8::2");
        rule_ports(&rule, IBV_FLOW_SPEC_TCP, 0, PORT);
        rule_tag(&rule, FLOW_TAG);
        rule.attr.flags = flags;
        r->flows[i] = must_create(r->side, &rule);
    }
    struct rule tagged;
    rule_init(&tagged, 0);
    rule_eth(&tagged, default_frame().dst, NULL, 0, VLAN);
    rule_tag(&tagged, FLOW_TAG);
    tagged.attr.flags = flags;
    r->flows[2] = must_create(r->side, &tagged);
}

static void close_flows(struct receiver *r)
{
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ(0, ibv_destroy_flow(r->flows[i]));
}

static void receiver_open(struct receiver *r, const char *kind)
{
    memset(r, 0, sizeof *r);
    wire_open(&r->wire, kind, 1500, 1);
    r->side = &r->wire.side[1];
    r->memory = malloc(LARGE_RECEIVES * LARGE_BYTES);
    r->mr = ibv_reg_mr(r->side->world->pd, r->memory, LARGE_RECEIVES * LARGE_BYTES, IBV_ACCESS_LOCAL_WRITE);
    CHECK(r->mr != NULL);
    r->large = make_large(r->side, r->side->cq);
    CHECK_EQ(0, softverbs_set_qp_gso_wq(r->side->qp, r->large));
    open_flows(r, SOFTVERBS_FLOW_ACCEPTS_GSO);
}

static void receiver_close(struct receiver *r)
{
    close_flows(r);
    CHECK_EQ(0, softverbs_set_qp_gso_wq(r->side->qp, NULL));
    CHECK_EQ(0, ibv_destroy_wq(r->large));
    CHECK_EQ(0, ibv_dereg_mr(r->mr));
    free(r->memory);
    wire_close(&r->wire);
}

static void post_large(struct receiver *r, unsigned number, uint32_t length, uint32_t lkey)
{
    struct ibv_sge sge = {(uintptr_t)r->memory + number * LARGE_BYTES, length, lkey};
    struct ibv_recv_wr wr = {.wr_id = LARGE_ID + number, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;
    CHECK_EQ(0, ibv_post_wq_recv(r->large, &wr, &bad));
}

static struct softverbs_queue_counters received(const struct receiver *r)
{
    struct softverbs_counters counters;
    CHECK_EQ(0, softverbs_query_counters(r->side->world->context, &counters));
    return counters.received;
}

/* Checks that the frame is unchanged. */
static void check_gso_frame(struct receiver *r, const struct packet *p, unsigned number)
{
    struct ibv_wc wc = wait_one(r->side->cq);
    CHECK_EQ(LARGE_ID + number, wc.wr_id);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(IBV_WC_RECV, wc.opcode);
    CHECK_EQ(FLOW_TAG, wc.qp_num);
    CHECK_EQ(p->length, wc.byte_len);
    CHECK_EQ(IBV_WC_IP_CSUM_OK, wc.wc_flags & IBV_WC_IP_CSUM_OK);
    CHECK_EQ(0, memcmp(r->memory + number * LARGE_BYTES, p->frame, p->length));
}

static void check_segmented(struct receiver *r, const struct packet *p)
{
    uint32_t seen = 0;
    while (seen < p->length - p->headers) {
        struct ibv_wc wc = wait_one(r->side->cq);
        CHECK(wc.wr_id < SLOTS);
        CHECK_EQ(IBV_WC_SUCCESS, wc.status);
        CHECK_EQ(0, memcmp(slot_at(r->side, (unsigned)wc.wr_id) + p->headers, p->frame + p->headers + seen,
                           wc.byte_len - p->headers));
        seen += wc.byte_len - p->headers;
    }
    CHECK_EQ(p->length - p->headers, seen);
}

static void post_slots(struct receiver *r, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        CHECK_EQ(0, post_recv_slot(r->side, i, SLOT_BYTES));
}

/* ---- tests ---- */

static struct packet packet;
static struct packet small;

static void tcp_beyond_the_mtu_arrives_unchanged_as_one_receive(const char *kind)
{
    struct receiver r;
    uint32_t most = 0;
    receiver_open(&r, kind);
    CHECK_EQ(0, softverbs_get_max_gso_bytes(r.side->world->context, &most));
    CHECK(most >= 65535 + 14 + 4 && most <= LARGE_BYTES);
    for (unsigned v6 = 0; v6 < 2; v6++) {
        post_large(&r, 0, LARGE_BYTES, r.mr->lkey);
        make(&packet, v6, -1, PAYLOAD, SEGMENT);
        CHECK(inject(&r.wire, &packet));
        check_gso_frame(&r, &packet, 0);
        CHECK_EQ(v6 + 1, received(&r).gso_unsegmented);
        CHECK_EQ(v6 + 1, received(&r).partial_checksums);
        CHECK_EQ(v6 + 1, received(&r).frames);
    }
    CHECK_EQ(0, received(&r).gso_frames);
    receiver_close(&r);
}

static void test_tcp_beyond_the_mtu_arrives_unchanged_as_one_receive(void)
{
    for_each_gso_kind(tcp_beyond_the_mtu_arrives_unchanged_as_one_receive);
}

/* A tag that the kernel stores beside the packet is put back. */
static void test_tagged(void)
{
    struct receiver r;
    if (!have_namespace())
        return;
    receiver_open(&r, "packet");
    post_large(&r, 0, LARGE_BYTES, r.mr->lkey);
    make(&packet, false, VLAN, PAYLOAD, SEGMENT);
    CHECK(inject(&r.wire, &packet));
    check_gso_frame(&r, &packet, 0);
    receiver_close(&r);
}

static void keeps_order(const char *kind)
{
    struct receiver r;
    receiver_open(&r, kind);
    make(&packet, false, -1, PAYLOAD, SEGMENT);
    make(&small, false, -1, 5, 0);
    for (unsigned round = 0; round < 50; round++) {
        post_slots(&r, 3);
        for (unsigned i = 0; i < 2; i++)
            post_large(&r, i, LARGE_BYTES, r.mr->lkey);
        const struct packet *order[] = {&small, &packet, &small, &packet, &small};
        for (unsigned i = 0; i < 5; i++)
            CHECK(inject(&r.wire, order[i]));
        for (unsigned i = 0; i < 5; i++) {
            if (order[i] == &packet)
                check_gso_frame(&r, &packet, i / 2);
            else
                CHECK_EQ(i / 2, wait_one(r.side->cq).wr_id);
        }
    }
    receiver_close(&r);
}

static void test_keeps_order(void)
{
    for_each_gso_kind(keeps_order);
}

/* A receiver that is not ready for the GSO frame receives it in frames of the MTU. */
static void they_are_segmented_for_a_receiver_that_is_not_ready(const char *kind)
{
    struct receiver r;
    receiver_open(&r, kind);
    make(&packet, false, -1, SHORT_PAYLOAD, SEGMENT);
    /* No receive is posted. */
    post_slots(&r, 15);
    CHECK(inject(&r.wire, &packet));
    check_segmented(&r, &packet);
    CHECK_EQ(0, to_state(r.side->qp, IBV_QPS_RESET));
    to_ready(r.side->qp);
    /* The frame would fill less than half of the receive. */
    post_large(&r, 0, 2 * packet.length + 2, r.mr->lkey);
    post_slots(&r, 15);
    CHECK(inject(&r.wire, &packet));
    check_segmented(&r, &packet);
    /* The rule has no flag for GSO frames. */
    close_flows(&r);
    open_flows(&r, 0);
    struct ibv_wq_attr reset = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RESET};
    struct ibv_wq_attr ready = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY};
    CHECK_EQ(0, ibv_modify_wq(r.large, &reset));
    CHECK_EQ(0, ibv_modify_wq(r.large, &ready));
    CHECK_EQ(0, to_state(r.side->qp, IBV_QPS_RESET));
    to_ready(r.side->qp);
    post_large(&r, 0, 2 * packet.length, r.mr->lkey);
    post_slots(&r, 15);
    CHECK(inject(&r.wire, &packet));
    check_segmented(&r, &packet);
    close_flows(&r);
    open_flows(&r, SOFTVERBS_FLOW_ACCEPTS_GSO);
    /* The receive is too short. */
    CHECK_EQ(0, ibv_modify_wq(r.large, &reset));
    CHECK_EQ(0, ibv_modify_wq(r.large, &ready));
    CHECK_EQ(0, to_state(r.side->qp, IBV_QPS_RESET));
    to_ready(r.side->qp);
    post_large(&r, 0, packet.length - 1, r.mr->lkey);
    post_slots(&r, 15);
    CHECK(inject(&r.wire, &packet));
    check_segmented(&r, &packet);
    CHECK_EQ(0, received(&r).gso_unsegmented);
    CHECK_EQ(4, received(&r).gso_frames);
    /* The receive is just long enough. */
    CHECK_EQ(0, ibv_modify_wq(r.large, &reset));
    CHECK_EQ(0, ibv_modify_wq(r.large, &ready));
    post_large(&r, 0, 2 * packet.length, r.mr->lkey);
    CHECK(inject(&r.wire, &packet));
    check_gso_frame(&r, &packet, 0);
    receiver_close(&r);
}

static void test_they_are_segmented_for_a_receiver_that_is_not_ready(void)
{
    for_each_gso_kind(they_are_segmented_for_a_receiver_that_is_not_ready);
}

/* As for any receive, the completion reports the error, the queue stops, and the frame is received in another way. */
static void a_receive_outside_of_its_region_fails(const char *kind)
{
    struct receiver r;
    receiver_open(&r, kind);
    make(&packet, false, -1, SHORT_PAYLOAD, SEGMENT);
    post_large(&r, 0, packet.length, r.mr->lkey + 1);
    post_slots(&r, 15);
    CHECK(inject(&r.wire, &packet));
    struct ibv_wc wc = wait_one(r.side->cq);
    CHECK_EQ(LARGE_ID, wc.wr_id);
    CHECK_EQ(IBV_WC_LOC_PROT_ERR, wc.status);
    check_segmented(&r, &packet);
    struct softverbs_queue_counters counters;
    CHECK_EQ(0, softverbs_query_wq_counters(r.large, &counters));
    CHECK_EQ(1, counters.protection_errors);
    receiver_close(&r);
}

static void test_a_receive_outside_of_its_region_fails(void)
{
    for_each_gso_kind(a_receive_outside_of_its_region_fails);
}

static void expect_failed(struct receiver *r, uint64_t id, enum ibv_wc_status status)
{
    struct ibv_wc wc = wait_one(r->side->cq);
    CHECK_EQ(id, wc.wr_id);
    CHECK_EQ(status, wc.status);
}

/* A fault concerns one receive. The frame is received in another way, and only some faults stop the queue. */
static void injected_faults_concern_one_receive(const char *kind)
{
    struct receiver r;
    struct softverbs_queue_counters counters;
    receiver_open(&r, kind);
    make(&packet, false, -1, SHORT_PAYLOAD, SEGMENT);
    for (unsigned i = 0; i < LARGE_RECEIVES; i++)
        post_large(&r, i, packet.length, r.mr->lkey);
    post_slots(&r, 15);
    CHECK_EQ(ENODEV, softverbs_fail_next_gso_frame("soft:packet:none", IBV_WC_FATAL_ERR));
    CHECK_EQ(EINVAL, softverbs_fail_next_gso_frame(r.side->world->context->device->name, IBV_WC_SUCCESS));
    CHECK_EQ(0, softverbs_fail_next_gso_frame(r.side->world->context->device->name, IBV_WC_FATAL_ERR));
    CHECK(inject(&r.wire, &packet));
    expect_failed(&r, LARGE_ID, IBV_WC_FATAL_ERR);
    check_segmented(&r, &packet);
    CHECK(inject(&r.wire, &packet));
    check_gso_frame(&r, &packet, 1);
    CHECK_EQ(0, softverbs_fail_next_gso_frame(r.side->world->context->device->name, IBV_WC_LOC_QP_OP_ERR));
    CHECK_EQ(0, to_state(r.side->qp, IBV_QPS_RESET));
    to_ready(r.side->qp);
    post_slots(&r, 15);
    CHECK(inject(&r.wire, &packet));
    expect_failed(&r, LARGE_ID + 2, IBV_WC_LOC_QP_OP_ERR);
    expect_failed(&r, LARGE_ID + 3, IBV_WC_WR_FLUSH_ERR);
    check_segmented(&r, &packet);
    CHECK_EQ(0, softverbs_query_wq_counters(r.large, &counters));
    CHECK_EQ(2, counters.injected_errors);
    CHECK_EQ(1, counters.frames);
    CHECK_EQ(0, counters.protection_errors);
    receiver_close(&r);
}

static void test_injected_faults_concern_one_receive(void)
{
    for_each_gso_kind(injected_faults_concern_one_receive);
}

static void test_a_queue_in_use_cannot_be_destroyed(void)
{
    struct receiver r;
    if (!have_namespace())
        return;
    receiver_open(&r, "packet");
    struct ibv_cq *cq = ibv_create_cq(r.side->world->context, 16, NULL, NULL, 0);
    struct ibv_wq *other = make_large(r.side, cq);
    struct ibv_wq *shared = make_large(r.side, r.side->cq);
    CHECK_EQ(EINVAL, softverbs_set_qp_gso_wq(r.side->qp, other));
    CHECK_EQ(EINVAL, softverbs_set_wq_gso_wq(r.large, r.large));
    CHECK_EQ(EBUSY, ibv_destroy_wq(r.large));
    CHECK_EQ(0, softverbs_set_wq_gso_wq(shared, r.large));
    CHECK_EQ(0, softverbs_set_qp_gso_wq(r.side->qp, NULL));
    CHECK_EQ(EBUSY, ibv_destroy_wq(r.large));
    CHECK_EQ(0, ibv_destroy_wq(shared));
    CHECK_EQ(0, softverbs_set_qp_gso_wq(r.side->qp, r.large));
    CHECK_EQ(0, ibv_destroy_wq(other));
    CHECK_EQ(0, ibv_destroy_cq(cq));
    receiver_close(&r);
}

/* A device without a sender on the host has no GSO frames. */
static void test_a_device_in_memory_delivers_none(void)
{
    struct world world;
    uint32_t most = 1;
    world_open(&world);
    CHECK_EQ(0, softverbs_get_max_gso_bytes(world.context, &most));
    CHECK_EQ(0, most);
    world_close(&world);
}

/*
 * Sends a small frame after the others and polls until it has arrived. Returns how many frames were received
 * unsegmented. Frames that are cut may use up all receives, so the small frame is sent repeatedly.
 */
static unsigned take_until_small(struct receiver *r)
{
    unsigned gso_count = 0;
    struct timespec start = now();
    struct ibv_wc wc = {0};
    for (unsigned turn = 0; wc.byte_len != small.length; turn++) {
        CHECK(!overdue(start));
        if (turn % 1024 == 0)
            CHECK(inject(&r->wire, &small));
        if (ibv_poll_cq(r->side->cq, 1, &wc) == 0)
            continue;
        CHECK_EQ(IBV_WC_SUCCESS, wc.status);
        if (wc.wr_id >= LARGE_ID) {
            CHECK(wc.byte_len <= LARGE_BYTES);
            post_large(r, (unsigned)(wc.wr_id - LARGE_ID), LARGE_BYTES, r->mr->lkey);
            gso_count++;
        } else {
            CHECK(wc.byte_len <= 1518);
            CHECK_EQ(0, post_recv_slot(r->side, (unsigned)wc.wr_id, SLOT_BYTES));
        }
    }
    return gso_count;
}

/*
 * Arbitrary headers and frames: only the memory of the receives is written (checked by the address sanitizer), GSO
 * frames have the length that they state, and later frames are received.
 */
static void false_headers_cause_no_access_outside_of_the_receive(const char *kind)
{
    enum { TRIES = 500, MARK = 33 };
    struct receiver r;
    unsigned gso_count = 0;
    receiver_open(&r, kind);
    post_slots(&r, 16);
    for (unsigned i = 0; i < LARGE_RECEIVES; i++)
        post_large(&r, i, LARGE_BYTES, r.mr->lkey);
    make(&small, false, -1, MARK, 0);
    for (unsigned i = 0; i < TRIES; i++) {
        uint32_t any = random_number() % 65000, large = 33000 + random_number() % 32000;
        uint16_t payload = (uint16_t)(random_number() % 4 == 0 ? any : large);
        make(&packet, random_number() % 2, -1, payload, (uint16_t)(random_number() % 1500));
        for (uint32_t changes = random_number() % 4; changes > 0; changes--)
            packet.frame[12 + random_number() % (packet.headers - 12)] = (uint8_t)random_number();
        if (random_number() % 8 == 0)
            packet.length = packet.headers + random_number() % (packet.length - packet.headers + 1);
        if (random_number() % 8 == 0)
            packet.offload.flags = 0;
        (void)inject(&r.wire, &packet);      /* the kernel may refuse it */
        gso_count += take_until_small(&r);
    }
    CHECK(gso_count > TRIES / 50);
    receiver_close(&r);
}

static void test_false_headers_cause_no_access_outside_of_the_receive(void)
{
    for_each_gso_kind(false_headers_cause_no_access_outside_of_the_receive);
}

const struct test gso_receive_tests[] = {
    {"GSO receives: TCP beyond the MTU arrives unchanged as one receive",
     test_tcp_beyond_the_mtu_arrives_unchanged_as_one_receive},
    {"GSO receives: a tag is put back", test_tagged},
    {"GSO receives: they keep their places among others", test_keeps_order},
    {"GSO receives: they are cut for a receiver that is not ready",
     test_they_are_segmented_for_a_receiver_that_is_not_ready},
    {"GSO receives: a receive outside of its region fails", test_a_receive_outside_of_its_region_fails},
    {"GSO receives: injected faults concern one receive", test_injected_faults_concern_one_receive},
    {"GSO receives: a queue in use cannot be destroyed", test_a_queue_in_use_cannot_be_destroyed},
    {"GSO receives: a device in memory delivers none", test_a_device_in_memory_delivers_none},
    {"GSO receives: false headers cause no access outside of the receive",
     test_false_headers_cause_no_access_outside_of_the_receive},
    {NULL, NULL},
};
