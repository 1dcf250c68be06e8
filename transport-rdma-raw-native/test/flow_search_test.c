/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue that receives a frame. Each test sends through a rule twice: the second frame may use the sender's cached
 * verdict.
 */
#include "harness.h"

struct trio {
    struct world world;
    struct side from, b, c;
};

static void trio_open(struct trio *t)
{
    world_open(&t->world);
    side_open(&t->world, &t->from);
    side_open(&t->world, &t->b);
    side_open(&t->world, &t->c);
}

static void trio_close(struct trio *t)
{
    side_close(&t->from);
    side_close(&t->b);
    side_close(&t->c);
    world_close(&t->world);
}

static bool arrives(struct trio *t, const struct frame_spec *spec)
{
    uint8_t frame[2048];
    uint32_t length = build_frame(spec, frame);
    bool first = reaches(&t->from, &t->b, frame, length);
    CHECK_EQ(first, reaches(&t->from, &t->b, frame, length));
    return first;
}

/* Checks that the rule takes `good` and none of the others, in any order. */
static void check_rule(struct trio *t, struct rule *rule, const struct frame_spec *good, const struct frame_spec *bad,
                       unsigned bad_count)
{
    struct ibv_flow *flow = must_create(&t->b, rule);
    CHECK(arrives(t, good));
    for (unsigned i = 0; i < bad_count; i++) {
        if (arrives(t, &bad[i]))
            test_failed(__FILE__, __LINE__, "frame %u must not match", i);
        CHECK(arrives(t, good));
    }
    CHECK_EQ(0, ibv_destroy_flow(flow));
    CHECK(!arrives(t, good));
}

static void by_ethernet(void)
{
    struct trio t;
    struct rule rule;
    struct frame_spec good = default_frame();
    struct frame_spec bad[3] = {good, good, good};
    trio_open(&t);
    bad[0].dst[5] ^= 1;
    bad[1].src[5] ^= 1;
    bad[2].dst_ip = "2001:db8::2";
    bad[2].src_ip = "2001:db8::1";
    rule_init(&rule, 0);
    rule_eth(&rule, mac_b, mac_a, 0x0800, -1);
    check_rule(&t, &rule, &good, bad, 3);
    trio_close(&t);
}

static void by_vlan(void)
{
    struct trio t;
    struct rule rule;
    struct frame_spec good = default_frame();
    trio_open(&t);
    good.vlan = 0x2007;         /* priority 1, tag 7 */
    struct frame_spec bad[2] = {good, good};
    bad[0].vlan = 8;
    bad[1].vlan = -1;
    rule_init(&rule, 0);
    rule_eth(&rule, NULL, NULL, 0x0800, 7);
    check_rule(&t, &rule, &good, bad, 2);
    /* Addresses after the tag. */
    rule_init(&rule, 0);
    rule_eth(&rule, NULL, NULL, 0, 7);
    rule_ipv4(&rule, NULL, "192.0.2.2");
    bad[1] = good;
    bad[1].dst_ip = "192.0.2.3";
    check_rule(&t, &rule, &good, bad, 2);
    /* A rule without a tag does not match headers after one. */
    struct frame_spec plain = default_frame();
    rule_init(&rule, 0);
    rule_ipv4(&rule, NULL, "192.0.2.2");
    check_rule(&t, &rule, &plain, &good, 1);
    /* A rule with a tag does not match a service tag (802.1ad) of the same number, which is another VLAN. */
    uint8_t frame[2048];
    rule_init(&rule, 0);
    rule_eth(&rule, NULL, NULL, 0, 7);
    struct ibv_flow *flow = must_create(&t.b, &rule);
    uint32_t length = build_frame(&good, frame);
    CHECK(reaches(&t.from, &t.b, frame, length));
    memcpy(frame + 12, "\x88\xa8", 2);
    CHECK(!reaches(&t.from, &t.b, frame, length));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    trio_close(&t);
}

