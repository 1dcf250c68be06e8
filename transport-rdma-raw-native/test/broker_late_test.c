/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A broker that answers late. The client's files are included, with the clock and poll() replaced: the broker answers
 * inside poll(), in virtual time.
 */
#define sv_broker_path late_path
#define sv_broker_is_configured late_is_configured
#define sv_broker_now_millis late_now_millis
#define sv_broker_random_millis late_random_millis
#define sv_broker_close_fds late_close_fds
#define sv_broker_transact late_transact
#define sv_broker_transact_retrying late_transact_retrying
#define sv_broker_check_namespace late_check_namespace
#define sv_broker_connect late_connect
#define sv_broker_disconnect late_disconnect
#define sv_broker_keep_queues late_keep_queues
#define sv_broker_open late_open
#define sv_broker_close late_close
#define sv_broker_set_rules late_set_rules
#define sv_broker_add_rule_again late_add_rule_again
#define sv_broker_add_rule late_add_rule
#define sv_broker_remove_rule late_remove_rule
#define sv_broker_stale_rules late_stale_rules
#define sv_broker_report_mac_change late_report_mac_change

#define _GNU_SOURCE
#include "harness.h"
#include "broker_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>

static int64_t time_millis;
static int broker_socket;
static bool is_answering;
static unsigned removals;       /* that the broker has answered */

/* Answers all requests. Every second removal is refused: the broker does not have the rule. */
static void answer_all(void)
{
    struct sv_broker_request request;
    while (recv(broker_socket, &request, sizeof request, MSG_DONTWAIT) == sizeof request) {
        struct sv_broker_reply reply = {.version = SV_BROKER_VERSION, .sequence = request.sequence};
        if (request.call == SV_BROKER_REMOVE_RULE && removals++ % 2 == 1)
            reply.error = ENOENT;
        CHECK_EQ(sizeof reply, send(broker_socket, &reply, sizeof reply, 0));
    }
}

/* Time passes only while the client waits for a broker that does not answer. */
static int virtual_poll(struct pollfd *fds, nfds_t count, int timeout_millis)
{
    if (is_answering)
        answer_all();
    int ready = poll(fds, count, 0);
    time_millis += ready == 0 ? timeout_millis : 0;
    return ready;
}

static int virtual_clock(clockid_t clock, struct timespec *now_)
{
    (void)clock;
    *now_ = (struct timespec){.tv_sec = time_millis / 1000, .tv_nsec = time_millis % 1000 * 1000000};
    return 0;
}

#define poll virtual_poll
#define clock_gettime virtual_clock
#include "../softverbs/broker_client.c"
#include "../softverbs/broker_device.c"

static const struct sv_rule_spec rule = {.priority = 1};

static void connect_client(struct sv_broker *broker)
{
    int pair[2];
    CHECK_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
    memset(broker, 0, sizeof *broker);
    broker->socket = pair[0];
    broker_socket = pair[1];
    is_answering = false;
    removals = 0;
    time_millis = 1;
}

static void disconnect_client(struct sv_broker *broker)
{
    close(broker_socket);
    close(broker->socket);
}

/* The broker executes it in the end, unless it ends before. */
static void test_a_removal_without_an_answer_counts_until_the_answer(void)
{
    enum { BOTH = 2 };
    struct sv_broker broker;
    connect_client(&broker);
    late_remove_rule(&broker, &rule);
    CHECK_EQ(1, late_stale_rules(&broker));
    late_remove_rule(&broker, &rule);
    CHECK_EQ(BOTH, late_stale_rules(&broker));
    is_answering = true;
    CHECK_EQ(0, late_add_rule(&broker, &rule));
    CHECK_EQ(BOTH, removals);
    CHECK_EQ(0, late_stale_rules(&broker));
    late_remove_rule(&broker, &rule);
    late_remove_rule(&broker, &rule);       /* refused: the program has no such rule */
    CHECK_EQ(0, late_stale_rules(&broker));
    disconnect_client(&broker);
}

static void test_an_addition_without_an_answer_counts_until_it_is_undone(void)
{
    struct sv_broker broker;
    connect_client(&broker);
    CHECK_EQ(ETIMEDOUT, late_add_rule(&broker, &rule));
    CHECK_EQ(1, late_stale_rules(&broker));
    is_answering = true;
    CHECK_EQ(0, late_add_rule(&broker, &rule));
    CHECK_EQ(1, removals);
    CHECK_EQ(0, late_stale_rules(&broker));
    disconnect_client(&broker);
}

