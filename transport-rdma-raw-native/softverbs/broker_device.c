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

/* Records whether the reply to a step of resuming is still to come. The unanswered requests may be others. */
static void record_pending(struct sv_broker *broker, enum sv_broker_pending step, bool is_sent, int error)
{
    bool is_pending = is_sent && error == ETIMEDOUT && broker->unanswered > 0;
    broker->pending = is_pending ? step : SV_BROKER_NOTHING_PENDING;
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
    int error = broker->pending == SV_BROKER_RESUME_PENDING
        ? sv_broker_receive_pending(broker, &reply, fds, &count)
        : sv_broker_transact_retrying(broker, &request, &reply, fds, &count, BUSY_MILLIS);
    record_pending(broker, SV_BROKER_RESUME_PENDING, true, error);   /* the first request of its connection */
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
 * Holds the map of the new programs instead of the old one. The kernel empties such a map with its last descriptor, so
 * it is closed only if no interface can run the program that uses it.
 */
static void hold_programs(struct sv_broker *broker, int programs_fd, bool is_committed, bool is_uncertain)
{
    bool is_replaced = is_committed && dup3(programs_fd, broker->programs_fd, O_CLOEXEC) >= 0;
    if (is_replaced) {
        atomic_store(&broker->stale_rules, broker->pending_stale_rules);
        sv_broker_close_fds(broker->uncertain_fds, broker->uncertain_count);
        broker->uncertain_count = 0;
    }
    if (is_replaced || (!is_committed && !is_uncertain))
        close(programs_fd);
    else
        broker->uncertain_fds[broker->uncertain_count++] = programs_fd;
}

/* Replaces the program by that with the map, and takes the descriptor of the map. */
static int commit(struct sv_broker *broker, int programs_fd)
{
    struct sv_broker_request request;
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];
    unsigned count;
    memset(&request, 0, sizeof request);
    request.call = SV_BROKER_COMMIT;
    const bool was_pending = broker->pending == SV_BROKER_COMMIT_PENDING;
    int error = was_pending
        ? sv_broker_receive_pending(broker, &reply, fds, &count)
        : sv_broker_transact(broker, &request, &reply, fds, &count);
    const bool is_sent = was_pending || request.sequence != 0;
    sv_broker_close_fds(fds, count);
    record_pending(broker, SV_BROKER_COMMIT_PENDING, is_sent, error);
    if (broker->pending == SV_BROKER_COMMIT_PENDING)
        broker->pending_programs_fd = programs_fd;
    else
        hold_programs(broker, programs_fd, error == 0, is_sent && broker->error != 0);
    return explain_refusal(broker, error);
}

static int add_rules(struct sv_broker *broker, int programs_fd)
{
    broker->deadline_millis = sv_broker_now_millis() + SV_BROKER_STEP_MILLIS;
    broker->pending_stale_rules = 0;
    int error = broker->add_again != NULL ? broker->add_again(broker, broker->context) : 0;
    if (error != 0)
        close(programs_fd);
    return explain_refusal(broker, error);
}

/*
 * If an attempt fails before the commit, the interface still runs the old program, and this process holds all objects
 * of that program.
 */
static int resume_here(struct sv_broker *broker)
{
    int programs_fd;
    if (broker->pending == SV_BROKER_COMMIT_PENDING)
        return commit(broker, broker->pending_programs_fd);
    int error = request_resume(broker, &programs_fd);
    if (error == 0)
        error = add_rules(broker, programs_fd);
    return error != 0 ? error : commit(broker, programs_fd);
}

/* Each attempt at a busy broker makes the others slower, so attempts become rarer. */
static unsigned backoff_millis(struct sv_broker *broker, int error, bool has_late_reply)
{
    bool is_busy = error == ETIMEDOUT || error == EAGAIN || error == EBUSY || (error == ECONNRESET && has_late_reply);
    broker->busy_attempts = is_busy ? broker->busy_attempts + 1 : 0;
    unsigned doublings = broker->busy_attempts < MAX_DOUBLINGS ? broker->busy_attempts : MAX_DOUBLINGS;
    return sv_broker_random_millis(BACKOFF_MILLIS << doublings);
}

static void record_failure(struct sv_broker *broker, int error, bool has_late_reply)
{
    snprintf(broker->resume_text, sizeof broker->resume_text, "%s",
             *sv_explanation() != '\0' ? sv_explanation() : strerror(error));
    broker->resume_error = error;
    broker->next_resume_millis = sv_broker_now_millis() + backoff_millis(broker, error, has_late_reply);
}

