/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that sleep on channels of a network interface: readers, sleepers in turns, and failures of the kernel. */
#define _GNU_SOURCE
#include "sleeper_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* The descriptor becomes blocking again while its channel watches. The reader then waits in ibv_get_cq_event(). */
static void a_blocking_reader_is_woken(const char *kind)
{
    struct sleeper_pair pair;
    pthread_t reader;
    sleeper_pair_open(&pair, kind);
    struct sleeper *sleeper = &pair.sleeper[0];
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(0, fcntl(sleeper->channel->fd, F_SETFL, O_NONBLOCK));
        settle(&pair, sleeper);
        CHECK_EQ(0, post_recv_slot(&sleeper->side, 1, SLOT_BYTES));
        arm(sleeper);
        CHECK_EQ(0, fcntl(sleeper->channel->fd, F_SETFL, 0));
        CHECK_EQ(0, pthread_create(&reader, NULL, get_event, sleeper));
        send_to(&pair, sleeper);
        CHECK_EQ(0, pthread_join(reader, NULL));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(sleeper->side.cq).status);
    }
    sleeper_pair_close(&pair);
}

/* Readable only with an event: a program that blocks in ibv_get_cq_event() after poll(2) must not hang. */
static void blocking_descriptors_are_readable_for_events_alone(const char *kind)
{
    struct sleeper_pair pair;
    sleeper_pair_open(&pair, kind);
    struct sleeper *sleeper = &pair.sleeper[0], *other = &pair.sleeper[1];
    CHECK_EQ(0, fcntl(sleeper->channel->fd, F_SETFL, 0));
    settle(&pair, sleeper);
    arm(sleeper);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(0, post_recv_slot(&other->side, 1, SLOT_BYTES));
        send_to(&pair, other);
        CHECK(!is_readable(sleeper));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(other->side.cq).status);
    }
    sleeper_pair_close(&pair);
}

/* After a watching channel is destroyed, frames of the next one arrive. */
static void a_watching_channel_can_go(const char *kind)
{
    struct sleeper_pair pair;
    sleeper_pair_open(&pair, kind);
    settle(&pair, &pair.sleeper[0]);
    arm(&pair.sleeper[0]);
    sleeper_close(&pair.sleeper[0]);
    for (int i = 0; i < 3; i++)
        sleep_for_frame(&pair, &pair.sleeper[1]);
    sleeper_open(&pair, 0);
    settle(&pair, &pair.sleeper[0]);
    sleeper_pair_close(&pair);
}

/*
 * Two loops that sleep in turns and answer each other, so that a lost wakeup would stop them. The loop that answers
 * last in a round moves no frames any more, so nobody but the other one could compensate for a lost wakeup.
 */
struct turns {
    _Atomic int next;               /* number of the partner whose turn it is */
    _Atomic unsigned begun;         /* turns of which the frame is being sent or has been sent */
    _Atomic unsigned sent;
};

struct partner {
    struct sleeper_pair *pair;
    struct sleeper *sleeper;
    const struct sleeper *other;
    struct turns *turns;
    int number;
};

enum { ROUNDS = 250, TURNS = 8 };

/*
 * Returns how many frames the kernel dropped because a processor's backlog was full, which other programs fill as well:
 * /proc/net/softnet_stat.
 */
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

/* Returns true if it is the partner's turn and the frame that tells it so has been sent. */
static bool is_sent(const struct partner *partner)
{
    return partner->number == partner->turns->next && partner->turns->begun == partner->turns->sent;
}

/*
 * The frame was sent long ago, and no wakeup has come. On a crowded machine the kernel may have dropped the frame,
 * which is then sent again. If the frame is there, or the kernel has dropped none, the wakeup was lost.
 */
static void resend_lost_frames(const struct partner *partner, unsigned long *drops)
{
    check_empty(partner->sleeper->side.cq);
    CHECK(backlog_drops() != *drops);
    *drops = backlog_drops();
    send_to(partner->pair, partner->sleeper);
}

/* Sleeps until a frame has arrived, as a loop does. */
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
        bool sent, woken;
        /* Polling the queue earlier would receive the frame of a lost wakeup. */
        do {
            sent = is_sent(partner);
            woken = poll(&readable, 1, PATIENCE_MILLIS) == 1;
        } while (!woken && !sent);
        if (!woken)
            resend_lost_frames(partner, drops);
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
        /* In its turn, each has the far end to itself. */
        CHECK_EQ(partner->number, partner->turns->next);
        partner->turns->begun++;
        partner->turns->next = 1 - partner->number;
        send_to(partner->pair, partner->other);
        partner->turns->sent++;
    }
    return NULL;
}

static void sleepers_answer_each_other(const char *kind)
{
    struct sleeper_pair pair;
    struct turns turns = {0, 0, 0};
    pthread_t thread[2];
    struct partner partner[2];
    sleeper_pair_open(&pair, kind);
    settle(&pair, &pair.sleeper[0]);
    for (int i = 0; i < 2; i++) {
        partner[i] = (struct partner){&pair, &pair.sleeper[i], &pair.sleeper[1 - i], &turns, i};
        for (unsigned slot = 0; slot < 4; slot++)
            CHECK_EQ(0, post_recv_slot(&pair.sleeper[i].side, slot, SLOT_BYTES));
    }
    send_to(&pair, &pair.sleeper[0]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2; i++)
            CHECK_EQ(0, pthread_create(&thread[i], NULL, take_turns, &partner[i]));
        for (int i = 0; i < 2; i++)
            CHECK_EQ(0, pthread_join(thread[i], NULL));
    }
    sleeper_pair_close(&pair);
}

