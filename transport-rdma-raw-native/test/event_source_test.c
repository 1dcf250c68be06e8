/* SPDX-License-Identifier: Apache-2.0 */
/* Who is woken by frames on a network interface: channels that are readable for frames themselves, and the wire's thread. */
#define _GNU_SOURCE
#include "wire_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATIENCE_MILLIS = 20000, SETTLING_EVENTS = 20, FIRST_PORT = 2000 };

/* A queue pair with a channel of its own, on the near end of a wire. */
struct sleeper {
    struct side side;
    struct ibv_comp_channel *channel;
    struct ibv_flow *flow;
    uint16_t port;
};

struct bedroom {
    struct wire wire;
    struct sleeper sleeper[2];
    unsigned slot;
};

static void sleeper_open(struct bedroom *room, unsigned number)
{
    struct world *world = &room->wire.world[1];
    struct sleeper *sleeper = &room->sleeper[number];
    side_open(world, &sleeper->side);
    CHECK_EQ(0, ibv_destroy_qp(sleeper->side.qp));
    CHECK_EQ(0, ibv_destroy_cq(sleeper->side.cq));
    sleeper->channel = ibv_create_comp_channel(world->context);
    CHECK(sleeper->channel != NULL);
    CHECK_EQ(0, fcntl(sleeper->channel->fd, F_SETFL, O_NONBLOCK));
    sleeper->side.cq = ibv_create_cq(world->context, 256, sleeper, sleeper->channel, 0);
    sleeper->side.qp = qp_create(world, sleeper->side.cq);
    to_ready(sleeper->side.qp);
    sleeper->port = (uint16_t)(FIRST_PORT + number);
    sleeper->flow = udp_rule(&sleeper->side, sleeper->port);
}

static void sleeper_close(struct sleeper *sleeper)
{
    CHECK_EQ(0, ibv_destroy_flow(sleeper->flow));
    side_close(&sleeper->side);
    CHECK_EQ(0, ibv_destroy_comp_channel(sleeper->channel));
}

static void room_open(struct bedroom *room, const char *kind)
{
    room->slot = 0;
    wire_open(&room->wire, kind, 1500, 1);
    for (unsigned i = 0; i < 2; i++)
        sleeper_open(room, i);
}

static void room_close(struct bedroom *room)
{
    for (unsigned i = 0; i < 2; i++)
        sleeper_close(&room->sleeper[i]);
    wire_close(&room->wire);
}

static void send_to(struct bedroom *room, const struct sleeper *sleeper)
{
    uint8_t frame[2048];
    struct frame_spec spec = default_frame();
    spec.dst_port = sleeper->port;
    uint32_t length = build_frame(&spec, frame);
    CHECK_EQ(0, send_frame(&room->wire.side[0], frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(room->wire.side[0].cq).status);
}

static void arm(struct sleeper *sleeper)
{
    CHECK_EQ(0, ibv_req_notify_cq(sleeper->side.cq, 0));
}

static bool is_readable(const struct sleeper *sleeper)
{
    struct pollfd readable = {.fd = sleeper->channel->fd, .events = POLLIN};
    return poll(&readable, 1, 0) == 1;
}

/* What a program does that sleeps on the descriptor: there may be nothing to take, but what there is must come. */
static void await_event(struct sleeper *sleeper)
{
    struct ibv_cq *cq;
    void *context;
    int error;
    do {
        struct pollfd readable = {.fd = sleeper->channel->fd, .events = POLLIN};
        CHECK_EQ(1, poll(&readable, 1, PATIENCE_MILLIS));
        error = ibv_get_cq_event(sleeper->channel, &cq, &context);
        CHECK(error == 0 || errno == EAGAIN);
    } while (error != 0);
    CHECK(cq == sleeper->side.cq && context == sleeper);
    ibv_ack_cq_events(cq, 1);
}

static void check_no_event(struct sleeper *sleeper)
{
    struct ibv_cq *cq;
    void *context;
    CHECK_EQ(-1, ibv_get_cq_event(sleeper->channel, &cq, &context));
    CHECK_EQ(EAGAIN, errno);
}

/* Sleeps until one frame has come. */
static void sleep_for_frame(struct bedroom *room, struct sleeper *sleeper)
{
    CHECK_EQ(0, post_recv_slot(&sleeper->side, room->slot++ % 16, SLOT_BYTES));
    arm(sleeper);
    check_empty(sleeper->side.cq);
    send_to(room, sleeper);
    await_event(sleeper);
    CHECK_EQ(IBV_WC_SUCCESS, poll_one(sleeper->side.cq).status);
}

/* How often the threads of this process that follow wires have gone to sleep. */
static long thread_sleeps(void)
{
    long total = 0;
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    for (struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks)) {
        char path[300], line[256];
        bool ours = false;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *status = fopen(path, "r");
        while (status != NULL && fgets(line, sizeof line, status) != NULL) {
            long count;
            ours |= strcmp(line, "Name:\tsoftverbs-wire\n") == 0;
            if (ours && sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1)
                total += count;
        }
        if (status != NULL)
            fclose(status);
    }
    closedir(tasks);
    return total;
}

