/* SPDX-License-Identifier: Apache-2.0 */
/* Arming: which frames wake a channel on a network interface, and which thread moves them. */
#define _GNU_SOURCE
#include "sleeper_fixture.h"

#include <unistd.h>

static void a_single_sleeper_is_woken_without_the_receive_thread(const char *kind)
{
    enum { EVENTS = 200 };
    struct sleeper_pair pair;
    sleeper_pair_open(&pair, kind);
    settle(&pair, &pair.sleeper[0]);
    struct thread_sleeps before = thread_sleeps();
    for (int i = 0; i < EVENTS; i++)
        sleep_for_frame(&pair, &pair.sleeper[0]);
    /* Neighbours that appear on the interface wake the thread too, but rarely. */
    CHECK(thread_wakeups_since(before) < EVENTS / 10);
    sleeper_pair_close(&pair);
}

/* Frames that arrive just before the sleep are polled, and their event ends the next sleep. */
static void late_events_are_raised_without_the_receive_thread(const char *kind)
{
    enum { EVENTS = 200 };
    struct sleeper_pair pair;
    sleeper_pair_open(&pair, kind);
    struct sleeper *sleeper = &pair.sleeper[0];
    settle(&pair, sleeper);
    struct thread_sleeps before = thread_sleeps();
    for (int i = 0; i < EVENTS; i++) {
        CHECK_EQ(0, post_recv_slot(&sleeper->side, pair.slot++ % 16, SLOT_BYTES));
        arm(sleeper);
        send_to(&pair, sleeper);
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(sleeper->side.cq).status);
        arm(sleeper);
        await_event(sleeper);
    }
    CHECK(thread_wakeups_since(before) < EVENTS / 10);
    sleeper_pair_close(&pair);
}

/* A thread that has armed its queue may be busy. Frames of others arrive all the same. */
static void frames_arrive_while_another_armed_thread_is_busy(const char *kind)
{
    struct sleeper_pair pair;
    sleeper_pair_open(&pair, kind);
    for (int round = 0; round < 3; round++) {
        struct sleeper *busy = &pair.sleeper[round % 2], *other = &pair.sleeper[1 - round % 2];
        settle(&pair, busy);
        arm(busy);
        for (int i = 0; i < 20; i++)
            sleep_for_frame(&pair, other);
        CHECK_EQ(0, post_recv_slot(&busy->side, 20, SLOT_BYTES));
        send_to(&pair, busy);
        await_event(busy);
        CHECK_EQ(IBV_WC_SUCCESS, poll_one(busy->side.cq).status);
    }
    sleeper_pair_close(&pair);
}

/* A queue was armed while rules led to it, and sleeps on without rules after other loops have taken over. */
static void a_queue_without_rules_does_not_count_as_a_sleeper(const char *kind)
{
    enum { EVENTS = 200 };
    struct sleeper_pair pair;
    sleeper_pair_open(&pair, kind);
    struct sleeper *left = &pair.sleeper[1];
    arm(left);
    CHECK_EQ(0, ibv_destroy_flow(left->flow));
    settle(&pair, &pair.sleeper[0]);
    struct thread_sleeps before = thread_sleeps();
    for (int i = 0; i < EVENTS; i++) {
        sleep_for_frame(&pair, &pair.sleeper[0]);
        arm(left);
        CHECK_EQ(0, post_recv_slot(&pair.sleeper[0].side, 1, SLOT_BYTES));
        send_to(&pair, &pair.sleeper[0]);
        CHECK(!is_readable(left));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(pair.sleeper[0].side.cq).status);
    }
    CHECK(thread_wakeups_since(before) < EVENTS / 10);
    left->flow = udp_rule(&left->side, left->port);
    sleep_for_frame(&pair, left);
    sleeper_pair_close(&pair);
}

/* A rule for an armed queue is added while another channel watches and its thread is busy. */
static void a_rule_may_come_after_the_arming(const char *kind)
{
    struct sleeper_pair pair;
    sleeper_pair_open(&pair, kind);
    struct sleeper *busy = &pair.sleeper[0], *armed = &pair.sleeper[1];
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(0, ibv_destroy_flow(armed->flow));
        arm(armed);
        settle(&pair, busy);
        arm(busy);
        CHECK_EQ(0, post_recv_slot(&armed->side, 20, SLOT_BYTES));
        armed->flow = udp_rule(&armed->side, armed->port);
        send_to(&pair, armed);
        await_event(armed);
        CHECK_EQ(IBV_WC_SUCCESS, poll_one(armed->side.cq).status);
    }
    sleeper_pair_close(&pair);
}