static void by_ipv4_and_udp(void)
{
    struct trio t;
    struct rule rule;
    struct frame_spec good = default_frame();
    struct frame_spec bad[7];
    trio_open(&t);
    for (int i = 0; i < 7; i++)
        bad[i] = good;
    bad[0].src_ip = "192.0.2.9";
    bad[1].dst_ip = "192.0.2.9";
    bad[2].src_port++;
    bad[3].dst_port++;
    bad[4].protocol = 6;
    bad[5].fragment = 0x2000;       /* the first fragment, with its ports */
    bad[6].vlan = 1;
    rule_init(&rule, 0);
    rule_eth(&rule, mac_b, NULL, 0x0800, -1);
    rule_ipv4(&rule, "192.0.2.1", "192.0.2.2");
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 1000, 2000);
    check_rule(&t, &rule, &good, bad, 7);
    trio_close(&t);
}

static void by_ipv6_and_tcp(void)
{
    struct trio t;
    struct rule rule;
    struct frame_spec good = default_frame();
    trio_open(&t);
    good.src_ip = "2001:db8::1";
    good.dst_ip = "2001:db8::2";
    good.protocol = 6;
    struct frame_spec bad[5] = {good, good, good, good, good};
    bad[0].src_ip = "2001:db8:1::1";
    bad[1].dst_ip = "2001:db8::3";
    bad[2].src_port++;
    bad[3].dst_port++;
    bad[4].protocol = 17;
    rule_init(&rule, 0);
    rule_ipv6(&rule, "2001:db8::1", "2001:db8::2");
    rule_ports(&rule, IBV_FLOW_SPEC_TCP, 1000, 2000);
    check_rule(&t, &rule, &good, bad, 5);
    trio_close(&t);
}

static void by_masks_and_header_fields(void)
{
    struct trio t;
    struct rule rule;
    struct frame_spec good = default_frame();
    struct frame_spec bad = good;
    trio_open(&t);
    bad.dst_ip = "192.0.3.2";
    rule_init(&rule, 0);
    struct ibv_flow_spec_ipv4_ext *ext = rule_add(&rule, IBV_FLOW_SPEC_IPV4_EXT, sizeof *ext);
    ext->val.dst_ip = htonl(0xc0000200);
    ext->mask.dst_ip = htonl(0xffffff00);
    ext->val.ttl = 64;
    ext->mask.ttl = 0xff;
    ext->mask.tos = 0xff;
    ext->mask.flags = 4;            /* no more fragments */
    check_rule(&t, &rule, &good, &bad, 1);
    ext->val.ttl = 63;
    struct ibv_flow *flow = must_create(&t.b, &rule);
    CHECK(!arrives(&t, &good));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    trio_close(&t);
}

static void an_empty_rule_takes_everything(void)
{
    struct trio t;
    struct rule rule;
    struct frame_spec spec = default_frame();
    trio_open(&t);
    rule_init(&rule, 15);
    struct ibv_flow *flow = must_create(&t.b, &rule);
    CHECK(arrives(&t, &spec));
    spec.vlan = 3;
    CHECK(arrives(&t, &spec));
    memcpy(spec.dst, mac_broadcast, 6);
    CHECK(arrives(&t, &spec));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    trio_close(&t);
}

static struct ibv_wc receive_with(struct trio *t, struct side *side, const struct frame_spec *spec)
{
    uint8_t frame[2048];
    uint32_t length = build_frame(spec, frame);
    CHECK_EQ(0, post_recv_slot(side, 0, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&t->from, frame, length, IBV_SEND_SIGNALED));
    poll_one(t->from.cq);
    return poll_one(side->cq);
}

static void the_lower_priority_number_wins(void)
{
    struct trio t;
    struct rule wide, narrow;
    struct frame_spec spec = default_frame();
    trio_open(&t);
    rule_init(&wide, 4);
    rule_eth(&wide, mac_b, NULL, 0, -1);
    rule_tag(&wide, 4);
    rule_init(&narrow, 1);
    rule_ports(&narrow, IBV_FLOW_SPEC_UDP, 0, 2000);
    rule_tag(&narrow, 1);
    struct ibv_flow *first = must_create(&t.b, &wide);
    CHECK_EQ(4, receive_with(&t, &t.b, &spec).qp_num);
    struct ibv_flow *second = must_create(&t.c, &narrow);
    CHECK_EQ(1, receive_with(&t, &t.c, &spec).qp_num);      /* at once, despite the sender's cached verdict */
    CHECK_EQ(0, ibv_destroy_flow(second));
    CHECK_EQ(4, receive_with(&t, &t.b, &spec).qp_num);
    CHECK_EQ(0, ibv_destroy_flow(first));
    trio_close(&t);
}