/* The sleeper has been the only one for a while, so its channel watches by itself. */
static void settle(struct bedroom *room, struct sleeper *sleeper)
{
    for (int i = 0; i < SETTLING_EVENTS; i++)
        sleep_for_frame(room, sleeper);
}

static void one_sleeper_needs_no_thread(const char *kind)
{
    enum { EVENTS = 200 };
    struct bedroom room;
    room_open(&room, kind);
    settle(&room, &room.sleeper[0]);
    long before = thread_sleeps();
    for (int i = 0; i < EVENTS; i++)
        sleep_for_frame(&room, &room.sleeper[0]);
    /* Neighbours that appear on the interface wake it too; that is seldom. */
    CHECK(thread_sleeps() - before < EVENTS / 10);
    room_close(&room);
}

/* Frames that come just before the sleep are polled, and their event ends the next one. */
static void late_events_need_no_thread(const char *kind)
{
    enum { EVENTS = 200 };
    struct bedroom room;
    room_open(&room, kind);
    struct sleeper *sleeper = &room.sleeper[0];
    settle(&room, sleeper);
    long before = thread_sleeps();
    for (int i = 0; i < EVENTS; i++) {
        CHECK_EQ(0, post_recv_slot(&sleeper->side, room.slot++ % 16, SLOT_BYTES));
        arm(sleeper);
        send_to(&room, sleeper);
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(sleeper->side.cq).status);
        arm(sleeper);
        await_event(sleeper);
    }
    CHECK(thread_sleeps() - before < EVENTS / 10);
    room_close(&room);
}

/* A thread that has armed its queue may be busy with anything; another one's frames come all the same. */
static void a_sleeper_need_not_look_for_others(const char *kind)
{
    struct bedroom room;
    room_open(&room, kind);
    for (int round = 0; round < 3; round++) {
        struct sleeper *busy = &room.sleeper[round % 2], *other = &room.sleeper[1 - round % 2];
        settle(&room, busy);
        arm(busy);
        for (int i = 0; i < 20; i++)
            sleep_for_frame(&room, other);
        CHECK_EQ(0, post_recv_slot(&busy->side, 20, SLOT_BYTES));
        send_to(&room, busy);
        await_event(busy);
        CHECK_EQ(IBV_WC_SUCCESS, poll_one(busy->side.cq).status);
    }
    room_close(&room);
}

