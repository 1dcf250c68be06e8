/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a device that a broker has opened, and the device's move to the next broker: see broker.h. */
#define _GNU_SOURCE
#include "broker_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * After a failed attempt to resume a device the next one waits for a random time of at least BACKOFF_MILLIS, which
 * doubles if the broker was busy. BUSY_MILLIS is the time for which one attempt repeats a request that the broker
 * refuses as busy. The broker closes a connection without a device after 5 s.
 */
enum { BACKOFF_MILLIS = 1000, MAX_DOUBLINGS = 4, BUSY_MILLIS = 3000 };

static int transact_without_fds(struct sv_broker *broker, struct sv_broker_request *request)
{
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];
    unsigned count;
    int error = sv_broker_transact(broker, request, &reply, fds, &count);
    sv_broker_close_fds(fds, count);
    return error;
}

/* ---- resuming ---- */

/* Returns true if the broker may have executed a request or not: it has ended or is late. */
static bool has_no_answer(const struct sv_broker *broker, int error)
{
    return error == ETIMEDOUT || broker->error != 0;
}

/* Adds the context to a refusal of the broker, which knows only the request. */
static int explain_refusal(const struct sv_broker *broker, int error)
{
    char text[SV_EXPLANATION_BYTES];
    if (error == 0 || has_no_answer(broker, error))
        return error;
    snprintf(text, sizeof text, "%s", sv_explanation());
    return sv_explain(error, "the restarted rdma-raw-broker refuses this device: %s", text);
}

/* Requests new maps of rules and programs. Returns 0 with the descriptor of the map of programs. */
static int request_resume(struct sv_broker *broker, int *programs_fd)
{
    struct sv_broker_request request;
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];
    unsigned count;
    memset(&request, 0, sizeof request);
    request.call = SV_BROKER_RESUME;
    request.resume.open = broker->wanted;
    request.resume.queue_count = broker->queue_count;
    int error = sv_broker_transact_retrying(broker, &request, &reply, fds, &count, BUSY_MILLIS);
    error = explain_refusal(broker, error);
    if (error == 0)
        error = sv_broker_check_namespace(broker, &broker->wanted, broker->ifindex, &reply);
    if (error == 0 && count != 1)
        error = sv_explain(EPROTO, "rdma-raw-broker at '%s' has sent %u descriptors for a resumed device",
                           sv_broker_path(), count);
    if (error != 0)
        sv_broker_close_fds(fds, count);
    else
        *programs_fd = fds[0];
    return error;
}

/*
 * Replaces the program. `is_uncertain` is set if the broker ended or is late, and may have replaced it or not. That
 * must be rare, so the commit does not depend on how long the rules have taken.
 */
static int commit(struct sv_broker *broker, bool *is_uncertain)
{
    struct sv_broker_request request;
    memset(&request, 0, sizeof request);
    request.call = SV_BROKER_COMMIT;
    broker->deadline_millis += SV_BROKER_COMMIT_MILLIS;
    int error = transact_without_fds(broker, &request);
    *is_uncertain = has_no_answer(broker, error);
    return error;
}

/*
 * Holds the map of the new programs instead of the old one. The kernel empties such a map with its last descriptor, so
 * it is closed only if no interface can run the program that uses it.
 */
static void hold_programs(struct sv_broker *broker, int programs_fd, bool is_committed, bool is_uncertain)
{
    bool is_replaced = is_committed && dup3(programs_fd, broker->programs_fd, O_CLOEXEC) >= 0;
    if (is_replaced) {
        atomic_store(&broker->stale_rules, 0);
        sv_broker_close_fds(broker->uncertain_fds, broker->uncertain_count);
        broker->uncertain_count = 0;
    }
    if (is_replaced || (!is_committed && !is_uncertain))
        close(programs_fd);
    else
        broker->uncertain_fds[broker->uncertain_count++] = programs_fd;
}

/* Adds the rules, and puts the program that knows them in place of the old one. Takes the descriptor. */
static int move_rules(struct sv_broker *broker, int programs_fd)
{
    bool is_uncertain = false;
    int error = broker->add_again != NULL ? broker->add_again(broker, broker->context) : 0;
    bool all_added = error == 0;
    if (all_added)
        error = commit(broker, &is_uncertain);
    hold_programs(broker, programs_fd, error == 0, is_uncertain);
    return explain_refusal(broker, error);
}

/*
 * If an attempt fails before the commit, the interface still runs the old program, and this process holds all objects
 * of that program.
 */
static int resume_here(struct sv_broker *broker)
{
    int programs_fd;
    int error = request_resume(broker, &programs_fd);
    return error != 0 ? error : move_rules(broker, programs_fd);
}

