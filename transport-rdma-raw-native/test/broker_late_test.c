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
#define sv_broker_fail late_fail
#define sv_broker_forget_waiting late_forget_waiting
#define sv_broker_send_later late_send_later
#define sv_broker_receive_pending late_receive_pending
#define sv_broker_transact late_transact
#define sv_broker_transact_retrying late_transact_retrying
#define sv_broker_check_namespace late_check_namespace
#define sv_broker_connect late_connect
#define sv_broker_disconnect late_disconnect
#define sv_broker_set_rules late_set_rules
#define sv_broker_add_rule_again late_add_rule_again
#define sv_broker_add_rule late_add_rule
#define sv_broker_remove_rule late_remove_rule
#define sv_broker_stale_rules late_stale_rules
#define sv_broker_report_mac_change late_report_mac_change

#define _GNU_SOURCE
#include "harness.h"
#include "broker_client.h"
#include "broker_scene.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

static int64_t time_millis;
static int broker_socket;
static bool is_answering;
static bool is_short_of_memory;
static bool has_no_heap;
static unsigned removals;       /* that the broker has answered */
static unsigned mac_reports;    /* the same */

/* Every second removal is refused: the broker does not have the rule. */
static void answer(const struct sv_broker_request *request)
{
    struct sv_broker_reply reply = {.version = SV_BROKER_VERSION, .sequence = request->sequence};
    if (request->call == SV_BROKER_REMOVE_RULE && removals++ % 2 == 1)
        reply.error = ENOENT;
    mac_reports += request->call == SV_BROKER_MAC_CHANGED;
    CHECK_EQ(sizeof reply, send(broker_socket, &reply, sizeof reply, MSG_DONTWAIT));
}

static void answer_all(void)
{
    struct sv_broker_request request;
    while (recv(broker_socket, &request, sizeof request, MSG_DONTWAIT) == sizeof request)
        answer(&request);
}

static void continue_broker(void)
{
    is_answering = true;
    answer_all();
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

/* Sends no request while memory is missing. */
static ssize_t virtual_sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (!is_short_of_memory)
        return sendmsg(fd, message, flags);
    errno = ENOBUFS;
    return -1;
}

static void *virtual_alloc(size_t bytes)
{
    return has_no_heap ? NULL : sv_alloc_zeroed(bytes);
}

#define sv_alloc_zeroed virtual_alloc
#define sendmsg virtual_sendmsg
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
    removals = mac_reports = 0;
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
    continue_broker();
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
    continue_broker();
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
    enum { RULES = 100, FIRST_MILLIS = 5000 };
    struct sv_broker broker;
    connect_client(&broker);
    int64_t start = time_millis;
    for (int i = 0; i < RULES; i++)
        late_remove_rule(&broker, &rule);
    CHECK_EQ(FIRST_MILLIS, time_millis - start);
    CHECK_EQ(RULES, late_stale_rules(&broker));
    continue_broker();
    start = time_millis;
    late_remove_rule(&broker, &rule);
    CHECK_EQ(start, time_millis);
    answer_all();
    CHECK_EQ(0, late_add_rule(&broker, &rule));
    CHECK_EQ(1 + RULES, removals);
    CHECK_EQ(0, late_stale_rules(&broker));
    is_answering = false;
    start = time_millis;
    late_remove_rule(&broker, &rule);
    CHECK_EQ(FIRST_MILLIS, time_millis - start);     /* it had answered, so it has its time again */
    disconnect_client(&broker);
}

/* Nor is an event loop that opens many channels. The later rules are not requested. */
static void test_many_additions_wait_once_for_a_broker_that_does_not_answer(void)
{
    enum { RULES = 100, FIRST_MILLIS = 5000 };
    struct sv_broker broker;
    connect_client(&broker);
    int64_t start = time_millis;
    for (int i = 0; i < RULES; i++)
        CHECK_EQ(ETIMEDOUT, late_add_rule(&broker, &rule));
    CHECK_EQ(FIRST_MILLIS, time_millis - start);
    CHECK(strstr(sv_explanation(), "has not answered an earlier request") != NULL);
    CHECK_EQ(1, late_stale_rules(&broker));
    continue_broker();
    CHECK_EQ(0, late_add_rule(&broker, &rule));
    CHECK_EQ(1, removals);
    CHECK_EQ(0, late_stale_rules(&broker));
    close(broker_socket);
    start = time_millis;
    CHECK_EQ(ECONNRESET, late_add_rule(&broker, &rule));
    CHECK_EQ(start, time_millis);
    close(broker.socket);
}