/* A loop that others have taken the work from: it armed its queue while rules led there, and sleeps on. */
static void who_has_no_rule_is_no_sleeper(const char *kind)
{
    enum { EVENTS = 200 };
    struct bedroom room;
    room_open(&room, kind);
    struct sleeper *left = &room.sleeper[1];
    arm(left);
    CHECK_EQ(0, ibv_destroy_flow(left->flow));
    settle(&room, &room.sleeper[0]);
    long before = thread_sleeps();
    for (int i = 0; i < EVENTS; i++) {
        sleep_for_frame(&room, &room.sleeper[0]);
        arm(left);
        CHECK_EQ(0, post_recv_slot(&room.sleeper[0].side, 1, SLOT_BYTES));
        send_to(&room, &room.sleeper[0]);
        CHECK(!is_readable(left));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(room.sleeper[0].side.cq).status);
    }
    CHECK(thread_sleeps() - before < EVENTS / 10);
    left->flow = udp_rule(&left->side, left->port);
    sleep_for_frame(&room, left);
    room_close(&room);
}

/* A rule for a queue that is armed already, while another's channel watches and its thread is busy with anything. */
static void a_rule_may_come_after_the_arming(const char *kind)
{
    struct bedroom room;
    room_open(&room, kind);
    struct sleeper *busy = &room.sleeper[0], *armed = &room.sleeper[1];
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(0, ibv_destroy_flow(armed->flow));
        arm(armed);
        settle(&room, busy);
        arm(busy);
        CHECK_EQ(0, post_recv_slot(&armed->side, 20, SLOT_BYTES));
        armed->flow = udp_rule(&armed->side, armed->port);
        send_to(&room, armed);
        await_event(armed);
        CHECK_EQ(IBV_WC_SUCCESS, poll_one(armed->side.cq).status);
    }
    room_close(&room);
}

/* The same by an RSS queue pair, which leads to the completion queues of its work queues. */
static void a_rule_for_work_queues_may_come_after_the_arming(const char *kind)
{
    struct bedroom room;
    room_open(&room, kind);
    struct world *world = &room.wire.world[1];
    struct sleeper *busy = &room.sleeper[0], *armed = &room.sleeper[1];
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
        settle(&room, busy);
        arm(busy);
        struct ibv_sge sge = {.addr = (uintptr_t)slot_at(&armed->side, 20), .length = SLOT_BYTES,
                              .lkey = armed->side.mr->lkey};
        struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
        CHECK_EQ(0, ibv_post_wq_recv(wq, &wr, &bad));
        struct ibv_flow *flow = udp_rule(&spread, armed->port);
        send_to(&room, armed);
        await_event(armed);
        CHECK_EQ(IBV_WC_SUCCESS, poll_one(armed->side.cq).status);
        CHECK_EQ(0, ibv_destroy_flow(flow));
    }
    arm(armed);
    settle(&room, busy);
    long before = thread_sleeps();
    settle(&room, busy);
    CHECK(thread_sleeps() - before < SETTLING_EVENTS / 10);
    CHECK_EQ(0, ibv_destroy_qp(spread.qp));
    CHECK_EQ(0, ibv_destroy_rwq_ind_table(table));
    CHECK_EQ(0, ibv_destroy_wq(wq));
    armed->flow = udp_rule(&armed->side, armed->port);
    room_close(&room);
}

static void one_arming_is_one_event(const char *kind)
{
    struct bedroom room;
    room_open(&room, kind);
    struct sleeper *sleeper = &room.sleeper[0];
    settle(&room, sleeper);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(0, post_recv_slot(&sleeper->side, 1, SLOT_BYTES));
        CHECK_EQ(0, post_recv_slot(&sleeper->side, 2, SLOT_BYTES));
        arm(sleeper);
        arm(sleeper);
        send_to(&room, sleeper);
        send_to(&room, sleeper);
        await_event(sleeper);
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(sleeper->side.cq).status);
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(sleeper->side.cq).status);
        check_no_event(sleeper);
        CHECK(!is_readable(sleeper));
    }
    room_close(&room);
}

