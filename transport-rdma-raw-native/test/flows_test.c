/* SPDX-License-Identifier: Apache-2.0 */
/* Creating rules: which rules are refused, and with which errno. flow_search_test.c tests where frames go. */
#include "harness.h"

static void check_refused(struct side *side, struct rule *rule, int error)
{
    CHECK_FAILS(error, ibv_create_flow(side->qp, &rule->attr));
}

static void malformed_rules_are_refused(void)
{
    struct world world;
    struct side side;
    struct rule rule;
    world_open(&world);
    side_open(&world, &side);

    rule_init(&rule, 16);
    check_refused(&side, &rule, ENOMEM);
    rule_init(&rule, 0);
    rule.attr.port = 2;
    check_refused(&side, &rule, EINVAL);
    rule_init(&rule, 0);
    rule.attr.comp_mask = 1;
    check_refused(&side, &rule, EINVAL);
    rule_init(&rule, 0);
    rule.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
    check_refused(&side, &rule, EOPNOTSUPP);
    rule_init(&rule, 0);
    rule.attr.flags = 1;
    check_refused(&side, &rule, EINVAL);
    rule_init(&rule, 0);
    rule.attr.type = (enum ibv_flow_attr_type)9;
    check_refused(&side, &rule, EINVAL);

    rule_init(&rule, 0);        /* a value bit outside the mask */
    rule_eth(&rule, mac_b, NULL, 0, -1);
    ((struct ibv_flow_spec_eth *)rule.specs)->mask.dst_mac[5] = 0xf0;
    check_refused(&side, &rule, EINVAL);

    rule_init(&rule, 0);        /* an EtherType that the IP spec contradicts */
    rule_eth(&rule, NULL, NULL, 0x86dd, -1);
    rule_ipv4(&rule, NULL, "192.0.2.2");
    check_refused(&side, &rule, EINVAL);

    rule_init(&rule, 0);        /* two specs of a layer */
    rule_ipv4(&rule, NULL, "192.0.2.2");
    rule_ipv6(&rule, NULL, "2001:db8::1");
    check_refused(&side, &rule, EINVAL);
    rule_init(&rule, 0);
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, 1);
    rule_ports(&rule, IBV_FLOW_SPEC_TCP, 0, 1);
    check_refused(&side, &rule, EINVAL);

    rule_init(&rule, 0);        /* a protocol that the L4 spec contradicts */
    struct ibv_flow_spec_ipv4_ext *ext = rule_add(&rule, IBV_FLOW_SPEC_IPV4_EXT, sizeof *ext);
    ext->val.proto = 6;
    ext->mask.proto = 0xff;
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, 1);
    check_refused(&side, &rule, EINVAL);

    rule_init(&rule, 0);        /* an invalid size, and an invalid type */
    rule_add(&rule, IBV_FLOW_SPEC_ETH, 12);
    check_refused(&side, &rule, EINVAL);
    rule_init(&rule, 0);
    rule_add(&rule, IBV_FLOW_SPEC_ETH, 0);
    check_refused(&side, &rule, EINVAL);
    rule_init(&rule, 0);
    rule_add(&rule, IBV_FLOW_SPEC_GRE, sizeof(struct ibv_flow_spec_gre));
    check_refused(&side, &rule, EOPNOTSUPP);

    rule_init(&rule, 0);
    rule_tag(&rule, 0x1000000);
    check_refused(&side, &rule, EINVAL);
    side_close(&side);
    world_close(&world);
}

/* libibverbs reads num_of_specs specs and no size. pyverbs sets a size that covers no spec. */
static void the_size_of_a_rule_is_not_read(void)
{
    struct world world;
    struct side side;
    struct rule rule;
    world_open(&world);
    side_open(&world, &side);
    rule_init(&rule, 0);
    rule_ipv4(&rule, NULL, "192.0.2.2");
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, 2000);
    const uint16_t sizes[] = {0, 1, sizeof rule.attr, rule.attr.size - 1, UINT16_MAX};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        rule.attr.size = sizes[i];
        CHECK_EQ(0, ibv_destroy_flow(must_create(&side, &rule)));
    }
    rule.attr.num_of_specs = 11;
    check_refused(&side, &rule, EINVAL);
    side_close(&side);
    world_close(&world);
}

static void default_rules_accept_neither_a_match_nor_copies(void)
{
    struct world world;
    struct side side;
    struct rule rule;
    world_open(&world);
    side_open(&world, &side);
    rule_init(&rule, 0);
    rule.attr.type = IBV_FLOW_ATTR_ALL_DEFAULT;
    rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
    check_refused(&side, &rule, EINVAL);
    rule.attr.type = IBV_FLOW_ATTR_MC_DEFAULT;
    check_refused(&side, &rule, EINVAL);
    rule_init(&rule, 0);
    rule.attr.type = IBV_FLOW_ATTR_ALL_DEFAULT;
    rule_eth(&rule, mac_b, NULL, 0, -1);
    check_refused(&side, &rule, EINVAL);
    side_close(&side);
    world_close(&world);
}

static void the_same_rule_twice_exists(void)
{
    struct world world;
    struct side a, b;
    struct rule rule;
    world_open(&world);
    side_open(&world, &a);
    side_open(&world, &b);
    struct ibv_flow *flow = steer_mac(&a, mac_b);
    rule_init(&rule, 4);
    rule_eth(&rule, mac_b, NULL, 0, -1);
    check_refused(&a, &rule, EEXIST);
    check_refused(&b, &rule, EEXIST);
    rule_tag(&rule, 5);         /* the tag is not part of the match */
    check_refused(&b, &rule, EEXIST);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    CHECK_EQ(0, ibv_destroy_flow(steer_mac(&b, mac_b)));

    rule_init(&rule, 0);        /* a sniffer: one per device */
    rule.attr.type = IBV_FLOW_ATTR_SNIFFER;
    flow = must_create(&a, &rule);
    check_refused(&b, &rule, EEXIST);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    side_close(&a);
    side_close(&b);
    world_close(&world);
}