/* Each attempt at a busy broker makes the others slower, so attempts become rarer. */
static unsigned backoff_millis(struct sv_broker *broker, int error)
{
    bool is_busy = error == ETIMEDOUT || error == EAGAIN || error == EBUSY;
    broker->busy_attempts = is_busy ? broker->busy_attempts + 1 : 0;
    unsigned doublings = broker->busy_attempts < MAX_DOUBLINGS ? broker->busy_attempts : MAX_DOUBLINGS;
    return sv_broker_random_millis(BACKOFF_MILLIS << doublings);
}

static void record_failure(struct sv_broker *broker, int error)
{
    snprintf(broker->resume_text, sizeof broker->resume_text, "%s",
             *sv_explanation() != '\0' ? sv_explanation() : strerror(error));
    broker->resume_error = error;
    broker->next_resume_millis = sv_broker_now_millis() + backoff_millis(broker, error);
}

/* If the connection is refused, no broker had any work, and the next attempt need not wait. */
static int attempt_to_resume(struct sv_broker *broker)
{
    if (broker->uncertain_count == SV_BROKER_MAX_UNCERTAIN)
        return sv_explain(ECONNRESET, "rdma-raw-broker did not answer the last step of resuming this device %d times: "
                          "open the device again", SV_BROKER_MAX_UNCERTAIN);
    int error = sv_broker_connect(broker);
    if (error == ECONNREFUSED || error == ENOENT)
        return sv_explain(ECONNRESET, "rdma-raw-broker at '%s' has ended: start it again; until then the rules of its "
                          "devices can't change", sv_broker_path());
    if (error == 0)
        error = resume_here(broker);
    if (error != 0)
        record_failure(broker, error);
    else
        broker->busy_attempts = 0;
    return error;
}

/* Resumes the device of a broker that has ended. Returns 0 or an errno with an explanation. */
static int resume(struct sv_broker *broker)
{
    sv_assert_may_block();
    if (sv_broker_now_millis() < broker->next_resume_millis)
        return sv_explain(broker->resume_error, "%s", broker->resume_text);
    sv_broker_disconnect(broker);
    sv_broker_forget_waiting(broker);
    broker->error = 0;
    broker->deadline_millis = sv_broker_now_millis() + SV_BROKER_RESUME_MILLIS - SV_BROKER_COMMIT_MILLIS;
    int error = attempt_to_resume(broker);
    broker->deadline_millis = 0;
    if (error == 0)
        return 0;
    sv_broker_disconnect(broker);
    broker->error = ECONNRESET;
    return error;
}

/* Returns true if the broker has ended and left this process an open device. */
static bool may_resume(const struct sv_broker *broker)
{
    return broker->error == ECONNRESET && broker->queue_count > 0;
}

/* ---- rules ---- */

static struct sv_broker_request rule_request(enum sv_broker_call call, const struct sv_rule_spec *spec)
{
    struct sv_broker_request request;
    memset(&request, 0, sizeof request);
    request.call = call;
    request.rule.type = spec->type;
    request.rule.priority = spec->priority;
    request.rule.multicast = spec->multicast;
    request.rule.dont_trap = spec->dont_trap;
    request.rule.mask = spec->mask;
    request.rule.value = spec->value;
    return request;
}

void sv_broker_set_rules(struct sv_broker *broker, int (*add_again)(struct sv_broker *broker, void *context),
                         void *context)
{
    broker->add_again = add_again;
    broker->context = context;
}

int sv_broker_add_rule_again(struct sv_broker *broker, const struct sv_rule_spec *spec)
{
    struct sv_broker_request request = rule_request(SV_BROKER_ADD_RULE, spec);
    return transact_without_fds(broker, &request);
}

/* The rule is not among those that resume() adds again. */
int sv_broker_add_rule(struct sv_broker *broker, const struct sv_rule_spec *spec)
{
    int error = sv_broker_add_rule_again(broker, spec);
    if (!may_resume(broker))
        return error;
    error = resume(broker);
    return error != 0 ? error : sv_broker_add_rule_again(broker, spec);
}

/*
 * Does not resume the device: an attempt would block the caller, and a failed one would delay the next. The rule is
 * stale instead. The next addition resumes the device without it.
 */
void sv_broker_remove_rule(struct sv_broker *broker, const struct sv_rule_spec *spec)
{
    struct sv_broker_request request = rule_request(SV_BROKER_REMOVE_RULE, spec);
    int error = transact_without_fds(broker, &request);
    if (has_no_answer(broker, error))
        atomic_fetch_add(&broker->stale_rules, 1);
}

uint32_t sv_broker_stale_rules(const struct sv_broker *broker)
{
    return atomic_load(&broker->stale_rules);
}

/* Does not resume the device: the receive thread calls this. The next broker reads the address itself. */
void sv_broker_report_mac_change(struct sv_broker *broker)
{
    struct sv_broker_request request;
    memset(&request, 0, sizeof request);
    request.call = SV_BROKER_MAC_CHANGED;
    (void)transact_without_fds(broker, &request);
}