/* What came before the arming raises nothing, and does not keep the descriptor readable. */
static void frames_before_arming_wait(const char *kind)
{
    struct bedroom room;
    room_open(&room, kind);
    struct sleeper *sleeper = &room.sleeper[0];
    settle(&room, sleeper);
    CHECK_EQ(0, post_recv_slot(&sleeper->side, 1, SLOT_BYTES));
    send_to(&room, sleeper);
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(sleeper->side.cq).status);
    arm(sleeper);
    CHECK(!is_readable(sleeper));
    check_no_event(sleeper);
    send_to(&room, sleeper);        /* no receive is posted: dropped, and no event */
    struct softverbs_counters counters = {0};
    struct timespec start = now();
    while (counters.received.no_receive == 0 && !overdue(start)) {
        struct ibv_wc wc;
        CHECK_EQ(0, ibv_poll_cq(sleeper->side.cq, 1, &wc));
        CHECK_EQ(0, softverbs_query_counters(room.wire.world[1].context, &counters));
    }
    CHECK_EQ(1, counters.received.no_receive);
    check_no_event(sleeper);
    sleep_for_frame(&room, sleeper);
    room_close(&room);
}

/* Frames for somebody who polls, at times too seldom: the sleeper passes them on, and is left in peace in the end. */
static void a_poller_does_not_keep_a_sleeper_awake(const char *kind)
{
    struct bedroom room;
    room_open(&room, kind);
    struct sleeper *sleeper = &room.sleeper[0], *poller = &room.sleeper[1];
    settle(&room, sleeper);
    arm(sleeper);
    struct timespec start = now();
    bool left_alone = false;
    while (!left_alone && !overdue(start)) {
        CHECK_EQ(0, post_recv_slot(&poller->side, 1, SLOT_BYTES));
        send_to(&room, poller);
        CHECK_EQ(0, is_readable(sleeper) ? (check_no_event(sleeper), 0) : 0);
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(poller->side.cq).status);
        left_alone = true;
        for (int i = 0; i < 10; i++) {
            CHECK_EQ(0, post_recv_slot(&poller->side, 1, SLOT_BYTES));
            send_to(&room, poller);
            left_alone &= !is_readable(sleeper);
            CHECK_EQ(IBV_WC_SUCCESS, wait_one(poller->side.cq).status);
        }
        if (is_readable(sleeper))
            check_no_event(sleeper);
    }
    CHECK(left_alone);
    CHECK_EQ(0, post_recv_slot(&sleeper->side, 2, SLOT_BYTES));
    send_to(&room, sleeper);
    await_event(sleeper);
    CHECK_EQ(IBV_WC_SUCCESS, poll_one(sleeper->side.cq).status);
    room_close(&room);
}

static void *get_event(void *argument)
{
    struct sleeper *sleeper = argument;
    struct ibv_cq *cq;
    void *context;
    CHECK_EQ(0, ibv_get_cq_event(sleeper->channel, &cq, &context));
    CHECK(context == sleeper);
    ibv_ack_cq_events(cq, 1);
    return NULL;
}

/* The descriptor is made blocking again while its channel watches: then the reader waits in ibv_get_cq_event(). */
static void a_blocking_reader_is_woken(const char *kind)
{
    struct bedroom room;
    pthread_t reader;
    room_open(&room, kind);
    struct sleeper *sleeper = &room.sleeper[0];
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(0, fcntl(sleeper->channel->fd, F_SETFL, O_NONBLOCK));
        settle(&room, sleeper);
        CHECK_EQ(0, post_recv_slot(&sleeper->side, 1, SLOT_BYTES));
        arm(sleeper);
        CHECK_EQ(0, fcntl(sleeper->channel->fd, F_SETFL, 0));
        CHECK_EQ(0, pthread_create(&reader, NULL, get_event, sleeper));
        send_to(&room, sleeper);
        CHECK_EQ(0, pthread_join(reader, NULL));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(sleeper->side.cq).status);
    }
    room_close(&room);
}

