/* SPDX-License-Identifier: Apache-2.0 */
/* See server.h. */
#define _GNU_SOURCE
#include "server_state.h"

#include "journal.h"
#include "programs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71      /* Linux 5.14 */
#endif

/* A turn checks deadlines without waiting for a message. A shorter turn retries queues that are busy. */
enum { TURN_MILLIS = 1000, BUSY_TURN_MILLIS = 25 };

static int64_t now_millis(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- clients come ---- */

static unsigned clients_of(const struct server *server, uid_t limit_uid)
{
    unsigned count = 0;
    for (unsigned i = 0; i < server->client_count; i++)
        count += server->client[i].limit_uid == limit_uid && !server->client[i].is_refused;
    return count;
}

/* Closes the pair, which makes the session end. Its place is free when it has ended. */
static void close_session(struct client *client, const char *reason)
{
    server_close_device(client, reason, false);
    if (client->session_fd < 0)
        return;
    close(client->session_fd);
    client->session_fd = -1;
}

/* Kills the session, which may be blocked in a system call. */
static void kill_session(struct client *client)
{
    close_session(client, "");
    (void)syscall(SYS_pidfd_send_signal, client->session_pidfd, SIGKILL, NULL, 0);
}

static void start_session(struct server *server, struct client *client)
{
    const struct session_start start = {
        .may_filter = policy_has_tcp_port(server->policy, &client->user),
        .may_pass = policy_has_interface(server->policy, &client->user, NULL),
    };
    if (!start.may_pass)
        refuse_fds(client->session_fd);
    if (client->is_refused) {
        server->counters.refused++;
        (void)sv_explain(EAGAIN, "too many connections: a user may have at most %d", SERVER_MAX_CLIENTS_OF_USER);
        server_log_refusal(server, client);
    } else {
        server->counters.accepted++;
    }
    /* The session is not killed: it may not have reported to the acceptor yet, and would count as failed. */
    if (client->is_refused || !send_with_fds(client->session_fd, &start, sizeof start, NULL, 0, MSG_DONTWAIT))
        close_session(client, "");
}

static void add_client(struct server *server, const struct session_report *report, const int fds[SESSION_FD_COUNT])
{
    uid_t limit_uid = server_limit_uid(server, &report->user);
    bool exceeds_user_limit = clients_of(server, limit_uid) >= SERVER_MAX_CLIENTS_OF_USER;
    struct client *client = &server->client[server->client_count++];
    memset(client, 0, sizeof *client);
    client->session_fd = fds[SESSION_FD_SOCKET];
    client->session_pidfd = fds[SESSION_FD_PROCESS];
    client->pid = report->pid;
    client->user = report->user;
    client->limit_uid = limit_uid;
    client->deadline_millis = server->now_millis() + SERVER_IDLE_MILLIS;
    client->is_refused = exceeds_user_limit;
    start_session(server, client);
}

static void accept_failed(struct server *server, int error)
{
    if (error == EAGAIN || error == EINTR || error == ECONNABORTED)
        return;
    journal("a connection can't be accepted: %s", strerror(error));
    server->accept_paused_until_millis = server->now_millis() + TURN_MILLIS;
}

static void receive_report(struct server *server)
{
    static struct session_report report;
    int fds[SESSION_FD_COUNT];
    unsigned count;
    bool complete;
    ssize_t got = receive_with_fds(server->acceptor.report_fd, &report, sizeof report, fds, SESSION_FD_COUNT, &count,
                                   &complete, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got != sizeof report) {
        server->acceptor_has_ended = true;
        return;
    }
    server->client_allowed = false;
    if (report.error == 0 && complete && count == SESSION_FD_COUNT) {
        add_client(server, &report, fds);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
    accept_failed(server, report.error != 0 ? report.error : EMFILE);
}

/* If all places are taken, connections wait in the listener's queue. */
static void allow_client(struct server *server)
{
    if (!server->client_allowed && server->client_count < SERVER_MAX_CLIENTS &&
        server->now_millis() >= server->accept_paused_until_millis)
        server->client_allowed = acceptor_allow_one(&server->acceptor);
}

/* Frees the place of an ended session, and moves the last client there. */
static void remove_client(struct server *server, unsigned at)
{
    struct client *client = &server->client[at];
    close_session(client, "the process has closed it or has ended");
    close(client->session_pidfd);
    server->client_count--;
    if (at != server->client_count)
        *client = server->client[server->client_count];
}

/* ---- messages of sessions ---- */

/* Continues to open a device: its next queue, or one that was busy. */
static void continue_opening(struct server *server, struct client *client)
{
    if (!server_continue_opening(server, client))
        close_session(client, "the process has closed it or has ended");
}

/*
 * Returns true for requests that wait for a grace period of the kernel. Opening a device is slow too, and done in
 * pieces: grant_continue_opening().
 */
static bool is_slow(const struct client *client, const struct session_message *message)
{
    const struct sv_broker_request *request = &message->request;
    if (message->kind != SESSION_REQUEST)
        return false;
    if (request->call == SV_BROKER_MAC_CHANGED || request->call == SV_BROKER_COMMIT)
        return client->grant.in_use;
    return request->call == SV_BROKER_ADD_RULE && grant_rule_is_slow(&client->grant, &request->rule);
}

/* Receives a message with its descriptors. Returns 1, 0 if there is none, or -1 if the session is to end. */
static int receive_message(struct server *server, struct client *client)
{
    struct session_message *message = &client->message;
    bool complete;
    ssize_t got = receive_with_fds(client->session_fd, message, sizeof *message, server->passed,
                                   SV_BROKER_RESUME_MAX_FDS, &server->passed_count, &complete, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return got == sizeof *message && complete ? 1 : -1;
}

/* Closes the descriptors that no request has taken. The session has them too, so that this does not wait. */
static void close_passed(struct server *server)
{
    for (unsigned i = 0; i < server->passed_count; i++)
        close(server->passed[i]);
    server->passed_count = 0;
}

/* Returns false if the session is to end. */
static bool serve_message(struct server *server, struct client *client)
{
    struct session_message *message = &client->message;
    int received = receive_message(server, client);
    if (received == 0)
        return true;
    /* A session sends its next message after the answer. */
    if (received < 0 || message->kind >= SESSION_KIND_COUNT || client->has_slow_request ||
        client->grant.is_opening)
        return false;
    client->has_slow_request = is_slow(client, message);
    if (client->has_slow_request)
        return true;
    if (message->kind != SESSION_UNRESPONSIVE)
        return server_handle_message(server, client, message);
    server->counters.timed_out++;
    return false;
}

/* Handles one message, so that other clients are served as well. Returns as above. */
static bool handle_next_message(struct server *server, struct client *client)
{
    bool goes_on = serve_message(server, client);
    close_passed(server);
    return goes_on;
}

/* ---- turns ---- */

/* A resumed device needs further requests until its program is replaced. */
static bool awaits_request(const struct grant *grant)
{
    return !grant->in_use || (grant->link_fd >= 0 && !grant->is_opening);
}

static bool has_timed_out(const struct client *client, int64_t now)
{
    return client->session_fd >= 0 && awaits_request(&client->grant) && !client->has_slow_request &&
           now > client->deadline_millis;
}

/* Closes an idle connection. A client that has used it may connect again. */
static void disconnect_timed_out(struct server *server, struct client *client)
{
    if (!client->has_sent_request) {
        server->counters.timed_out++;
        journal("user %u, process %d: disconnected after %d s without a request", client->user.uid, client->pid,
                SERVER_IDLE_MILLIS / 1000);
    }
    kill_session(client);
}

static bool has_slow_work(const struct client *client)
{
    return client->session_fd >= 0 && (client->has_slow_request || client->grant.is_opening);
}

/*
 * Selects the user served least recently. Many requests of one user delay another user's request by one piece of work
 * each.
 */
static struct client *next_slow_client(struct server *server)
{
    struct client *next = NULL;
    uint64_t oldest_request = 0;
    for (unsigned i = 0; i < server->client_count; i++) {
        struct client *client = &server->client[i];
        if (!has_slow_work(client) || grant_is_waiting(&client->grant))
            continue;
        uint64_t of_user = server_usage_of(server, client)->last_slow_request;
        if (next == NULL || of_user < oldest_request) {
            next = client;
            oldest_request = of_user;
        }
    }
    return next;
}

/*
 * Does one piece of slow work per turn. All other requests are served between two pieces, so a request waits for at
 * most one piece of other clients' work.
 */
static void run_slow_requests(struct server *server)
{
    struct client *client = next_slow_client(server);
    if (client == NULL)
        return;
    server_usage_of(server, client)->last_slow_request = ++server->slow_requests;
    if (!client->has_slow_request) {
        continue_opening(server, client);
        return;
    }
    client->has_slow_request = false;
    if (!server_handle_message(server, client, &client->message))
        close_session(client, "the process has closed it or has ended");
}

/* Each turn retries the queues that were busy. */
static void retry_busy_queues(struct server *server)
{
    for (unsigned i = 0; i < server->client_count; i++)
        if (server->client[i].session_fd >= 0 && grant_is_waiting(&server->client[i].grant))
            continue_opening(server, &server->client[i]);
}

static void poll_client(struct server *server, unsigned at, bool has_message, bool has_ended, int64_t now)
{
    struct client *client = &server->client[at];
    /* Handles the message of a session before its end. */
    if (has_message && client->session_fd >= 0 && !handle_next_message(server, client)) {
        /* A client that does not read its answers cannot make a resumed device keep memory of the broker. */
        server_close_device(client, "the process has closed it or has ended", client->grant.is_resumed);
        close_session(client, "");
    }
    if (has_ended)
        remove_client(server, at);
    else if (has_timed_out(client, now))
        disconnect_timed_out(server, client);
}

static int poll_timeout_millis(const struct server *server)
{
    int millis = TURN_MILLIS;
    for (unsigned i = 0; i < server->client_count; i++) {
        const struct client *client = &server->client[i];
        if (client->session_fd >= 0 && grant_is_waiting(&client->grant))
            millis = BUSY_TURN_MILLIS;
        else if (has_slow_work(client))
            return 0;
    }
    return millis;
}

bool server_run_once(struct server *server)
{
    enum { REPORTS, WAKE, FIRST_CLIENT, FDS_PER_CLIENT = 2 };
    struct pollfd pollfds[FIRST_CLIENT + FDS_PER_CLIENT * SERVER_MAX_CLIENTS];
    unsigned clients = server->client_count;
    allow_client(server);
    pollfds[REPORTS] = (struct pollfd){.fd = server->acceptor.report_fd, .events = POLLIN};
    pollfds[WAKE] = (struct pollfd){.fd = server->wake_fd, .events = POLLIN};
    for (unsigned i = 0; i < clients; i++) {
        pollfds[FIRST_CLIENT + FDS_PER_CLIENT * i] =
            (struct pollfd){.fd = server->client[i].session_fd, .events = POLLIN};
        pollfds[FIRST_CLIENT + FDS_PER_CLIENT * i + 1] =
            (struct pollfd){.fd = server->client[i].session_pidfd, .events = POLLIN};
    }
    if (poll(pollfds, FIRST_CLIENT + FDS_PER_CLIENT * clients, poll_timeout_millis(server)) < 0)
        return !server->acceptor_has_ended;
    int64_t now = server->now_millis();
    /* Downwards, because the last client takes the place of one that has ended. */
    for (unsigned i = clients; i-- > 0;) {
        const struct pollfd *of_client = &pollfds[FIRST_CLIENT + FDS_PER_CLIENT * i];
        poll_client(server, i, of_client[0].revents != 0, of_client[1].revents != 0, now);
    }
    retry_busy_queues(server);
    run_slow_requests(server);
    if (pollfds[REPORTS].revents != 0)
        receive_report(server);
    return !server->acceptor_has_ended;
}

/* ---- life ---- */

struct server *server_create(int listener, const struct policy *policy, bool confined)
{
    struct server *server = calloc(1, sizeof *server);
    socklen_t size = sizeof server->netns_cookie;
    if (server == NULL)
        return NULL;
    server->policy = policy;
    server->now_millis = now_millis;
    server->wake_fd = -1;
    if (getsockopt(listener, SOL_SOCKET, SO_NETNS_COOKIE, &server->netns_cookie, &size) != 0)
        server->netns_cookie = 0;
    if (acceptor_start(&server->acceptor, listener, confined))
        return server;
    free(server);
    return NULL;
}

void server_set_clock(struct server *server, int64_t (*clock)(void))
{
    server->now_millis = clock;
}

void server_set_wake_fd(struct server *server, int fd)
{
    server->wake_fd = fd;
}

const struct server_counters *server_counters(const struct server *server)
{
    return &server->counters;
}

unsigned server_client_count(const struct server *server)
{
    return server->client_count;
}

unsigned server_device_count(const struct server *server)
{
    unsigned count = 0;
    for (unsigned i = 0; i < server->client_count; i++)
        count += server->client[i].grant.in_use;
    return count;
}

void server_destroy(struct server *server)
{
    for (unsigned i = 0; i < server->client_count; i++) {
        close_session(&server->client[i], "the broker ends");
        close(server->client[i].session_pidfd);
    }
    acceptor_end(&server->acceptor);
    programs_close_all();
    free(server);
}