/* Replies that come one by one show that the broker works, so the addition has its time. */
static void test_an_addition_waits_for_a_broker_that_catches_up(void)
{
    enum { REMOVALS = 3 };
    struct sv_broker_request request;
    struct sv_broker broker;
    connect_client(&broker);
    for (int i = 0; i < REMOVALS; i++)
        late_remove_rule(&broker, &rule);
    CHECK_EQ(sizeof request, recv(broker_socket, &request, sizeof request, MSG_DONTWAIT));
    answer(&request);
    is_answering = true;                    /* the others, when the client waits */
    CHECK_EQ(0, late_add_rule(&broker, &rule));
    CHECK_EQ(REMOVALS, removals);
    CHECK_EQ(0, late_stale_rules(&broker));
    disconnect_client(&broker);
}

static void answer_next(uint32_t call)
{
    struct sv_broker_request request;
    CHECK_EQ(sizeof request, recv(broker_socket, &request, sizeof request, MSG_DONTWAIT));
    CHECK_EQ(call, request.call);
    answer(&request);
}

/* The broker answers a request now and then. An event loop that removes a rule does not wait for each. */
static void test_a_removal_does_not_wait_for_earlier_replies(void)
{
    enum { REMOVALS = 3 };
    struct sv_broker broker;
    connect_client(&broker);
    for (int i = 0; i < REMOVALS; i++)
        late_remove_rule(&broker, &rule);
    int64_t start = time_millis;
    answer_next(SV_BROKER_REMOVE_RULE);
    late_remove_rule(&broker, &rule);
    answer_next(SV_BROKER_REMOVE_RULE);
    CHECK(late_report_mac_change(&broker));
    CHECK_EQ(start, time_millis);
    continue_broker();
    CHECK_EQ(0, late_add_rule(&broker, &rule));
    CHECK_EQ(1 + REMOVALS, removals);
    CHECK_EQ(1, mac_reports);
    CHECK_EQ(0, late_stale_rules(&broker));
    disconnect_client(&broker);
}

static unsigned requests_in_flight(void)
{
    struct sv_broker_request request;
    unsigned count = 0;
    while (recv(broker_socket, &request, sizeof request, MSG_DONTWAIT) == sizeof request) {
        answer(&request);
        count++;
    }
    return count;
}

/* More removals than the socket has room for. The answers of a broker that continues must have room too. */
static void test_removals_that_were_not_sent_follow_when_the_broker_answers(void)
{
    enum { RULES = 1000, MAX_IN_FLIGHT = 64 };
    struct sv_broker broker;
    connect_client(&broker);
    for (int i = 0; i < RULES; i++)
        late_remove_rule(&broker, &rule);
    CHECK_EQ(RULES, late_stale_rules(&broker));
    unsigned in_flight = requests_in_flight();
    CHECK(in_flight > 0 && in_flight <= MAX_IN_FLIGHT);
    is_answering = true;
    CHECK_EQ(0, late_add_rule(&broker, &rule));
    CHECK_EQ(RULES, removals);
    CHECK_EQ(0, late_stale_rules(&broker));
    disconnect_client(&broker);
}

/* The requests have no place in the socket, as if the host had little memory for it. */
static void fill_socket(const struct sv_broker *broker)
{
    static const struct sv_broker_request request;
    while (send(broker->socket, &request, sizeof request, MSG_DONTWAIT) > 0)
        ;
    CHECK_EQ(EAGAIN, errno);
}

static void empty_socket(void)
{
    struct sv_broker_request request;
    while (recv(broker_socket, &request, sizeof request, MSG_DONTWAIT) > 0)
        ;
    CHECK_EQ(EAGAIN, errno);
}

/*
 * The connection goes on: if it ended, the broker would free the memory of the device when it continues. A rule that is
 * removed and added again exists in the end, so the order stays.
 */