/* Readable only with an event: a program that blocks in ibv_get_cq_event() after poll(2) must not hang. */
static void blocking_descriptors_are_readable_for_events_alone(const char *kind)
{
    struct bedroom room;
    room_open(&room, kind);
    struct sleeper *sleeper = &room.sleeper[0], *other = &room.sleeper[1];
    CHECK_EQ(0, fcntl(sleeper->channel->fd, F_SETFL, 0));
    settle(&room, sleeper);
    arm(sleeper);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(0, post_recv_slot(&other->side, 1, SLOT_BYTES));
        send_to(&room, other);
        CHECK(!is_readable(sleeper));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(other->side.cq).status);
    }
    room_close(&room);
}

/* A channel that watched is gone; the next one's frames come. */
static void a_watching_channel_can_go(const char *kind)
{
    struct bedroom room;
    room_open(&room, kind);
    settle(&room, &room.sleeper[0]);
    arm(&room.sleeper[0]);
    sleeper_close(&room.sleeper[0]);
    for (int i = 0; i < 3; i++)
        sleep_for_frame(&room, &room.sleeper[1]);
    sleeper_open(&room, 0);
    settle(&room, &room.sleeper[0]);
    room_close(&room);
}

/*
 * Two loops that sleep in turns, each of which answers the other: a wake-up that is lost would end it. The one that
 * answers for the last time in a round looks at nothing any more, so nobody but the other can make good what was lost.
 */
struct partner {
    struct bedroom *room;
    struct sleeper *sleeper;
    const struct sleeper *other;
    _Atomic int *turn;
    int number;
};

enum { ROUNDS = 250, TURNS = 8, TURN_MILLIS = 5000 };

/* What the kernel threw away since a processor's backlog was full, which others fill as well: /proc/net/softnet_stat. */
static unsigned long backlog_drops(void)
{
    unsigned long total = 0;
    unsigned dropped;
    FILE *statistics = fopen("/proc/net/softnet_stat", "r");
    CHECK(statistics != NULL);
    while (fscanf(statistics, "%*x %x%*[^\n]", &dropped) == 1)
        total += dropped;
    fclose(statistics);
    return total;
}

/*
 * Nobody was woken for long. On a crowded machine the kernel may have lost the frame: then it is sent again. When it is
 * there, or the kernel has lost none, it is the wake-up that was lost.
 */
static void send_what_was_lost(const struct partner *partner, unsigned long *drops)
{
    if (partner->number != *partner->turn)
        return;
    check_empty(partner->sleeper->side.cq);
    CHECK(backlog_drops() != *drops);
    *drops = backlog_drops();
    send_to(partner->room, partner->sleeper);
}

/* Sleeps until a frame has come, as a loop does. */
static struct ibv_wc sleep_through_turn(const struct partner *partner, unsigned long *drops)
{
    struct sleeper *sleeper = partner->sleeper;
    struct ibv_wc wc;
    while (ibv_poll_cq(sleeper->side.cq, 1, &wc) != 1) {
        arm(sleeper);
        if (ibv_poll_cq(sleeper->side.cq, 1, &wc) == 1)
            break;
        struct ibv_cq *cq;
        void *context;
        struct pollfd readable = {.fd = sleeper->channel->fd, .events = POLLIN};
        if (poll(&readable, 1, TURN_MILLIS) != 1)
            send_what_was_lost(partner, drops);
        else if (ibv_get_cq_event(sleeper->channel, &cq, &context) == 0)
            ibv_ack_cq_events(cq, 1);
    }
    return wc;
}

static void *take_turns(void *argument)
{
    const struct partner *partner = argument;
    struct sleeper *sleeper = partner->sleeper;
    unsigned long drops = backlog_drops();
    for (int i = 0; i < TURNS; i++) {
        struct ibv_wc wc = sleep_through_turn(partner, &drops);
        CHECK_EQ(IBV_WC_SUCCESS, wc.status);
        CHECK_EQ(0, post_recv_slot(&sleeper->side, (unsigned)wc.wr_id, SLOT_BYTES));
        /* Each has the far end to itself in its turn. */
        CHECK_EQ(partner->number, *partner->turn);
        *partner->turn = 1 - partner->number;
        send_to(partner->room, partner->other);
    }
    return NULL;
}