static void counters_of(struct side *side, struct softverbs_queue_counters *sent)
{
    CHECK_EQ(0, softverbs_query_qp_counters(side->qp, sent, NULL));
}

static void drops_are_counted_by_reason(void)
{
    struct trio t;
    struct rule rule;
    struct frame_spec spec = default_frame();
    struct softverbs_queue_counters sent;
    trio_open(&t);
    CHECK(!arrives(&t, &spec));
    counters_of(&t.from, &sent);
    CHECK_EQ(2, sent.no_match);
    rule_init(&rule, 0);
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, 2000);
    rule_add(&rule, IBV_FLOW_SPEC_ACTION_DROP, sizeof(struct ibv_flow_spec_action_drop));
    struct ibv_flow *drop = must_create(&t.b, &rule);
    struct ibv_flow *take = steer_mac(&t.b, mac_b);
    CHECK(!arrives(&t, &spec));
    counters_of(&t.from, &sent);
    CHECK_EQ(2, sent.no_match);
    CHECK_EQ(2, sent.dropped_by_rule);
    CHECK_EQ(0, ibv_destroy_flow(drop));
    CHECK(arrives(&t, &spec));
    CHECK_EQ(0, ibv_destroy_flow(take));
    trio_close(&t);
}

/* Checks how many copies of one frame b and c have received. */
static void check_copies(struct trio *t, const struct frame_spec *spec, int at_b, int at_c)
{
    uint8_t frame[2048];
    uint32_t length = build_frame(spec, frame);
    struct ibv_wc wc[8];
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQ(0, post_recv_slot(&t->b, i, SLOT_BYTES));
        CHECK_EQ(0, post_recv_slot(&t->c, i, SLOT_BYTES));
    }
    CHECK_EQ(0, send_frame(&t->from, frame, length, IBV_SEND_SIGNALED));
    poll_one(t->from.cq);
    CHECK_EQ(at_b, ibv_poll_cq(t->b.cq, 8, wc));
    CHECK_EQ(at_c, ibv_poll_cq(t->c.cq, 8, wc));
    CHECK_EQ(0, to_state(t->b.qp, IBV_QPS_RESET));
    CHECK_EQ(0, to_state(t->c.qp, IBV_QPS_RESET));
    to_ready(t->b.qp);
    to_ready(t->c.qp);
}

static void dont_trap_takes_a_copy(void)
{
    struct trio t;
    struct rule rule;
    struct frame_spec spec = default_frame();
    trio_open(&t);
    struct ibv_flow *take = steer_mac(&t.b, mac_b);
    rule_init(&rule, 0);
    rule_eth(&rule, mac_b, NULL, 0, -1);
    rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
    struct ibv_flow *copy = must_create(&t.c, &rule);
    check_copies(&t, &spec, 1, 1);
    CHECK_EQ(0, ibv_destroy_flow(take));
    check_copies(&t, &spec, 0, 1);
    CHECK_EQ(0, ibv_destroy_flow(copy));
    trio_close(&t);
}

static void a_sniffer_sees_everything(void)
{
    struct trio t;
    struct rule rule;
    struct frame_spec spec = default_frame();
    trio_open(&t);
    struct ibv_flow *take = steer_mac(&t.b, mac_b);
    rule_init(&rule, 0);
    rule.attr.type = IBV_FLOW_ATTR_SNIFFER;
    struct ibv_flow *sniffer = must_create(&t.c, &rule);
    check_copies(&t, &spec, 1, 1);
    spec.dst[5]++;
    check_copies(&t, &spec, 0, 1);
    CHECK_EQ(0, ibv_destroy_flow(sniffer));
    CHECK_EQ(0, ibv_destroy_flow(take));
    trio_close(&t);
}

