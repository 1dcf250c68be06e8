/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many clients resume their devices at one broker. broker_device.c is included, with the requests replaced: a simulated
 * broker does a piece of work for each client in turn, in virtual time.
 */
#define sv_broker_set_rules tested_set_rules
#define sv_broker_add_rule_again tested_add_rule_again
#define sv_broker_add_rule tested_add_rule
#define sv_broker_remove_rule tested_remove_rule
#define sv_broker_stale_rules tested_stale_rules
#define sv_broker_report_mac_change tested_report_mac_change

#include "harness.h"
#include "broker_client.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { CLIENTS = 40, PIECE_MILLIS = 50, RESUME_MILLIS = 500, REQUEST_MILLIS = 5000, APPLICATION_MILLIS = 100 };
enum { LIMIT_MILLIS = 600000 };

struct client {
    struct sv_broker broker;    /* first, so that a pointer to it is one to the client */
    pthread_t thread;
    unsigned rules;             /* that the device has */
    int64_t rule_millis;        /* work of the broker for each of them */
    uint32_t random;
    bool is_resumed;
    /* Under the mutex: */
    bool is_blocked;
    bool needs_broker;
    int64_t work_millis;        /* still to be done by the broker, also after the client's deadline */
    int64_t end_millis;         /* of the pause, or the deadline of the request */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct client clients[CLIENTS];
static unsigned client_count, staying, running, turn;
static int64_t millis;
static _Thread_local struct client *self;

/* ---- virtual time ---- */

/* Does a piece of work for the next client. Returns false if no client has a request. */
static bool serve_next(void)
{
    for (unsigned i = 0; i < client_count; i++) {
        struct client *client = &clients[turn++ % client_count];
        if (client->work_millis == 0)
            continue;
        int64_t piece = client->work_millis < PIECE_MILLIS ? client->work_millis : PIECE_MILLIS;
        client->work_millis -= piece;
        millis += piece;
        return true;
    }
    return false;
}

static void skip_to_next_end(void)
{
    int64_t next = INT64_MAX;
    for (unsigned i = 0; i < client_count; i++)
        if (clients[i].is_blocked && clients[i].end_millis < next)
            next = clients[i].end_millis;
    millis = next > millis ? next : millis;
}

/* Time passes only while all clients are blocked. */
static void pass_time(void)
{
    while (running == 0) {
        if (!serve_next())
            skip_to_next_end();
        for (unsigned i = 0; i < client_count; i++) {
            struct client *client = &clients[i];
            bool is_served = client->needs_broker && client->work_millis == 0;
            if (!client->is_blocked || (!is_served && millis < client->end_millis))
                continue;
            client->is_blocked = false;
            running++;
        }
    }
    pthread_cond_broadcast(&changed);
}

/* Returns 0 when the work is done, or ETIMEDOUT at the end of the time. */
static int block(bool needs_broker, int64_t work_millis, int64_t end_millis)
{
    pthread_mutex_lock(&mutex);
    self->needs_broker = needs_broker;
    self->work_millis += work_millis;
    self->end_millis = end_millis;
    self->is_blocked = true;
    if (--running == 0)
        pass_time();
    while (self->is_blocked)
        pthread_cond_wait(&changed, &mutex);
    bool is_done = needs_broker && self->work_millis == 0;
    pthread_mutex_unlock(&mutex);
    return is_done ? 0 : ETIMEDOUT;
}

static int64_t virtual_millis(void)
{
    pthread_mutex_lock(&mutex);
    int64_t result = millis;
    pthread_mutex_unlock(&mutex);
    return result;
}

/* ---- the broker ---- */

static int fake_transact(struct sv_broker *broker, struct sv_broker_request *request, unsigned *count)
{
    int64_t work_millis = request->call == SV_BROKER_RESUME ? RESUME_MILLIS : self->rule_millis;
    *count = request->call == SV_BROKER_RESUME;
    if (broker->error != 0)
        return sv_explain(broker->error, "the broker has ended");
    request->sequence = ++broker->sequence;
    int64_t deadline = broker->deadline_millis != 0 ? broker->deadline_millis : virtual_millis() + REQUEST_MILLIS;
    broker->unanswered = block(true, work_millis, deadline) != 0;
    return broker->unanswered == 0 ? 0 : sv_explain(ETIMEDOUT, "late");
}

static int fake_receive_pending(struct sv_broker *broker, unsigned *count)
{
    pthread_mutex_lock(&mutex);
    broker->unanswered = self->work_millis > 0;
    pthread_mutex_unlock(&mutex);
    *count = broker->pending == SV_BROKER_RESUME_PENDING;
    return broker->unanswered == 0 ? 0 : sv_explain(ETIMEDOUT, "late");
}

/* The broker drops the work of a closed connection. */
static void fake_disconnect(struct sv_broker *broker)
{
    pthread_mutex_lock(&mutex);
    self->work_millis = 0;
    pthread_mutex_unlock(&mutex);
    broker->unanswered = 0;
}

static unsigned fake_spread(unsigned at_least)
{
    self->random = self->random * 1664525 + 1013904223;
    return at_least + (self->random >> 8) % at_least;
}

#define sv_broker_now_millis virtual_millis
#define sv_broker_connect(BROKER) 0
#define sv_broker_disconnect fake_disconnect
#define sv_broker_forget_waiting(BROKER) ((void)0)
#define sv_broker_send_later(BROKER, REQUEST) ((void)0)
#define sv_broker_receive_pending(BROKER, REPLY, FDS, COUNT) \
    ((void)(REPLY), (FDS)[0] = -1, fake_receive_pending(BROKER, COUNT))
#define sv_broker_transact(BROKER, REQUEST, REPLY, FDS, COUNT) \
    ((void)(REPLY), (FDS)[0] = -1, fake_transact(BROKER, REQUEST, COUNT))
#define sv_broker_transact_retrying(BROKER, REQUEST, REPLY, FDS, COUNT, MILLIS) \
    sv_broker_transact(BROKER, REQUEST, REPLY, FDS, COUNT)
#define sv_broker_check_namespace(...) 0
#define sv_broker_close_fds(FDS, COUNT) ((void)(FDS), (void)(COUNT))
#define sv_broker_random_millis fake_spread
#define dup3(OLD, NEW, FLAGS) (NEW)
#define close(FD) ((void)(FD))

#include "../softverbs/broker_device.c"

/* ---- the clients ---- */

static int add_rules_again(struct sv_broker *broker, void *context)
{
    const struct sv_rule_spec spec = {.priority = 1};
    int error = 0;
    (void)context;
    for (unsigned i = 0; i < self->rules && error == 0; i++)
        error = tested_add_rule_again(broker, &spec);
    return error;
}

static int add_rule(void)
{
    const struct sv_rule_spec spec = {.priority = 2};
    return tested_add_rule(&self->broker, &spec);
}

static void remove_rule(void)
{
    const struct sv_rule_spec spec = {.priority = 2};
    tested_remove_rule(&self->broker, &spec);
}

/* An application that tries again and again to add a rule. */
static void *add_rule_until_it_succeeds(void *argument)
{
    self = argument;
    while (!self->is_resumed && virtual_millis() < LIMIT_MILLIS) {
        self->is_resumed = add_rule() == 0;
        if (!self->is_resumed)
            (void)block(false, 0, virtual_millis() + APPLICATION_MILLIS);
    }
    pthread_mutex_lock(&mutex);
    staying--;
    if (--running == 0 && staying > 0)
        pass_time();
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* Prepares clients whose broker has ended. */
static void clients_init(unsigned count, unsigned rules, int64_t rule_millis)
{
    memset(clients, 0, sizeof clients);
    client_count = running = staying = count;
    millis = 1;
    for (unsigned i = 0; i < count; i++) {
        struct client *client = &clients[i];
        client->broker.queue_count = 1;
        client->broker.error = ECONNRESET;
        client->rules = rules;
        client->rule_millis = rule_millis;
        client->random = i;
        tested_set_rules(&client->broker, add_rules_again, NULL);
    }
}

/* Together they need longer than one attempt may take. All would fail for ever if they began again at once. */
static void test_all_devices_are_resumed_after_a_restart(void)
{
    enum { RULES = 4, RULE_MILLIS = 2 };
    clients_init(CLIENTS, RULES, RULE_MILLIS);
    CHECK(CLIENTS * RESUME_MILLIS > SV_BROKER_RESUME_MILLIS);
    for (unsigned i = 0; i < CLIENTS; i++)
        CHECK_EQ(0, pthread_create(&clients[i].thread, NULL, add_rule_until_it_succeeds, &clients[i]));
    for (unsigned i = 0; i < CLIENTS; i++)
        CHECK_EQ(0, pthread_join(clients[i].thread, NULL));
    for (unsigned i = 0; i < CLIENTS; i++)
        CHECK(clients[i].is_resumed);
}

/* No request is late, but all together are. */
static void test_an_attempt_to_resume_has_one_deadline(void)
{
    enum { RULES = 20, RULE_MILLIS = 3000 };
    clients_init(1, RULES, RULE_MILLIS);
    self = &clients[0];
    int64_t start = virtual_millis();
    CHECK_EQ(ETIMEDOUT, add_rule());
    CHECK(virtual_millis() - start <= SV_BROKER_RESUME_MILLIS + PIECE_MILLIS);
    CHECK_EQ(ETIMEDOUT, add_rule());        /* at once: the next attempt waits */
    CHECK(virtual_millis() - start <= SV_BROKER_RESUME_MILLIS + PIECE_MILLIS);
}

/* No addition waits again for a step that is late. */
static void test_late_steps_go_on_while_the_application_tries_again(void)
{
    enum { RULES = 1, RULE_MILLIS = 4000, FIRST_MILLIS = RESUME_MILLIS + SV_BROKER_STEP_MILLIS };
    clients_init(1, RULES, RULE_MILLIS);        /* the commit takes as long as the rule */
    self = &clients[0];
    int64_t start = virtual_millis();
    CHECK_EQ(ETIMEDOUT, add_rule());
    CHECK(virtual_millis() - start <= FIRST_MILLIS + PIECE_MILLIS);
    int error;
    for (start = virtual_millis(); (error = add_rule()) != 0; start = virtual_millis()) {
        CHECK_EQ(ETIMEDOUT, error);
        CHECK_EQ(start, virtual_millis());
        CHECK(start < LIMIT_MILLIS);
        (void)block(false, 0, start + APPLICATION_MILLIS);
    }
    CHECK(start - FIRST_MILLIS <= RULE_MILLIS);
}

/* An attempt would take long here, fail, and delay that of the next addition. */
static void test_a_removal_does_not_resume_the_device(void)
{
    enum { RULES = 20, SLOW_RULE_MILLIS = 3000, RULE_MILLIS = 2 };
    clients_init(1, RULES, SLOW_RULE_MILLIS);
    self = &clients[0];
    int64_t start = virtual_millis();
    remove_rule();
    CHECK_EQ(start, virtual_millis());
    CHECK_EQ(1, tested_stale_rules(&self->broker));
    self->rule_millis = RULE_MILLIS;
    CHECK_EQ(0, add_rule());
    CHECK_EQ(0, tested_stale_rules(&self->broker));
}

const struct test broker_storm_tests[] = {
    {"broker client: all devices are resumed after a restart", test_all_devices_are_resumed_after_a_restart},
    {"broker client: an attempt to resume has one deadline", test_an_attempt_to_resume_has_one_deadline},
    {"broker client: late steps go on while the application tries again",
     test_late_steps_go_on_while_the_application_tries_again},
    {"broker client: a removal does not resume the device", test_a_removal_does_not_resume_the_device},
    {NULL, NULL},
};