static void a_priority_holds_six_subtables(void)
{
    struct world world;
    struct side side;
    struct ibv_flow *flows[7];
    struct rule rule;
    world_open(&world);
    side_open(&world, &side);
    for (unsigned i = 0; i < 7; i++) {
        rule_init(&rule, 3);
        rule_eth(&rule, mac_b, NULL, 0, -1);
        struct ibv_flow_spec_eth *eth = (struct ibv_flow_spec_eth *)rule.specs;
        eth->mask.dst_mac[5] = (uint8_t)(0xff << i);
        eth->val.dst_mac[5] = 0;
        if (i < 6)
            flows[i] = must_create(&side, &rule);
        else
            check_refused(&side, &rule, ENOMEM);
    }
    rule.attr.priority = 4;
    flows[6] = must_create(&side, &rule);
    for (unsigned i = 0; i < 7; i++)
        CHECK_EQ(0, ibv_destroy_flow(flows[i]));
    side_close(&side);
    world_close(&world);
}

static void counters_are_attached_before_use(void)
{
    struct world world;
    struct side a, b;
    struct rule rule;
    uint8_t frame[2048];
    uint64_t values[2] = {9, 9};
    struct frame_spec spec = default_frame();
    world_open(&world);
    side_open(&world, &a);
    side_open(&world, &b);
    struct ibv_counters *counters = ibv_create_counters(world.context, &(struct ibv_counters_init_attr){0});
    CHECK(counters != NULL);
    struct ibv_counter_attach_attr attach = {.counter_desc = IBV_COUNTER_PACKETS, .index = 1};
    CHECK_EQ(0, ibv_attach_counters_point_flow(counters, &attach, NULL));
    attach = (struct ibv_counter_attach_attr){.counter_desc = IBV_COUNTER_BYTES, .index = 0};
    CHECK_EQ(0, ibv_attach_counters_point_flow(counters, &attach, NULL));
    rule_init(&rule, 0);
    rule_eth(&rule, mac_b, NULL, 0, -1);
    void *action = rule_add(&rule, IBV_FLOW_SPEC_ACTION_COUNT, sizeof(struct ibv_flow_spec_counter_action));
    memcpy((uint8_t *)action + offsetof(struct ibv_flow_spec_counter_action, counters), &counters, sizeof counters);
    struct ibv_flow *flow = must_create(&b, &rule);
    CHECK_EQ(EBUSY, ibv_destroy_counters(counters));
    uint32_t length = build_frame(&spec, frame);
    for (int i = 0; i < 3; i++)
        CHECK(reaches(&a, &b, frame, length));
    CHECK_EQ(0, ibv_read_counters(counters, values, 2, 0));
    CHECK_EQ(3, values[1]);
    CHECK_EQ(3 * length, values[0]);
    CHECK_EQ(EINVAL, ibv_read_counters(counters, values, 1, 0));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    CHECK_EQ(0, ibv_destroy_counters(counters));
    side_close(&a);
    side_close(&b);
    world_close(&world);
}

/* Adds and removes many rules: the table grows and is cleaned up. */
static void rules_come_and_go(void)
{
    enum { RULES = 1000 };
    static struct ibv_flow *flows[RULES];
    struct world world;
    struct side a, b;
    struct rule rule;
    uint8_t frame[2048];
    struct softverbs_counters counters;
    world_open(&world);
    side_open(&world, &a);
    side_open(&world, &b);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < RULES; i++) {
            rule_init(&rule, 1);
            rule_ipv4(&rule, NULL, "192.0.2.2");
            rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, (uint16_t)(1 + i));
            flows[i] = must_create(&b, &rule);
        }
        CHECK_EQ(0, softverbs_query_counters(world.context, &counters));
        CHECK_EQ(RULES, counters.flow_rules);
        for (unsigned i = round; i < RULES; i += 3) {
            CHECK_EQ(0, ibv_destroy_flow(flows[i]));
            flows[i] = NULL;
        }
        for (unsigned i = 0; i < RULES; i++) {
            struct frame_spec spec = default_frame();
            spec.dst_port = (uint16_t)(1 + i);
            uint32_t length = build_frame(&spec, frame);
            CHECK_EQ(flows[i] != NULL, reaches(&a, &b, frame, length));
        }
        for (unsigned i = 0; i < RULES; i++)
            if (flows[i] != NULL)
                CHECK_EQ(0, ibv_destroy_flow(flows[i]));
    }
    CHECK_EQ(0, softverbs_query_counters(world.context, &counters));
    CHECK_EQ(0, counters.flow_rules);
    side_close(&a);
    side_close(&b);
    world_close(&world);
}

const struct test flow_tests[] = {
    {"flow: the size of a rule is not read", the_size_of_a_rule_is_not_read},
    {"malformed rules are refused", malformed_rules_are_refused},
    {"default rules accept neither a match nor copies", default_rules_accept_neither_a_match_nor_copies},
    {"the same rule twice exists", the_same_rule_twice_exists},
    {"a priority holds six subtables", a_priority_holds_six_subtables},
    {"counters are attached before use", counters_are_attached_before_use},
    {"rules come and go", rules_come_and_go},
    {NULL, NULL},
};