static void test_a_removal_counts_if_the_broker_ends_before_its_answer(void)
{
    enum { BOTH = 2 };
    struct sv_broker broker;
    connect_client(&broker);
    late_remove_rule(&broker, &rule);
    close(broker_socket);
    CHECK_EQ(ECONNRESET, late_add_rule(&broker, &rule));
    CHECK_EQ(1, late_stale_rules(&broker));
    late_remove_rule(&broker, &rule);
    CHECK_EQ(BOTH, late_stale_rules(&broker));
    close(broker.socket);
}

/* An event loop that closes many channels is blocked once, not by each of them. */
static void test_many_removals_wait_once_for_a_broker_that_does_not_answer(void)
{
    enum { RULES = 100, FIRST_MILLIS = 5000, LATER_MILLIS = 100 };
    struct sv_broker broker;
    connect_client(&broker);
    int64_t start = time_millis;
    for (int i = 0; i < RULES; i++)
        late_remove_rule(&broker, &rule);
    CHECK(time_millis - start <= FIRST_MILLIS + RULES * LATER_MILLIS);
    CHECK_EQ(RULES, late_stale_rules(&broker));
    is_answering = true;
    late_remove_rule(&broker, &rule);
    CHECK_EQ(1 + RULES, removals);
    CHECK_EQ(0, late_stale_rules(&broker));
    is_answering = false;
    start = time_millis;
    late_remove_rule(&broker, &rule);
    CHECK_EQ(FIRST_MILLIS, time_millis - start);     /* it had answered, so it has its time again */
    disconnect_client(&broker);
}

/* The requests have a sequence number that the client does not wait for. */
static void fill_socket(const struct sv_broker *broker)
{
    static const struct sv_broker_request request;
    while (send(broker->socket, &request, sizeof request, MSG_DONTWAIT) > 0)
        ;
    CHECK_EQ(EAGAIN, errno);
}

/* A removal that cannot be sent shows too that the broker does not answer. */
static void test_a_request_that_cannot_be_sent_is_late(void)
{
    enum { FIRST_MILLIS = 5000, LATER_MILLIS = 100 };
    struct sv_broker broker;
    connect_client(&broker);
    fill_socket(&broker);
    int64_t start = time_millis;
    late_remove_rule(&broker, &rule);
    CHECK_EQ(FIRST_MILLIS, time_millis - start);
    start = time_millis;
    late_remove_rule(&broker, &rule);
    CHECK_EQ(LATER_MILLIS, time_millis - start);
    disconnect_client(&broker);
}

/* If the connection ended, the broker would free the memory of the device when it goes on. */
static void test_the_connection_outlives_requests_that_cannot_be_sent(void)
{
    enum { LATER_MILLIS = 100, NOT_SENT = 2, NOT_ANSWERED = 1 };
    struct sv_broker broker;
    struct sv_broker_request request;
    connect_client(&broker);
    late_remove_rule(&broker, &rule);
    fill_socket(&broker);
    int64_t start = time_millis;
    late_remove_rule(&broker, &rule);
    CHECK_EQ(LATER_MILLIS, time_millis - start);    /* as long as for a reply */
    CHECK_EQ(sizeof request, recv(broker_socket, &request, sizeof request, MSG_DONTWAIT));
    CHECK_EQ(ETIMEDOUT, late_add_rule(&broker, &rule));     /* its removal no longer fits */
    is_answering = true;
    CHECK_EQ(0, late_add_rule(&broker, &rule));
    CHECK_EQ(NOT_SENT + NOT_ANSWERED, late_stale_rules(&broker));
    disconnect_client(&broker);
}

const struct test broker_late_tests[] = {
    {"broker client: a removal without an answer counts until the answer",
     test_a_removal_without_an_answer_counts_until_the_answer},
    {"broker client: an addition without an answer counts until it is undone",
     test_an_addition_without_an_answer_counts_until_it_is_undone},
    {"broker client: a removal counts if the broker ends before its answer",
     test_a_removal_counts_if_the_broker_ends_before_its_answer},
    {"broker client: many removals wait once for a broker that does not answer",
     test_many_removals_wait_once_for_a_broker_that_does_not_answer},
    {"broker client: a request that cannot be sent is late", test_a_request_that_cannot_be_sent_is_late},
    {"broker client: the connection outlives requests that cannot be sent",
     test_the_connection_outlives_requests_that_cannot_be_sent},
    {NULL, NULL},
};
