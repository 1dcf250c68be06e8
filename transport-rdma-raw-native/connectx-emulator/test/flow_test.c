/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for which the kernel's driver deviates from verbs. */
#include "harness.h"

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

const struct test flow_tests[] = {
    {"a rule for a multicast address comes last", a_rule_for_a_multicast_address_comes_last},
    {NULL, NULL},
};