static void default_rules_take_the_remaining_frames(void)
{
    struct trio t;
    struct rule rule;
    struct frame_spec spec = default_frame();
    trio_open(&t);
    rule_init(&rule, 0);
    rule.attr.type = IBV_FLOW_ATTR_ALL_DEFAULT;
    struct ibv_flow *all = must_create(&t.b, &rule);
    check_copies(&t, &spec, 1, 0);
    struct ibv_flow *take = steer_mac(&t.c, mac_b);
    check_copies(&t, &spec, 0, 1);
    CHECK_EQ(0, ibv_destroy_flow(take));
    CHECK_EQ(0, ibv_destroy_flow(all));
    rule.attr.type = IBV_FLOW_ATTR_MC_DEFAULT;
    struct ibv_flow *multicast = must_create(&t.c, &rule);
    check_copies(&t, &spec, 0, 0);
    memcpy(spec.dst, mac_multicast, 6);
    check_copies(&t, &spec, 0, 1);
    CHECK_EQ(0, ibv_destroy_flow(multicast));
    trio_close(&t);
}

/* No rule matches the address, so only the multicast bit distinguishes the two frames. */
static void the_multicast_default_takes_no_unicast(void)
{
    struct trio t;
    struct rule rule;
    struct frame_spec spec = default_frame();
    trio_open(&t);
    rule_init(&rule, 0);
    rule.attr.type = IBV_FLOW_ATTR_MC_DEFAULT;
    struct ibv_flow *flow = must_create(&t.b, &rule);
    CHECK(!arrives(&t, &spec));
    spec.dst[0] |= 1;
    CHECK(arrives(&t, &spec));
    spec.dst[0] &= 0xfe;
    CHECK(!arrives(&t, &spec));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    trio_close(&t);
}

static void multicast_goes_to_all_queue_pairs_with_its_rule(void)
{
    struct trio t;
    struct frame_spec spec = default_frame();
    trio_open(&t);
    memcpy(spec.dst, mac_multicast, 6);
    struct ibv_flow *one = steer_mac(&t.b, mac_multicast);
    struct ibv_flow *two = steer_mac(&t.c, mac_multicast);
    check_copies(&t, &spec, 1, 1);
    CHECK_EQ(0, ibv_destroy_flow(one));
    check_copies(&t, &spec, 0, 1);
    one = steer_mac(&t.b, mac_multicast);
    check_copies(&t, &spec, 1, 1);
    CHECK_EQ(0, ibv_destroy_flow(two));
    check_copies(&t, &spec, 1, 0);
    CHECK_EQ(0, ibv_destroy_flow(one));
    trio_close(&t);
}

static void own_multicast_is_not_delivered_on_request(void)
{
    struct trio t;
    uint8_t frame[2048];
    struct softverbs_queue_counters sent;
    struct frame_spec spec = default_frame();
    trio_open(&t);
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = t.b.cq, .recv_cq = t.b.cq, .qp_type = IBV_QPT_RAW_PACKET, .pd = t.world.pd,
        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
        .create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
    };
    struct side own = t.b;
    own.qp = ibv_create_qp_ex(t.world.context, &attr);
    CHECK(own.qp != NULL);
    to_ready(own.qp);
    memcpy(spec.dst, mac_broadcast, 6);
    uint32_t length = build_frame(&spec, frame);
    struct ibv_flow *blocked = steer_mac(&own, mac_broadcast);
    struct ibv_flow *other = steer_mac(&t.c, mac_broadcast);
    struct ibv_flow *unicast = steer_mac(&own, mac_b);
    CHECK(!reaches(&own, &own, frame, length));
    CHECK(reaches(&own, &t.c, frame, length));
    CHECK(reaches(&t.from, &own, frame, length));
    CHECK_EQ(0, ibv_destroy_flow(other));
    CHECK(!reaches(&own, &own, frame, length));
    counters_of(&own, &sent);
    CHECK_EQ(1, sent.blocked_self);
    memcpy(frame, mac_b, 6);
    CHECK(reaches(&own, &own, frame, length));      /* unicast is received again */
    CHECK_EQ(0, ibv_destroy_flow(blocked));
    CHECK_EQ(0, ibv_destroy_flow(unicast));
    CHECK_EQ(0, ibv_destroy_qp(own.qp));
    trio_close(&t);
}