static void sleepers_answer_each_other(const char *kind)
{
    struct bedroom room;
    _Atomic int turn = 0;
    pthread_t thread[2];
    struct partner partner[2];
    room_open(&room, kind);
    settle(&room, &room.sleeper[0]);
    for (int i = 0; i < 2; i++) {
        partner[i] = (struct partner){&room, &room.sleeper[i], &room.sleeper[1 - i], &turn, i};
        for (unsigned slot = 0; slot < 4; slot++)
            CHECK_EQ(0, post_recv_slot(&room.sleeper[i].side, slot, SLOT_BYTES));
    }
    send_to(&room, &room.sleeper[0]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2; i++)
            CHECK_EQ(0, pthread_create(&thread[i], NULL, take_turns, &partner[i]));
        for (int i = 0; i < 2; i++)
            CHECK_EQ(0, pthread_join(thread[i], NULL));
    }
    room_close(&room);
}

static void await_active(struct ibv_context *context)
{
    struct ibv_port_attr port = {.state = IBV_PORT_DOWN};
    for (struct timespec start = now(); port.state != IBV_PORT_ACTIVE && !overdue(start);)
        CHECK_EQ(0, ibv_query_port(context, 1, &port));
    CHECK_EQ(IBV_PORT_ACTIVE, port.state);
}

/* An interface that is down is an error of the sockets, which must not keep anybody busy. */
static void an_interface_that_is_down_wakes_nobody(const char *kind)
{
    struct bedroom room;
    room_open(&room, kind);
    struct sleeper *sleeper = &room.sleeper[0];
    settle(&room, sleeper);
    for (int round = 0; round < 2; round++) {
        arm(sleeper);
        run("ip link set %s down", room.wire.name[1]);
        struct ibv_port_attr port = {.state = IBV_PORT_ACTIVE};
        struct timespec start = now();
        while (port.state != IBV_PORT_DOWN && !overdue(start))
            CHECK_EQ(0, ibv_query_port(room.wire.world[1].context, 1, &port));
        /* It takes a few looks until the error has been taken; then the descriptor is quiet. */
        int looks = 0;
        for (struct pollfd readable = {.fd = sleeper->channel->fd, .events = POLLIN};
             looks < 100 && poll(&readable, 1, 50) == 1; looks++)
            check_no_event(sleeper);
        CHECK(looks < 100);
        struct timespec before, after;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
        struct pollfd readable = {.fd = sleeper->channel->fd, .events = POLLIN};
        CHECK_EQ(0, poll(&readable, 1, 300));
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
        CHECK((after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec < 100000000L);
        run("ip link set %s up", room.wire.name[1]);
        await_active(room.wire.world[1].context);
        /* The kernel lets the other end send a while later: what it is given before is lost. */
        await_active(room.wire.world[0].context);
    }
    settle(&room, sleeper);
    room_close(&room);
}

/* ---- sockets that cannot be watched ---- */

static _Atomic int good_additions, failing_additions;

/* In the place of the C library's, for the library under test too. */
int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    if (operation == EPOLL_CTL_ADD && failing_additions > 0 && good_additions-- <= 0) {
        failing_additions--;
        errno = ENOMEM;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, epoll, operation, fd, event);
}

static void fail_additions(int first_good, int count)
{
    good_additions = first_good;
    failing_additions = count;
}

static void wait_for_frame(struct bedroom *room, struct sleeper *sleeper)
{
    CHECK_EQ(0, post_recv_slot(&sleeper->side, room->slot++ % 16, SLOT_BYTES));
    send_to(room, sleeper);
    await_event(sleeper);
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(sleeper->side.cq).status);
}

