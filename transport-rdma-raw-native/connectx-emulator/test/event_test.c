/* SPDX-License-Identifier: Apache-2.0 */
/* Completion events, and asynchronous ones. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

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

static void an_arming_gives_one_event(void)
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

/* A completion that came before the arming, and that the program has not seen, is told at once. */
static void arming_late_tells_at_once(void)
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

static void ports_tell_their_state(void)
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

const struct test event_tests[] = {
    {"an arming gives one event", an_arming_gives_one_event},
    {"arming late tells at once", arming_late_tells_at_once},
    {"a queue with unread events can be destroyed", a_queue_with_unread_events_can_be_destroyed},
    {"ports tell their state", ports_tell_their_state},
    {NULL, NULL},
};