static void await_active(struct ibv_context *context)
{
    struct ibv_port_attr port = {.state = IBV_PORT_DOWN};
    for (struct timespec start = now(); port.state != IBV_PORT_ACTIVE && !overdue(start);)
        CHECK_EQ(0, ibv_query_port(context, 1, &port));
    CHECK_EQ(IBV_PORT_ACTIVE, port.state);
}

/* An interface that is down is an error of the sockets, which must not keep a thread busy. */
static void an_interface_that_is_down_wakes_no_thread(const char *kind)
{
    struct sleeper_pair pair;
    sleeper_pair_open(&pair, kind);
    struct sleeper *sleeper = &pair.sleeper[0];
    settle(&pair, sleeper);
    for (int round = 0; round < 2; round++) {
        arm(sleeper);
        run("ip link set %s down", pair.wire.name[1]);
        struct ibv_port_attr port = {.state = IBV_PORT_ACTIVE};
        struct timespec start = now();
        while (port.state != IBV_PORT_DOWN && !overdue(start))
            CHECK_EQ(0, ibv_query_port(pair.wire.world[1].context, 1, &port));
        /* After a few looks the error has been read, and the descriptor is not readable any more. */
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
        run("ip link set %s up", pair.wire.name[1]);
        await_active(pair.wire.world[1].context);
        /* The kernel lets the other end send only after a while. Frames sent before that are lost. */
        await_active(pair.wire.world[0].context);
    }
    settle(&pair, sleeper);
    sleeper_pair_close(&pair);
}

/* ---- sockets that cannot be watched ---- */

static _Atomic int good_additions, failing_additions;

/* Replaces the C library's function, including for the library under test. */
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

static void wait_for_frame(struct sleeper_pair *pair, struct sleeper *sleeper)
{
    CHECK_EQ(0, post_recv_slot(&sleeper->side, pair->slot++ % 16, SLOT_BYTES));
    send_to(pair, sleeper);
    await_event(sleeper);
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(sleeper->side.cq).status);
}

/* A thread can arm again after a failure. Threads that were armed before are woken all the same. */
static void watching_sockets_is_retried_after_a_failure(const char *kind)
{
    struct sleeper_pair pair;
    sleeper_pair_open(&pair, kind);
    for (int good = 0; good < 2; good++) {
        for (int i = 0; i < 2; i++)
            sleep_for_frame(&pair, &pair.sleeper[i]);
        /* No queue is armed. After this number of frames no channel watches either. */
        for (int i = 0; i < 40; i++) {
            CHECK_EQ(0, post_recv_slot(&pair.sleeper[0].side, 1, SLOT_BYTES));
            send_to(&pair, &pair.sleeper[0]);
            CHECK_EQ(IBV_WC_SUCCESS, wait_one(pair.sleeper[0].side.cq).status);
        }
        fail_additions(good, 1);
        int error = ibv_req_notify_cq(pair.sleeper[0].side.cq, 0);
        /* A packet device has only one socket. */
        CHECK(error == ENOMEM || (good > 0 && error == 0));
        fail_additions(0, 0);
        arm(&pair.sleeper[0]);
        wait_for_frame(&pair, &pair.sleeper[0]);
        /* The thread moves the frame for the first queue, and then cannot watch for the second one. */
        arm(&pair.sleeper[0]);
        arm(&pair.sleeper[1]);
        fail_additions(good, 3);
        wait_for_frame(&pair, &pair.sleeper[0]);
        wait_for_frame(&pair, &pair.sleeper[1]);
        fail_additions(0, 0);
    }
    sleeper_pair_close(&pair);
}

ON_EACH_KIND(a_blocking_reader_is_woken)
ON_EACH_KIND(blocking_descriptors_are_readable_for_events_alone)
ON_EACH_KIND(a_watching_channel_can_go)
ON_EACH_KIND(sleepers_answer_each_other)
ON_EACH_KIND(an_interface_that_is_down_wakes_no_thread)
ON_EACH_KIND(watching_sockets_is_retried_after_a_failure)

const struct test event_source_threads_tests[] = {
    {"watch: a blocking reader is woken", test_a_blocking_reader_is_woken},
    {"watch: blocking descriptors are readable for events alone",
     test_blocking_descriptors_are_readable_for_events_alone},
    {"watch: a watching channel can go", test_a_watching_channel_can_go},
    {"watch: sleepers answer each other", test_sleepers_answer_each_other},
    {"watch: an interface that is down wakes no thread", test_an_interface_that_is_down_wakes_no_thread},
    {"watch: watching sockets is retried after a failure", test_watching_sockets_is_retried_after_a_failure},
    {NULL, NULL},
};