static void test_requests_without_room_follow_in_order(void)
{
    struct sv_broker_request request;
    struct sv_broker broker;
    connect_client(&broker);
    fill_socket(&broker);
    late_remove_rule(&broker, &rule);
    late_report_mac_change(&broker);
    late_report_mac_change(&broker);
    CHECK_EQ(ETIMEDOUT, late_add_rule(&broker, &rule));
    CHECK_EQ(1, late_stale_rules(&broker));
    empty_socket();
    CHECK_EQ(ETIMEDOUT, late_add_rule(&broker, &rule));
    static const uint32_t calls[] = {SV_BROKER_REMOVE_RULE, SV_BROKER_MAC_CHANGED};
    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        CHECK_EQ(sizeof request, recv(broker_socket, &request, sizeof request, MSG_DONTWAIT));
        CHECK_EQ(calls[i], request.call);
        answer(&request);
    }
    is_answering = true;
    CHECK_EQ(0, late_add_rule(&broker, &rule));
    CHECK_EQ(0, late_stale_rules(&broker));
    CHECK_EQ(1, removals);
    disconnect_client(&broker);
}

/* The client does not end the connection, with which the device would lose its memory. */
static void test_requests_without_memory_follow_later(void)
{
    struct sv_broker broker;
    connect_client(&broker);
    continue_broker();
    is_short_of_memory = true;
    CHECK_EQ(ETIMEDOUT, late_add_rule(&broker, &rule));
    CHECK(strstr(sv_explanation(), "cannot send a request") != NULL);
    CHECK_EQ(0, late_stale_rules(&broker));
    late_remove_rule(&broker, &rule);
    CHECK_EQ(ETIMEDOUT, late_add_rule(&broker, &rule));
    CHECK_EQ(1, time_millis);       /* nothing to wait for */
    CHECK_EQ(1, late_stale_rules(&broker));
    is_short_of_memory = false;
    CHECK_EQ(0, late_add_rule(&broker, &rule));
    CHECK_EQ(1, removals);
    CHECK_EQ(0, late_stale_rules(&broker));
    disconnect_client(&broker);
}

/* The receive thread reports the address again. */
static void test_a_mac_report_that_cannot_be_queued_is_lost(void)
{
    struct sv_broker broker;
    connect_client(&broker);
    late_remove_rule(&broker, &rule);
    is_short_of_memory = has_no_heap = true;
    CHECK(!late_report_mac_change(&broker));
    is_short_of_memory = has_no_heap = false;
    CHECK(late_report_mac_change(&broker));
    continue_broker();
    CHECK_EQ(0, late_add_rule(&broker, &rule));
    CHECK_EQ(1, mac_reports);
    disconnect_client(&broker);
}

/* ---- resuming ---- */