/* The same with an RSS queue pair, which leads to the completion queues of its work queues. */
static void a_rule_for_work_queues_may_come_after_the_arming(const char *kind)
{
    struct sleeper_pair pair;
    sleeper_pair_open(&pair, kind);
    struct world *world = &pair.wire.world[1];
    struct sleeper *busy = &pair.sleeper[0], *armed = &pair.sleeper[1];
    struct ibv_wq_init_attr init = {
        .wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 1, .pd = world->pd, .cq = armed->side.cq};
    struct ibv_wq *wq = ibv_create_wq(world->context, &init);
    struct ibv_wq_attr ready = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY};
    CHECK_EQ(0, ibv_modify_wq(wq, &ready));
    struct ibv_wq *wqs[] = {wq, wq};
    struct ibv_rwq_ind_table_init_attr ways = {.log_ind_tbl_size = 1, .ind_tbl = wqs};
    struct ibv_rwq_ind_table *table = ibv_create_rwq_ind_table(world->context, &ways);
    uint8_t key[40] = {1};
    struct ibv_qp_init_attr_ex attr = {
        .qp_type = IBV_QPT_RAW_PACKET, .pd = world->pd, .rwq_ind_tbl = table,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
        .rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ, .rx_hash_key_len = sizeof key,
                         .rx_hash_key = key, .rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4},
    };
    struct side spread = {.qp = ibv_create_qp_ex(world->context, &attr)};
    CHECK(spread.qp != NULL);
    CHECK_EQ(0, ibv_destroy_flow(armed->flow));
    for (int round = 0; round < 3; round++) {
        arm(armed);
        settle(&pair, busy);
        arm(busy);
        struct ibv_sge sge = {.addr = (uintptr_t)slot_at(&armed->side, 20), .length = SLOT_BYTES,
                              .lkey = armed->side.mr->lkey};
        struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
        CHECK_EQ(0, ibv_post_wq_recv(wq, &wr, &bad));
        struct ibv_flow *flow = udp_rule(&spread, armed->port);
        send_to(&pair, armed);
        await_event(armed);
        CHECK_EQ(IBV_WC_SUCCESS, poll_one(armed->side.cq).status);
        CHECK_EQ(0, ibv_destroy_flow(flow));
    }
    /* Without a rule the armed queue does not count. Otherwise the receive thread would wake up for each event. */
    arm(armed);
    settle(&pair, busy);
    struct thread_sleeps before = thread_sleeps();
    settle(&pair, busy);
    /* The channel may return the sockets once, when its polls find no event; it gets them again after some armings. */
    CHECK(thread_wakeups_since(before) < SETTLING_EVENTS / 2);
    CHECK_EQ(0, ibv_destroy_qp(spread.qp));
    CHECK_EQ(0, ibv_destroy_rwq_ind_table(table));
    CHECK_EQ(0, ibv_destroy_wq(wq));
    armed->flow = udp_rule(&armed->side, armed->port);
    sleeper_pair_close(&pair);
}

static void one_arming_is_one_event(const char *kind)
{
    struct sleeper_pair pair;
    sleeper_pair_open(&pair, kind);
    struct sleeper *sleeper = &pair.sleeper[0];
    settle(&pair, sleeper);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(0, post_recv_slot(&sleeper->side, 1, SLOT_BYTES));
        CHECK_EQ(0, post_recv_slot(&sleeper->side, 2, SLOT_BYTES));
        arm(sleeper);
        arm(sleeper);
        send_to(&pair, sleeper);
        send_to(&pair, sleeper);
        await_event(sleeper);
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(sleeper->side.cq).status);
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(sleeper->side.cq).status);
        check_no_event(sleeper);
        CHECK(!is_readable(sleeper));
    }
    sleeper_pair_close(&pair);
}