/* If the connection is refused, no broker had any work, and the next attempt need not wait. */
static int attempt_to_resume(struct sv_broker *broker)
{
    if (broker->uncertain_count == SV_BROKER_MAX_UNCERTAIN)
        return sv_explain(ECONNRESET, "rdma-raw-broker did not answer the last step of resuming this device %d times: "
                          "open the device again", SV_BROKER_MAX_UNCERTAIN);
    const bool is_late = broker->pending != SV_BROKER_NOTHING_PENDING;
    const uint32_t last_sequence = broker->sequence;
    int error = is_late ? 0 : sv_broker_connect(broker);
    if (error == ECONNREFUSED || error == ENOENT)
        return sv_explain(ECONNRESET, "rdma-raw-broker at '%s' has ended: start it again; until then the rules of its "
                          "devices can't change", sv_broker_path());
    if (error == 0)
        error = resume_here(broker);
    if (error == 0)
        broker->busy_attempts = 0;
    else if (broker->pending == SV_BROKER_NOTHING_PENDING)
        record_failure(broker, error, is_late && broker->sequence != last_sequence);
    return error;
}

static int64_t first_step_millis(const struct sv_broker *broker)
{
    bool is_late = broker->busy_attempts > 0 && broker->pending == SV_BROKER_NOTHING_PENDING;
    return is_late ? SV_BROKER_LATE_STEP_MILLIS : SV_BROKER_STEP_MILLIS;
}

/* Continues an attempt or begins one. If a reply is late, the attempt is pending and the connection stays. */
static int attempt_in_time(struct sv_broker *broker)
{
    broker->error = 0;
    broker->is_resuming = true;
    broker->deadline_millis = sv_broker_now_millis() + first_step_millis(broker);
    int error = attempt_to_resume(broker);
    broker->is_resuming = false;
    if (error == 0 || broker->pending != SV_BROKER_NOTHING_PENDING)
        return error;
    sv_broker_disconnect(broker);
    broker->error = ECONNRESET;
    return error;
}

static int begin_to_resume(struct sv_broker *broker)
{
    if (sv_broker_now_millis() < broker->next_resume_millis)
        return sv_explain(broker->resume_error, "%s", broker->resume_text);
    sv_broker_disconnect(broker);
    sv_broker_forget_waiting(broker);
    return attempt_in_time(broker);
}

/*
 * Continues the pending attempt. If the connection has ended without a reply, the next attempt need not wait. If the
 * reply was there, this process read it too late, and a new attempt would make the broker slower.
 */
static int continue_attempt(struct sv_broker *broker)
{
    const uint32_t last_sequence = broker->sequence;
    int error = attempt_in_time(broker);
    if (error == ECONNRESET && broker->sequence == last_sequence)
        broker->next_resume_millis = 0;
    return error;
}

/*
 * Resumes the device of a broker that has ended. Returns 0 or an errno with an explanation. The caller resets
 * deadline_millis.
 */
static int resume(struct sv_broker *broker)
{
    sv_assert_may_block();
    if (broker->pending != SV_BROKER_NOTHING_PENDING) {
        int error = continue_attempt(broker);
        if (error != ECONNRESET)
            return error;
    }
    return begin_to_resume(broker);
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
    int error = 0;
    if (broker->pending == SV_BROKER_NOTHING_PENDING) {
        error = sv_broker_add_rule_again(broker, spec);
        if (!may_resume(broker))
            return error;
    }
    error = resume(broker);
    if (error == 0)
        error = sv_broker_add_rule_again(broker, spec);
    broker->deadline_millis = 0;
    return error;
}

/*
 * Reads the reply to a pending commit if it has arrived. No request is sent while a step is pending. Behind a commit it
 * is queued. Behind RESUME a removal is dropped: the rule is not added again.
 */
static int transact_or_postpone(struct sv_broker *broker, struct sv_broker_request *request)
{
    bool is_removal = request->call == SV_BROKER_REMOVE_RULE;
    if (broker->pending == SV_BROKER_COMMIT_PENDING) {
        (void)continue_attempt(broker);
        broker->deadline_millis = 0;
    }
    if (broker->pending == SV_BROKER_NOTHING_PENDING)
        return transact_without_fds(broker, request);
    if (broker->pending == SV_BROKER_COMMIT_PENDING || !is_removal)
        sv_broker_send_later(broker, request);
    broker->pending_stale_rules += is_removal;
    return ETIMEDOUT;
}

/*
 * Begins no attempt to resume: it would block the caller, and a failed one would delay the next. The rule is stale
 * instead. The next addition resumes the device without it.
 */
void sv_broker_remove_rule(struct sv_broker *broker, const struct sv_rule_spec *spec)
{
    struct sv_broker_request request = rule_request(SV_BROKER_REMOVE_RULE, spec);
    int error = transact_or_postpone(broker, &request);
    if (has_no_answer(broker, error))
        atomic_fetch_add(&broker->stale_rules, 1);
}

uint32_t sv_broker_stale_rules(const struct sv_broker *broker)
{
    return atomic_load(&broker->stale_rules);
}

/* Begins no attempt to resume: the receive thread calls this. The next broker reads the address itself. */
bool sv_broker_report_mac_change(struct sv_broker *broker)
{
    struct sv_broker_request request;
    broker->lost_mac_report = false;
    memset(&request, 0, sizeof request);
    request.call = SV_BROKER_MAC_CHANGED;
    (void)transact_or_postpone(broker, &request);
    return !broker->lost_mac_report;
}