/* Who is told that arming failed can arm again. Who was armed before, or asks nobody, is woken all the same. */
static void sockets_that_cannot_be_watched_are_tried_again(const char *kind)
{
    struct bedroom room;
    room_open(&room, kind);
    for (int good = 0; good < 2; good++) {
        for (int i = 0; i < 2; i++)
            sleep_for_frame(&room, &room.sleeper[i]);
        /* Nobody is armed. After so many frames nobody watches either. */
        for (int i = 0; i < 40; i++) {
            CHECK_EQ(0, post_recv_slot(&room.sleeper[0].side, 1, SLOT_BYTES));
            send_to(&room, &room.sleeper[0]);
            CHECK_EQ(IBV_WC_SUCCESS, wait_one(room.sleeper[0].side.cq).status);
        }
        fail_additions(good, 1);
        int error = ibv_req_notify_cq(room.sleeper[0].side.cq, 0);
        /* A packet device has one socket only. */
        CHECK(error == ENOMEM || (good > 0 && error == 0));
        fail_additions(0, 0);
        arm(&room.sleeper[0]);
        wait_for_frame(&room, &room.sleeper[0]);
        /* The thread moves the first one's frame, and then cannot go on watching for the second one. */
        arm(&room.sleeper[0]);
        arm(&room.sleeper[1]);
        fail_additions(good, 3);
        wait_for_frame(&room, &room.sleeper[0]);
        wait_for_frame(&room, &room.sleeper[1]);
        fail_additions(0, 0);
    }
    room_close(&room);
}

#define ON_EACH_KIND(test) \
    static void test_##test(void) \
    { \
        for_each_kind(test); \
    }

ON_EACH_KIND(one_sleeper_needs_no_thread)
ON_EACH_KIND(late_events_need_no_thread)
ON_EACH_KIND(a_sleeper_need_not_look_for_others)
ON_EACH_KIND(who_has_no_rule_is_no_sleeper)
ON_EACH_KIND(a_rule_may_come_after_the_arming)
ON_EACH_KIND(a_rule_for_work_queues_may_come_after_the_arming)
ON_EACH_KIND(one_arming_is_one_event)
ON_EACH_KIND(frames_before_arming_wait)
ON_EACH_KIND(a_poller_does_not_keep_a_sleeper_awake)
ON_EACH_KIND(a_blocking_reader_is_woken)
ON_EACH_KIND(blocking_descriptors_are_readable_for_events_alone)
ON_EACH_KIND(a_watching_channel_can_go)
ON_EACH_KIND(sleepers_answer_each_other)
ON_EACH_KIND(an_interface_that_is_down_wakes_nobody)
ON_EACH_KIND(sockets_that_cannot_be_watched_are_tried_again)

const struct test watch_tests[] = {
    {"watch: one sleeper needs no thread", test_one_sleeper_needs_no_thread},
    {"watch: late events need no thread", test_late_events_need_no_thread},
    {"watch: a sleeper need not look for others", test_a_sleeper_need_not_look_for_others},
    {"watch: who has no rule is no sleeper", test_who_has_no_rule_is_no_sleeper},
    {"watch: a rule may come after the arming", test_a_rule_may_come_after_the_arming},
    {"watch: a rule for work queues may come after the arming", test_a_rule_for_work_queues_may_come_after_the_arming},
    {"watch: one arming is one event", test_one_arming_is_one_event},
    {"watch: frames before the arming wait", test_frames_before_arming_wait},
    {"watch: a poller does not keep a sleeper awake", test_a_poller_does_not_keep_a_sleeper_awake},
    {"watch: a blocking reader is woken", test_a_blocking_reader_is_woken},
    {"watch: blocking descriptors are readable for events alone",
     test_blocking_descriptors_are_readable_for_events_alone},
    {"watch: a watching channel can go", test_a_watching_channel_can_go},
    {"watch: sleepers answer each other", test_sleepers_answer_each_other},
    {"watch: an interface that is down wakes nobody", test_an_interface_that_is_down_wakes_nobody},
    {"watch: sockets that cannot be watched are tried again", test_sockets_that_cannot_be_watched_are_tried_again},
    {NULL, NULL},
};