/* Frames that arrived before the arming raise no event and do not keep the descriptor readable. */
static void frames_from_before_the_arming_raise_no_event(const char *kind)
{
    struct sleeper_pair pair;
    sleeper_pair_open(&pair, kind);
    struct sleeper *sleeper = &pair.sleeper[0];
    settle(&pair, sleeper);
    CHECK_EQ(0, post_recv_slot(&sleeper->side, 1, SLOT_BYTES));
    send_to(&pair, sleeper);
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(sleeper->side.cq).status);
    arm(sleeper);
    CHECK(!is_readable(sleeper));
    check_no_event(sleeper);
    send_to(&pair, sleeper);        /* no receive is posted: dropped, and no event */
    struct softverbs_counters counters = {0};
    struct timespec start = now();
    while (counters.received.no_receive == 0 && !overdue(start)) {
        struct ibv_wc wc;
        CHECK_EQ(0, ibv_poll_cq(sleeper->side.cq, 1, &wc));
        CHECK_EQ(0, softverbs_query_counters(pair.wire.world[1].context, &counters));
    }
    CHECK_EQ(1, counters.received.no_receive);
    check_no_event(sleeper);
    sleep_for_frame(&pair, sleeper);
    sleeper_pair_close(&pair);
}

/*
 * Frames for a queue that is polled, though sometimes too rarely: the sleeper moves them, and is finally left asleep.
 */
static void a_poller_does_not_keep_a_sleeper_awake(const char *kind)
{
    struct sleeper_pair pair;
    sleeper_pair_open(&pair, kind);
    struct sleeper *sleeper = &pair.sleeper[0], *poller = &pair.sleeper[1];
    settle(&pair, sleeper);
    arm(sleeper);
    struct timespec start = now();
    bool left_alone = false;
    while (!left_alone && !overdue(start)) {
        CHECK_EQ(0, post_recv_slot(&poller->side, 1, SLOT_BYTES));
        send_to(&pair, poller);
        CHECK_EQ(0, is_readable(sleeper) ? (check_no_event(sleeper), 0) : 0);
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(poller->side.cq).status);
        left_alone = true;
        for (int i = 0; i < 10; i++) {
            CHECK_EQ(0, post_recv_slot(&poller->side, 1, SLOT_BYTES));
            send_to(&pair, poller);
            left_alone &= !is_readable(sleeper);
            CHECK_EQ(IBV_WC_SUCCESS, wait_one(poller->side.cq).status);
        }
        if (is_readable(sleeper))
            check_no_event(sleeper);
    }
    CHECK(left_alone);
    CHECK_EQ(0, post_recv_slot(&sleeper->side, 2, SLOT_BYTES));
    send_to(&pair, sleeper);
    await_event(sleeper);
    CHECK_EQ(IBV_WC_SUCCESS, poll_one(sleeper->side.cq).status);
    sleeper_pair_close(&pair);
}

ON_EACH_KIND(a_single_sleeper_is_woken_without_the_receive_thread)
ON_EACH_KIND(late_events_are_raised_without_the_receive_thread)
ON_EACH_KIND(frames_arrive_while_another_armed_thread_is_busy)
ON_EACH_KIND(a_queue_without_rules_does_not_count_as_a_sleeper)
ON_EACH_KIND(a_rule_may_come_after_the_arming)
ON_EACH_KIND(a_rule_for_work_queues_may_come_after_the_arming)
ON_EACH_KIND(one_arming_is_one_event)
ON_EACH_KIND(frames_from_before_the_arming_raise_no_event)
ON_EACH_KIND(a_poller_does_not_keep_a_sleeper_awake)

const struct test event_source_tests[] = {
    {"watch: a single sleeper is woken without the receive thread",
     test_a_single_sleeper_is_woken_without_the_receive_thread},
    {"watch: late events are raised without the receive thread",
     test_late_events_are_raised_without_the_receive_thread},
    {"watch: frames arrive while another armed thread is busy", test_frames_arrive_while_another_armed_thread_is_busy},
    {"watch: a queue without rules does not count as a sleeper",
     test_a_queue_without_rules_does_not_count_as_a_sleeper},
    {"watch: a rule may come after the arming", test_a_rule_may_come_after_the_arming},
    {"watch: a rule for work queues may come after the arming", test_a_rule_for_work_queues_may_come_after_the_arming},
    {"watch: one arming is one event", test_one_arming_is_one_event},
    {"watch: frames from before the arming raise no event", test_frames_from_before_the_arming_raise_no_event},
    {"watch: a poller does not keep a sleeper awake", test_a_poller_does_not_keep_a_sleeper_awake},
    {NULL, NULL},
};