static int open_null(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

/* A connection to a successor, which has received the request to resume the device and not answered it. */
static void begin_resuming(struct sv_broker *broker, struct sv_broker_request *request)
{
    int programs_fd;
    connect_client(broker);
    broker->queue_count = 1;
    broker->held_count = 1;
    broker->held[0] = broker->programs_fd = open_null();
    CHECK_EQ(ETIMEDOUT, request_resume(broker, &programs_fd));
    CHECK_EQ(SV_BROKER_RESUME_PENDING, broker->pending);
    CHECK_EQ(sizeof *request, recv(broker_socket, request, sizeof *request, MSG_DONTWAIT));
}

static void answer_resume(const struct sv_broker *broker, const struct sv_broker_request *request)
{
    const struct sv_broker_reply reply = {.version = SV_BROKER_VERSION, .sequence = request->sequence};
    CHECK_EQ(0, send_passing_all(broker_socket, &reply, sizeof reply, &broker->programs_fd, 1));
}

static void end_resuming(struct sv_broker *broker)
{
    sv_broker_close_fds(broker->uncertain_fds, broker->uncertain_count);
    close(broker->programs_fd);
    if (broker->socket >= 0)
        close(broker->socket);
}

/* The broker has executed the commit meanwhile, so its program has the rule. */
static void test_a_removal_and_a_mac_report_reach_a_broker_after_its_late_commit(void)
{
    struct sv_broker broker;
    for (int is_removal = 0; is_removal < 2; is_removal++) {
        connect_client(&broker);
        broker.queue_count = 1;
        broker.programs_fd = open_null();
        CHECK_EQ(ETIMEDOUT, commit(&broker, open_null()));
        CHECK_EQ(SV_BROKER_COMMIT_PENDING, broker.pending);
        late_remove_rule(&broker, &rule);       /* queued */
        continue_broker();
        if (is_removal)
            late_remove_rule(&broker, &rule);
        else
            CHECK(late_report_mac_change(&broker));
        CHECK_EQ(SV_BROKER_NOTHING_PENDING, broker.pending);
        CHECK_EQ(0, broker.deadline_millis);
        answer_all();
        CHECK_EQ(1 + is_removal, removals);
        CHECK_EQ(!is_removal, mac_reports);
        CHECK_EQ(0, late_add_rule(&broker, &rule));
        CHECK_EQ(0, late_stale_rules(&broker));
        close(broker_socket);
        end_resuming(&broker);
    }
}

/* The application tries again later than the broker keeps an idle connection. Each new attempt would block it. */
static void test_a_reply_read_too_late_counts_as_of_a_busy_broker(void)
{
    struct sv_broker broker;
    struct sv_broker_request request;
    CHECK_EQ(0, setenv("SOFTVERBS_BROKER", "/nonexistent", 1));
    begin_resuming(&broker, &request);
    answer_resume(&broker, &request);
    close(broker_socket);
    CHECK_EQ(ECONNRESET, late_add_rule(&broker, &rule));
    CHECK_EQ(1, broker.busy_attempts);
    CHECK(broker.next_resume_millis >= time_millis + 2 * BACKOFF_MILLIS);
    CHECK_EQ(0, broker.uncertain_count);        /* the commit was not sent */
    CHECK_EQ(0, unsetenv("SOFTVERBS_BROKER"));
    end_resuming(&broker);
}

/* The interface runs the old program, of which the map must stay. */
static void test_a_commit_that_was_not_sent_is_not_pending(void)
{
    struct sv_broker broker;
    struct sv_broker_request request;
    begin_resuming(&broker, &request);
    CHECK(late_report_mac_change(&broker));
    answer_resume(&broker, &request);
    CHECK_EQ(ETIMEDOUT, late_add_rule(&broker, &rule));
    CHECK_EQ(sizeof request, recv(broker_socket, &request, sizeof request, MSG_DONTWAIT));
    CHECK_EQ(SV_BROKER_MAC_CHANGED, request.call);
    CHECK_EQ(SV_BROKER_NOTHING_PENDING, broker.pending);
    CHECK_EQ(0, broker.uncertain_count);
    close(broker_socket);
    end_resuming(&broker);
}

static void test_a_commit_that_was_not_sent_is_not_uncertain(void)
{
    struct sv_broker broker;
    connect_client(&broker);
    close(broker_socket);
    CHECK_EQ(ECONNRESET, commit(&broker, open_null()));
    CHECK_EQ(0, broker.uncertain_count);
    close(broker.socket);
}

const struct test broker_late_tests[] = {
    {"broker client: a removal does not wait for earlier replies", test_a_removal_does_not_wait_for_earlier_replies},
    {"broker client: a MAC report that cannot be queued is lost", test_a_mac_report_that_cannot_be_queued_is_lost},
    {"broker client: a removal and a MAC report reach a broker after its late commit",
     test_a_removal_and_a_mac_report_reach_a_broker_after_its_late_commit},
    {"broker client: a reply read too late counts as of a busy broker",
     test_a_reply_read_too_late_counts_as_of_a_busy_broker},
    {"broker client: a commit that was not sent is not pending", test_a_commit_that_was_not_sent_is_not_pending},
    {"broker client: a commit that was not sent is not uncertain", test_a_commit_that_was_not_sent_is_not_uncertain},
    {"broker client: a removal without an answer counts until the answer",
     test_a_removal_without_an_answer_counts_until_the_answer},
    {"broker client: an addition without an answer counts until it is undone",
     test_an_addition_without_an_answer_counts_until_it_is_undone},
    {"broker client: a removal counts if the broker ends before its answer",
     test_a_removal_counts_if_the_broker_ends_before_its_answer},
    {"broker client: many removals wait once for a broker that does not answer",
     test_many_removals_wait_once_for_a_broker_that_does_not_answer},
    {"broker client: many additions wait once for a broker that does not answer",
     test_many_additions_wait_once_for_a_broker_that_does_not_answer},
    {"broker client: an addition waits for a broker that catches up",
     test_an_addition_waits_for_a_broker_that_catches_up},
    {"broker client: removals that were not sent follow when the broker answers",
     test_removals_that_were_not_sent_follow_when_the_broker_answers},
    {"broker client: requests without room follow in order", test_requests_without_room_follow_in_order},
    {"broker client: requests without memory follow later", test_requests_without_memory_follow_later},
    {NULL, NULL},
};
