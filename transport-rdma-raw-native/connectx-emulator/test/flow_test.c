/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for which the kernel's driver deviates from verbs. */
#include "harness.h"

#include <errno.h>

enum { FIRST_SEND = SLOTS / 2 };

/* MLX5_IB_FLOW_MCAST_PRIO: such a rule applies only if no other rule has taken the frame, whatever its priority. */
static void a_rule_for_a_multicast_address_comes_last(void)
{
    static const uint8_t group[6] = {1, 0, 0x5e, 0, 0, 1};
    struct world world;
    struct side side;
    uint8_t frame[SLOT_BYTES];
    uint32_t length = build_frame(frame, 17, 1000, 100, 1);
    memcpy(frame, group, sizeof group);
    world_open(&world, "mlx5_0");
    side_open(&world, &side, 0, false);
    struct ibv_flow *to_group = steer_mac(side.qp, group, 1);
    struct ibv_flow *from_sender = steer_sender(side.qp, mac_a, 2, 15);
    for (uint32_t tag = 2; tag > 0; tag--) {
        post_receive(&side, 0, SLOT_BYTES);
        post_send(&side, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
        struct ibv_wc wc = next_success(side.cq);
        if (wc.opcode != IBV_WC_RECV)
            wc = next_success(side.cq);
        else
            next_success(side.cq);
        CHECK_EQ(tag, wc.qp_num);
        if (tag == 2)
            CHECK_EQ(0, ibv_destroy_flow(from_sender));
    }
    CHECK_EQ(0, ibv_destroy_flow(to_group));
    side_close(&side);
    world_close(&world);
}

/* Creates a rule for a MAC address on a port. Returns NULL with errno on failure. */
static struct ibv_flow *steer_on(struct ibv_qp *qp, uint8_t port, const uint8_t *mac)
{
    struct {
        struct ibv_flow_attr attr;
        struct ibv_flow_spec_eth eth;
    } rule = {
        .attr = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof rule, .num_of_specs = 1, .port = port},
        .eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof rule.eth},
    };
    memcpy(rule.eth.val.dst_mac, mac, 6);
    memset(rule.eth.mask.dst_mac, 0xff, 6);
    return ibv_create_flow(qp, &rule.attr);
}

static int to_init(struct ibv_qp *qp, uint8_t port)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = port};
    return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT);
}

static void check_refused(struct ibv_qp *qp, uint8_t port)
{
    CHECK_EQ(0, to_state(qp, IBV_QPS_RESET));
    CHECK_EQ(EINVAL, to_init(qp, port));
    CHECK_EQ(IBV_QPS_RESET, state_of(qp));
    CHECK(steer_on(qp, port, mac_b) == NULL);
    CHECK_EQ(EINVAL, errno);
}

/* In switchdev mode, port 1 has no representor: create_flow_rule_vport_sq() and _create_flow_rule() of mlx5_ib. */
static void ports_without_a_representor_are_refused(void)
{
    struct world world;
    struct side side;
    world_open(&world, "mlx5_0");
    side_open(&world, &side, 0, false);
    check_refused(side.qp, 0);
    check_refused(side.qp, wire_port + 1);
    if (wire_port > 1)
        check_refused(side.qp, 1);
    CHECK_EQ(0, to_init(side.qp, wire_port));
    side_close(&side);
    world_close(&world);
}

/* Frames of the wire match the rules of its port only, and a representor's port does not send to the wire. */
static void a_representor_is_not_on_the_wire(void)
{
    struct world world;
    struct side wire, other;
    uint8_t frame[SLOT_BYTES];
    world_open(&world, "mlx5_0");
    side_open(&world, &wire, 0, false);
    side_open(&world, &other, 0, false);
    if (wire_port > 1) {
        CHECK_EQ(0, to_state(other.qp, IBV_QPS_RESET));
        CHECK_EQ(0, to_init(other.qp, wire_port - 1));
        CHECK_EQ(0, to_state(other.qp, IBV_QPS_RTR));
        CHECK_EQ(0, to_state(other.qp, IBV_QPS_RTS));
        struct ibv_flow *of_other = steer_on(other.qp, wire_port - 1, mac_b);
        struct ibv_flow *of_wire = steer_on(wire.qp, wire_port, mac_b);
        CHECK(of_other != NULL && of_wire != NULL);
        post_receive(&wire, 0, SLOT_BYTES);
        post_receive(&other, 0, SLOT_BYTES);
        uint32_t length = build_frame(frame, 17, 1000, 100, 1);
        post_send(&other, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
        CHECK_EQ(IBV_WC_SEND, next_success(other.cq).opcode);
        length = build_frame(frame, 17, 1000, 200, 1);
        post_send(&wire, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
        struct ibv_wc first = next_success(wire.cq), second = next_success(wire.cq);
        CHECK_EQ(length, first.opcode == IBV_WC_RECV ? first.byte_len : second.byte_len);
        CHECK_EQ(0, ibv_poll_cq(other.cq, 1, &first));
        CHECK_EQ(0, ibv_destroy_flow(of_other));
        CHECK_EQ(0, ibv_destroy_flow(of_wire));
    }
    side_close(&wire);
    side_close(&other);
    world_close(&world);
}

const struct test flow_tests[] = {
    {"ports without a representor are refused", ports_without_a_representor_are_refused},
    {"a representor is not on the wire", a_representor_is_not_on_the_wire},
    {"a rule for a multicast address comes last", a_rule_for_a_multicast_address_comes_last},
    {NULL, NULL},
};
