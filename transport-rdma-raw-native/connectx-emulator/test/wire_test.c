/* SPDX-License-Identifier: Apache-2.0 */
/* Two devices with a cable between them. */
#include "harness.h"

enum { FIRST_SEND = SLOTS / 2 };

static void frames_cross_a_cable(void)
{
    struct world here, there;
    struct side a, b;
    uint8_t frame[SLOT_BYTES];
    world_open(&here, "mlx5_0");
    world_open(&there, "mlx5_1");
    side_open(&here, &a, 0, false);
    side_open(&there, &b, 0, false);
    struct ibv_flow *to_b = steer_mac(b.qp, mac_b, 1);
    struct ibv_flow *to_a = steer_mac(a.qp, mac_b, 2);
    for (uint32_t i = 0; i < 200; i++) {
        struct side *from = i % 2 == 0 ? &a : &b;
        struct side *to = i % 2 == 0 ? &b : &a;
        uint32_t length = build_frame(frame, 17, 1000, i * 5, i);
        post_receive(to, 0, SLOT_BYTES);
        post_send(from, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
        CHECK_EQ(IBV_WC_SEND, next_success(from->cq).opcode);
        CHECK_EQ(length, next_success(to->cq).byte_len);
        CHECK(memcmp(slot_at(to, 0), frame, length) == 0);
    }
    CHECK_EQ(0, ibv_destroy_flow(to_a));
    CHECK_EQ(0, ibv_destroy_flow(to_b));
    side_close(&a);
    side_close(&b);
    world_close(&here);
    world_close(&there);
}

static uint32_t send_frame(struct side *from, uint32_t payload)
{
    uint8_t frame[SLOT_BYTES];
    uint32_t length = build_frame(frame, 17, 1000, payload, payload);
    post_send(from, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
    CHECK_EQ(IBV_WC_SEND, next_success(from->cq).opcode);
    return length;
}

/* It does not wait for the next program's rule. */
static void frames_to_a_closed_device_are_lost(void)
{
    struct world here, there;
    struct side a, b;
    world_open(&here, "mlx5_0");
    side_open(&here, &a, 0, false);
    world_open(&there, "mlx5_1");
    /* Such a device takes nothing from the cable by itself, as if its thread did not run. */
    CHECK_EQ(0, emulator.set_stepping("mlx5_1", 1));
    send_frame(&a, 100);
    world_close(&there);
    world_open(&there, "mlx5_1");
    side_open(&there, &b, 0, false);
    post_receive(&b, 0, SLOT_BYTES);
    post_receive(&b, 1, SLOT_BYTES);
    struct ibv_flow *to_b = steer_mac(b.qp, mac_b, 1);
    CHECK_EQ(0, emulator.set_stepping("mlx5_1", 0));
    uint32_t length = send_frame(&a, 200);
    CHECK_EQ(length, next_success(b.cq).byte_len);
    CHECK_EQ(0, ibv_destroy_flow(to_b));
    side_close(&a);
    side_close(&b);
    world_close(&here);
    world_close(&there);
}

const struct test wire_tests[] = {
    {"frames cross a cable", frames_cross_a_cable},
    {"a cable: frames to a closed device are lost", frames_to_a_closed_device_are_lost},
    {NULL, NULL},
};
