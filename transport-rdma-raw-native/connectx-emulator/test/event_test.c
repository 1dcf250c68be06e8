/* SPDX-License-Identifier: Apache-2.0 */
/* Completion events, and asynchronous ones. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

enum { FIRST_SEND = SLOTS / 2 };

static uint8_t frame[SLOT_BYTES];
static uint32_t length;

static void open_side(struct world *world, struct side *side)
{
    length = build_frame(frame, 17, 1000, 100, 1);
    world_open(world, "mlx5_0");
    side_open(world, side, 0, true);
}

static void send_one(struct side *side)
{
    post_send(side, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
}

static bool has_event(const struct side *side)
{
    struct pollfd readable = {.fd = side->channel->fd, .events = POLLIN};
    return poll(&readable, 1, 0) == 1;
}

static void take_event(struct side *side)
{
    struct ibv_cq *cq;
    void *context;
    await_readable(side->channel->fd, "completion event");
    CHECK_EQ(0, ibv_get_cq_event(side->channel, &cq, &context));
    CHECK(cq == side->cq && context == side);
    ibv_ack_cq_events(cq, 1);
}

static void one_arming_raises_one_event(void)
{
    struct world world;
    struct side side;
    open_side(&world, &side);
    send_one(&side);
    next_success(side.cq);
    CHECK(!has_event(&side));
    for (unsigned i = 0; i < 10; i++) {
        CHECK_EQ(0, ibv_req_notify_cq(side.cq, 0));
        send_one(&side);
        take_event(&side);
        next_success(side.cq);
        send_one(&side);
        next_success(side.cq);
        CHECK(!has_event(&side));
    }
    side_close(&side);
    world_close(&world);
}

/* A completion from before the arming that the program has not seen raises an event at once. */
static void arming_after_a_completion_raises_an_event_at_once(void)
{
    struct world world;
    struct side side;
    uint32_t done;
    open_side(&world, &side);
    for (unsigned i = 0; i < 20; i++) {
        CHECK_EQ(0, emulator.set_stepping("mlx5_0", 1));
        send_one(&side);
        CHECK_EQ(0, emulator.step("mlx5_0", 1, &done));
        CHECK_EQ(0, ibv_req_notify_cq(side.cq, 0));
        CHECK_EQ(0, emulator.set_stepping("mlx5_0", 0));
        take_event(&side);
        next_success(side.cq);
    }
    side_close(&side);
    world_close(&world);
}

static void a_queue_with_unread_events_can_be_destroyed(void)
{
    struct world world;
    struct side side;
    struct ibv_cq *cq;
    void *context;
    open_side(&world, &side);
    CHECK_EQ(0, ibv_req_notify_cq(side.cq, 0));
    send_one(&side);
    await_readable(side.channel->fd, "completion event");
    CHECK_EQ(0, ibv_destroy_qp(side.qp));
    CHECK_EQ(0, ibv_destroy_cq(side.cq));
    CHECK_EQ(0, fcntl(side.channel->fd, F_SETFL, O_NONBLOCK));
    CHECK_EQ(-1, ibv_get_cq_event(side.channel, &cq, &context));
    CHECK_EQ(EAGAIN, errno);
    CHECK_EQ(0, ibv_destroy_comp_channel(side.channel));
    CHECK_EQ(0, ibv_dereg_mr(side.mr));
    world_close(&world);
}

static void ports_report_their_state(void)
{
    struct world world;
    struct side side;
    struct ibv_port_attr port;
    struct cxemu_counters before, after;
    open_side(&world, &side);
    CHECK_EQ(0, emulator.query_counters("mlx5_0", &before));
    CHECK_EQ(0, emulator.set_port_up("mlx5_0", 0));
    struct ibv_async_event event = next_event(world.context);
    CHECK_EQ(IBV_EVENT_PORT_ERR, event.event_type);
    CHECK_EQ(1, event.element.port_num);
    ibv_ack_async_event(&event);
    CHECK_EQ(0, ibv_query_port(world.context, 1, &port));
    CHECK_EQ(IBV_PORT_DOWN, port.state);
    send_one(&side);
    next_success(side.cq);
    CHECK_EQ(0, emulator.query_counters("mlx5_0", &after));
    CHECK_EQ(before.port_down + 1, after.port_down);
    CHECK_EQ(0, emulator.set_port_up("mlx5_0", 1));
    event = next_event(world.context);
    CHECK_EQ(IBV_EVENT_PORT_ACTIVE, event.event_type);
    ibv_ack_async_event(&event);
    side_close(&side);
    world_close(&world);
}

/* With the write ABI, libibverbs reads the table from sysfs, where the interface must exist in the kernel. */
static void the_device_has_mellanox_number_and_a_gid(void)
{
    struct world world;
    struct side side;
    struct ibv_device_attr device;
    struct ibv_gid_entry entry, table[2];
    union ibv_gid gid;
    const char *abi = getenv("CONNECTX_EMULATOR_ABI");
    open_side(&world, &side);
    CHECK_EQ(0, ibv_query_device(world.context, &device));
    CHECK_EQ(0x02c9, device.vendor_id);
    if (abi != NULL && strcmp(abi, "ioctl") == 0) {
        CHECK_EQ(0, ibv_query_gid(world.context, 1, 0, &gid));
        CHECK_EQ(0, ibv_query_gid_ex(world.context, 1, 0, &entry, 0));
        CHECK_EQ(0, memcmp(&gid, &entry.gid, sizeof gid));
        CHECK_EQ(IBV_GID_TYPE_ROCE_V1, entry.gid_type);
        CHECK(entry.ndev_ifindex != 0);
        CHECK_EQ(EINVAL, ibv_query_gid_ex(world.context, 1, 1, &entry, 0));
        CHECK_EQ(1, ibv_query_gid_table(world.context, table, 2, 0));
        CHECK_EQ(0, memcmp(&gid, &table[0].gid, sizeof gid));
        CHECK_EQ(-EINVAL, ibv_query_gid_table(world.context, table, 0, 0));
    }
    side_close(&side);
    world_close(&world);
}

const struct test event_tests[] = {
    {"one arming raises one event", one_arming_raises_one_event},
    {"arming after a completion raises an event at once", arming_after_a_completion_raises_an_event_at_once},
    {"a queue with unread events can be destroyed", a_queue_with_unread_events_can_be_destroyed},
    {"ports report their state", ports_report_their_state},
    {"the device has Mellanox' number and a GID", the_device_has_mellanox_number_and_a_gid},
    {NULL, NULL},
};
