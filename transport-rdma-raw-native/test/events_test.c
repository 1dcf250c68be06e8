/* SPDX-License-Identifier: Apache-2.0 */
/* Completion events, arming, asynchronous events and completion queue overrun. */
#include "harness.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

struct armed {
    struct world world;
    struct side from, to;
    struct ibv_comp_channel *channel;
    struct ibv_flow *flow;
    uint8_t frame[2048];
    uint32_t length;
};

static bool readable(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    return poll(&poller, 1, 0) == 1;
}

static void armed_open(struct armed *a, int cqe)
{
    struct frame_spec spec = default_frame();
    world_open(&a->world);
    side_open(&a->world, &a->from);
    side_open(&a->world, &a->to);
    CHECK_EQ(0, ibv_destroy_qp(a->to.qp));
    CHECK_EQ(0, ibv_destroy_cq(a->to.cq));
    a->channel = ibv_create_comp_channel(a->world.context);
    CHECK(a->channel != NULL);
    a->to.cq = ibv_create_cq(a->world.context, cqe, a, a->channel, 0);
    CHECK(a->to.cq != NULL);
    a->to.qp = qp_create(&a->world, a->to.cq);
    to_ready(a->to.qp);
    a->flow = steer_mac(&a->to, mac_b);
    a->length = build_frame(&spec, a->frame);
}

static void armed_close(struct armed *a)
{
    CHECK_EQ(0, ibv_destroy_flow(a->flow));
    side_close(&a->to);
    CHECK_EQ(0, ibv_destroy_comp_channel(a->channel));
    side_close(&a->from);
    world_close(&a->world);
}

static void deliver(struct armed *a)
{
    CHECK_EQ(0, post_recv_slot(&a->to, 0, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&a->from, a->frame, a->length, IBV_SEND_SIGNALED));
    poll_one(a->from.cq);
}

static void get_event(struct armed *a)
{
    struct ibv_cq *cq;
    void *context;
    CHECK_EQ(0, ibv_get_cq_event(a->channel, &cq, &context));
    CHECK(cq == a->to.cq);
    CHECK(context == a);
}

static void an_armed_queue_raises_one_event(void)
{
    struct armed a;
    armed_open(&a, 16);
    deliver(&a);
    CHECK(!readable(a.channel->fd));        /* not armed */
    CHECK_EQ(0, ibv_req_notify_cq(a.to.cq, 0));
    CHECK(!readable(a.channel->fd));        /* completions from before do not count */
    deliver(&a);
    CHECK(readable(a.channel->fd));
    deliver(&a);
    get_event(&a);
    CHECK(!readable(a.channel->fd));        /* one event per arming */
    ibv_ack_cq_events(a.to.cq, 1);
    CHECK_EQ(0, ibv_req_notify_cq(a.to.cq, 0));
    deliver(&a);
    CHECK(readable(a.channel->fd));
    armed_close(&a);                        /* an unread event disappears with its queue */
}

static void a_channel_without_events_gives_eagain(void)
{
    struct armed a;
    struct ibv_cq *cq;
    void *context;
    armed_open(&a, 16);
    CHECK_EQ(0, fcntl(a.channel->fd, F_SETFL, O_NONBLOCK));
    CHECK_EQ(-1, ibv_get_cq_event(a.channel, &cq, &context));
    CHECK_EQ(EAGAIN, errno);
    CHECK_EQ(0, ibv_req_notify_cq(a.to.cq, 0));
    deliver(&a);
    get_event(&a);
    ibv_ack_cq_events(a.to.cq, 1);
    armed_close(&a);
}

static void only_errors_are_solicited(void)
{
    struct armed a;
    armed_open(&a, 16);
    CHECK_EQ(0, ibv_req_notify_cq(a.to.cq, 1));
    deliver(&a);
    CHECK(!readable(a.channel->fd));
    poll_one(a.to.cq);
    CHECK_EQ(0, post_recv_slot(&a.to, 0, 20));
    CHECK_EQ(0, send_frame(&a.from, a.frame, a.length, 0));
    CHECK_EQ(IBV_WC_LOC_LEN_ERR, poll_one(a.to.cq).status);
    CHECK(readable(a.channel->fd));
    armed_close(&a);
}

static void events_go_with_their_queue(void)
{
    struct armed a;
    armed_open(&a, 16);
    CHECK_EQ(0, ibv_req_notify_cq(a.to.cq, 0));
    deliver(&a);
    CHECK(readable(a.channel->fd));
    CHECK_EQ(0, ibv_destroy_flow(a.flow));
    side_close(&a.to);
    CHECK(!readable(a.channel->fd));
    CHECK_EQ(0, ibv_destroy_comp_channel(a.channel));
    side_close(&a.from);
    world_close(&a.world);
}

