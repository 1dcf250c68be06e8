/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts that the broker answers and logs. server_requests.c is included, with the functions replaced that open
 * devices, send and log.
 */
#define server_limit_uid tested_limits_of
#define server_usage_of tested_usage_of
#define server_close_device tested_close_device
#define server_log_refusal tested_log_refusal
#define server_handle_message tested_answer
#define server_continue_opening tested_continue

#include "harness.h"
#include "journal.h"
#include "server_state.h"

#include <stdarg.h>

enum { MAX_LINES = 64, LINE_BYTES = 600 };

static struct sv_broker_reply last_reply;
static char lines[MAX_LINES][LINE_BYTES];
static unsigned line_count;
static int64_t millis;

static void fake_journal(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void fake_journal(const char *format, ...)
{
    va_list arguments;
    CHECK(line_count < MAX_LINES);
    va_start(arguments, format);
    vsnprintf(lines[line_count++], LINE_BYTES, format, arguments);
    va_end(arguments);
}

static bool fake_send(const void *bytes, size_t length)
{
    CHECK_EQ(sizeof last_reply, length);
    memcpy(&last_reply, bytes, length);
    return true;
}

/* Memory is missing, and nothing explains it. */
static int fake_continue(struct grant *grant)
{
    (void)grant;
    return ENOMEM;
}

static int fake_update_mac(struct grant *grant)
{
    (void)grant;
    return ENODEV;
}

#define journal fake_journal
#define send_with_fds(FD, BYTES, LENGTH, ...) fake_send(BYTES, LENGTH)
#define grant_continue_opening fake_continue
#define grant_update_mac fake_update_mac

#include "../broker/server_requests.c"

static int64_t fake_clock(void)
{
    return millis;
}

static struct server *server_of_test(void)
{
    static struct server server;
    memset(&server, 0, sizeof server);
    server.now_millis = fake_clock;
    millis = 5000;
    line_count = 0;
    return &server;
}

static struct client client_of(uid_t uid)
{
    struct client client;
    memset(&client, 0, sizeof client);
    client.user.uid = client.limit_uid = uid;
    return client;
}

/* Sends a message that is refused with a sentence about this version of the library. */
static void refuse(struct server *server, struct client *client, uint32_t version)
{
    struct session_message question;
    memset(&question, 0, sizeof question);
    question.kind = SESSION_MALFORMED;
    question.version = version;
    CHECK(tested_answer(server, client, &question));
    CHECK_EQ(EPROTO, last_reply.error);
    CHECK(strstr(last_reply.text, "and the library of the process version") != NULL);
}

static void check_last(int error)
{
    CHECK_EQ(error, last_reply.error);
    if (strcmp(strerror(error), last_reply.text) != 0)
        test_failed(__FILE__, __LINE__, "the answer to an unexplained error is: %s", last_reply.text);
    CHECK(strstr(lines[line_count - 1], strerror(error)) != NULL);
}

static void an_unexplained_error_has_no_text_of_another_client(void)
{
    struct server *server = server_of_test();
    struct client one = client_of(1001), other = client_of(1002);
    struct session_message question;
    memset(&question, 0, sizeof question);
    question.kind = SESSION_REQUEST;
    question.request.call = SV_BROKER_MAC_CHANGED;
    other.grant.in_use = true;
    refuse(server, &one, 999);
    CHECK(tested_answer(server, &other, &question));
    check_last(ENODEV);
    refuse(server, &one, 999);
    CHECK(tested_continue(server, &other));
    check_last(ENOMEM);
}

static unsigned lines_of(uid_t uid)
{
    char start[32];
    unsigned count = 0;
    snprintf(start, sizeof start, "user %u,", uid);
    for (unsigned i = 0; i < line_count; i++)
        count += strncmp(lines[i], start, strlen(start)) == 0;
    return count;
}

/* Otherwise a user that is refused all the time would hide the refusals of others. */
static void log_lines_about_refusals_are_limited_per_user(void)
{
    enum { REFUSALS = 40 };
    struct server *server = server_of_test();
    struct client noisy = client_of(1001), again = client_of(1001), other = client_of(1002);
    for (uint32_t i = 0; i < REFUSALS; i++)
        refuse(server, i % 2 == 0 ? &noisy : &again, 100 + i);
    CHECK_EQ(SERVER_MAX_REFUSAL_LINES_PER_SECOND_OF_USER, lines_of(1001));
    refuse(server, &other, 999);
    CHECK_EQ(1, lines_of(1002));
    millis += 1000;
    refuse(server, &again, 999);
    CHECK_EQ(SERVER_MAX_REFUSAL_LINES_PER_SECOND_OF_USER + 1, lines_of(1001));
    CHECK(strstr(lines[line_count - 1], "(and 35 times before)") != NULL);
}

const struct test broker_answers_tests[] = {
    {"broker: an unexplained error has no text of another client", an_unexplained_error_has_no_text_of_another_client},
    {"broker: log lines about refusals are limited per user", log_lines_about_refusals_are_limited_per_user},
    {NULL, NULL},
};