static void devices_do_not_share_frames(void)
{
    struct trio t, other;
    uint8_t frame[2048];
    struct frame_spec spec = default_frame();
    uint32_t length = build_frame(&spec, frame);
    trio_open(&t);
    trio_open(&other);
    struct ibv_flow *flow = steer_mac(&t.b, mac_b);
    CHECK(!reaches(&other.from, &t.b, frame, length));
    CHECK(reaches(&t.from, &t.b, frame, length));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    trio_close(&t);
    trio_close(&other);
}

/* Ethernet, IPv4, UDP to 4789, VXLAN, and the inner frame. */
static uint32_t build_vxlan(uint8_t *frame, uint32_t vni, const struct frame_spec *inner_spec)
{
    uint8_t inner[512];
    uint32_t inner_length = build_frame(inner_spec, inner);
    struct frame_spec outer = default_frame();
    outer.dst_port = 4789;
    outer.payload = (uint16_t)(8 + inner_length);
    uint32_t length = build_frame(&outer, frame);
    uint8_t *vxlan = frame + 42;
    memset(vxlan, 0, 8);
    vxlan[0] = 8;
    vxlan[4] = (uint8_t)(vni >> 16);
    vxlan[5] = (uint8_t)(vni >> 8);
    vxlan[6] = (uint8_t)vni;
    memcpy(vxlan + 8, inner, inner_length);
    return length;
}

static void by_tunnel_and_inner_headers(void)
{
    struct trio t;
    struct rule rule;
    uint8_t frame[2048];
    struct frame_spec inner = default_frame();
    trio_open(&t);
    inner.dst_ip = "198.51.100.7";
    rule_init(&rule, 0);
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, 4789);
    struct ibv_flow_spec_tunnel *tunnel = rule_add(&rule, IBV_FLOW_SPEC_VXLAN_TUNNEL, sizeof *tunnel);
    tunnel->val.tunnel_id = htonl(77);
    tunnel->mask.tunnel_id = htonl(0xffffff);
    rule_ipv4(&rule, NULL, "198.51.100.7");
    /* The last spec's type gets the INNER bit. */
    struct ibv_flow_spec_ipv4 *ip = (struct ibv_flow_spec_ipv4 *)((uint8_t *)tunnel + sizeof *tunnel);
    ip->type = (enum ibv_flow_spec_type)(IBV_FLOW_SPEC_IPV4 | IBV_FLOW_SPEC_INNER);
    struct ibv_flow *flow = must_create(&t.b, &rule);
    for (int i = 0; i < 2; i++) {
        CHECK(reaches(&t.from, &t.b, frame, build_vxlan(frame, 77, &inner)));
        CHECK(!reaches(&t.from, &t.b, frame, build_vxlan(frame, 78, &inner)));
        struct frame_spec wrong = inner;
        wrong.dst_ip = "198.51.100.8";
        CHECK(!reaches(&t.from, &t.b, frame, build_vxlan(frame, 77, &wrong)));
    }
    CHECK_EQ(0, ibv_destroy_flow(flow));
    trio_close(&t);
}

const struct test flow_search_tests[] = {
    {"steering by Ethernet", by_ethernet},
    {"steering by VLAN", by_vlan},
    {"steering by IPv4 and UDP", by_ipv4_and_udp},
    {"steering by IPv6 and TCP", by_ipv6_and_tcp},
    {"steering by masks and header fields", by_masks_and_header_fields},
    {"steering by tunnel and inner headers", by_tunnel_and_inner_headers},
    {"an empty rule takes everything", an_empty_rule_takes_everything},
    {"the lower priority number wins", the_lower_priority_number_wins},
    {"drops are counted by reason", drops_are_counted_by_reason},
    {"DONT_TRAP takes a copy", dont_trap_takes_a_copy},
    {"a sniffer sees everything", a_sniffer_sees_everything},
    {"default rules take the remaining frames", default_rules_take_the_remaining_frames},
    {"the multicast default takes no unicast", the_multicast_default_takes_no_unicast},
    {"multicast goes to all queue pairs with its rule", multicast_goes_to_all_queue_pairs_with_its_rule},
    {"own multicast is not delivered on request", own_multicast_is_not_delivered_on_request},
    {"devices do not share frames", devices_do_not_share_frames},
    {NULL, NULL},
};