static void queues_share_a_channel_in_turn(void)
{
    struct armed a;
    struct side second;
    struct ibv_cq *cq;
    void *context;
    armed_open(&a, 16);
    side_open(&a.world, &second);
    struct ibv_cq *other = ibv_create_cq(a.world.context, 16, NULL, a.channel, 0);
    struct ibv_qp *qp = qp_create(&a.world, other);
    to_ready(qp);
    struct side on_other = second;
    on_other.qp = qp;
    on_other.cq = other;
    struct ibv_flow *flow = steer_mac(&on_other, mac_broadcast);
    CHECK_EQ(0, ibv_req_notify_cq(a.to.cq, 0));
    CHECK_EQ(0, ibv_req_notify_cq(other, 0));
    deliver(&a);
    CHECK_EQ(0, post_recv_slot(&on_other, 1, SLOT_BYTES));
    memcpy(a.frame, mac_broadcast, 6);
    CHECK_EQ(0, send_frame(&a.from, a.frame, a.length, 0));
    get_event(&a);
    CHECK_EQ(0, ibv_get_cq_event(a.channel, &cq, &context));
    CHECK(cq == other);
    ibv_ack_cq_events(a.to.cq, 1);
    ibv_ack_cq_events(other, 1);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    CHECK_EQ(0, ibv_destroy_qp(qp));
    CHECK_EQ(0, ibv_destroy_cq(other));
    side_close(&second);
    armed_close(&a);
}

static _Atomic bool destroyed;

static void *destroy_in_thread(void *cq)
{
    CHECK_EQ(0, ibv_destroy_cq(cq));
    atomic_store(&destroyed, true);
    return NULL;
}

static void destroying_waits_for_acknowledgement(void)
{
    struct armed a;
    pthread_t thread;
    armed_open(&a, 16);
    CHECK_EQ(0, ibv_req_notify_cq(a.to.cq, 0));
    deliver(&a);
    get_event(&a);
    CHECK_EQ(0, ibv_destroy_flow(a.flow));
    CHECK_EQ(0, ibv_destroy_qp(a.to.qp));
    atomic_store(&destroyed, false);
    struct ibv_cq *cq = a.to.cq;
    CHECK_EQ(0, pthread_create(&thread, NULL, destroy_in_thread, cq));
    /* The queue must outlive this loop. If it were destroyed, the sanitizers and the destroyed flag would show it. */
    for (int i = 0; i < 1000; i++)
        CHECK(!atomic_load(&destroyed));
    ibv_ack_cq_events(cq, 1);
    CHECK_EQ(0, pthread_join(thread, NULL));
    CHECK_EQ(0, ibv_destroy_comp_channel(a.channel));
    CHECK_EQ(0, ibv_dereg_mr(a.to.mr));
    side_close(&a.from);
    world_close(&a.world);
}

static struct ibv_async_event next_async(struct ibv_context *context)
{
    struct ibv_async_event event;
    CHECK(readable(context->async_fd));
    CHECK_EQ(0, ibv_get_async_event(context, &event));
    return event;
}

static void an_overrun_raises_an_event_and_overwrites_nothing(void)
{
    struct armed a;
    struct softverbs_queue_counters received;
    armed_open(&a, 3);
    CHECK_EQ(3, a.to.cq->cqe);
    for (unsigned i = 0; i < 6; i++)
        CHECK_EQ(0, post_recv_slot(&a.to, i, SLOT_BYTES));
    for (unsigned i = 0; i < 5; i++)
        CHECK_EQ(0, send_frame(&a.from, a.frame, a.length, 0));
    struct ibv_async_event event = next_async(a.world.context);
    CHECK_EQ(IBV_EVENT_CQ_ERR, event.event_type);
    CHECK(event.element.cq == a.to.cq);
    ibv_ack_async_event(&event);
    event = next_async(a.world.context);
    CHECK_EQ(IBV_EVENT_QP_FATAL, event.event_type);
    CHECK(event.element.qp == a.to.qp);
    ibv_ack_async_event(&event);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ(i, poll_one(a.to.cq).wr_id);
    check_empty(a.to.cq);
    CHECK_EQ(0, softverbs_query_qp_counters(a.to.qp, NULL, &received));
    CHECK_EQ(3, received.frames);
    CHECK(received.cq_overruns >= 1);
    CHECK_EQ(IBV_QPS_ERR, state_of(a.to.qp));
    armed_close(&a);
}

static void a_reset_ends_an_overrun(void)
{
    struct armed a;
    struct softverbs_queue_counters received;
    armed_open(&a, 16);
    for (unsigned round = 1; round <= 3; round++) {
        CHECK_EQ(0, post_recv_slot(&a.to, 0, SLOT_BYTES));
        CHECK_EQ(0, softverbs_overrun_cq(a.to.cq));
        CHECK_EQ(0, send_frame(&a.from, a.frame, a.length, 0));
        CHECK_EQ(IBV_QPS_ERR, state_of(a.to.qp));
        check_empty(a.to.cq);
        CHECK_EQ(0, softverbs_query_qp_counters(a.to.qp, NULL, &received));
        CHECK_EQ(round, received.cq_overruns);
        for (int i = 0; i < 2; i++) {
            struct ibv_async_event event = next_async(a.world.context);
            CHECK_EQ(i == 0 ? IBV_EVENT_CQ_ERR : IBV_EVENT_QP_FATAL, event.event_type);
            ibv_ack_async_event(&event);
        }
        to_state(a.to.qp, IBV_QPS_RESET);
        to_ready(a.to.qp);
        CHECK_EQ(0, post_recv_slot(&a.to, 1, SLOT_BYTES));
        CHECK_EQ(0, send_frame(&a.from, a.frame, a.length, 0));
        CHECK_EQ(1, poll_one(a.to.cq).wr_id);
    }
    armed_close(&a);
}

static void port_events_reach_every_context(void)
{
    struct armed a;
    struct ibv_port_attr port;
    struct softverbs_queue_counters sent;
    armed_open(&a, 16);
    struct ibv_context *second = ibv_open_device(find_device(a.world.device_name));
    CHECK(second != NULL);
    CHECK_EQ(0, softverbs_set_port_up(a.world.context, 0));
    CHECK_EQ(0, softverbs_set_port_up(a.world.context, 0));
    CHECK_EQ(0, ibv_query_port(second, 1, &port));
    CHECK_EQ(IBV_PORT_DOWN, port.state);
    CHECK_EQ(0, post_recv_slot(&a.to, 0, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&a.from, a.frame, a.length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, poll_one(a.from.cq).status);       /* lost on the wire, as with a real cable */
    check_empty(a.to.cq);
    CHECK_EQ(0, softverbs_query_qp_counters(a.from.qp, &sent, NULL));
    CHECK_EQ(1, sent.port_down);
    CHECK_EQ(0, softverbs_set_port_up(a.world.context, 1));
    struct ibv_context *contexts[2] = {a.world.context, second};
    for (int i = 0; i < 2; i++) {
        struct ibv_async_event event = next_async(contexts[i]);
        CHECK_EQ(IBV_EVENT_PORT_ERR, event.event_type);
        CHECK_EQ(1, event.element.port_num);
        ibv_ack_async_event(&event);
        event = next_async(contexts[i]);
        CHECK_EQ(IBV_EVENT_PORT_ACTIVE, event.event_type);
        ibv_ack_async_event(&event);
        CHECK(!readable(contexts[i]->async_fd));
    }
    CHECK_EQ(0, ibv_close_device(second));
    armed_close(&a);
}

static void draining_raises_an_event_on_request(void)
{
    struct armed a;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
    armed_open(&a, 16);
    CHECK_EQ(0, ibv_modify_qp(a.from.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
    struct ibv_async_event event = next_async(a.world.context);
    CHECK_EQ(IBV_EVENT_SQ_DRAINED, event.event_type);
    ibv_ack_async_event(&event);
    CHECK_EQ(EINVAL, send_frame(&a.from, a.frame, a.length, 0));
    CHECK_EQ(0, to_state(a.from.qp, IBV_QPS_RTS));
    armed_close(&a);
}

const struct test event_tests[] = {
    {"an armed queue raises one event", an_armed_queue_raises_one_event},
    {"a channel without events gives EAGAIN", a_channel_without_events_gives_eagain},
    {"only errors are solicited", only_errors_are_solicited},
    {"events go with their queue", events_go_with_their_queue},
    {"queues share a channel in turn", queues_share_a_channel_in_turn},
    {"destroying waits for acknowledgement", destroying_waits_for_acknowledgement},
    {"an overrun raises an event and overwrites nothing", an_overrun_raises_an_event_and_overwrites_nothing},
    {"a reset ends an overrun", a_reset_ends_an_overrun},
    {"port events reach every context", port_events_reach_every_context},
    {"draining raises an event on request", draining_raises_an_event_on_request},
    {NULL, NULL},
};
