/* SPDX-License-Identifier: Apache-2.0 */
/* See server.h. */
#define _GNU_SOURCE
#include "server.h"

#include "acceptor.h"
#include "journal.h"
#include "neighbor.h"
#include "passing.h"
#include "session.h"

#include <errno.h>
#include <netinet/in.h>
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

/* A turn hears of deadlines without waiting for a message. */
enum { TURN_MILLIS = 1000 };

struct client {
    int session;                    /* the pair with its process; -1: it was told to end, and has not yet */
    int process;                    /* can be read when it has ended */
    pid_t pid;                      /* the client's own, for the log */
    struct policy_user user;
    int64_t until_millis;           /* to ask for something, unless a device is open */
    bool has_asked;
    bool is_refused;                /* takes a place until its process has ended, but none of its user's */
    struct grant grant;
};

/* Next hops that a user has asked for in a second, by whatever connections: also by those that are closed. */
struct solicitor {
    uid_t uid;
    int64_t second;
    unsigned count;
};

struct server {
    struct acceptor acceptor;
    bool is_expecting;              /* the acceptor may take one more client */
    bool has_ended;                 /* it is gone */
    int wake;                       /* or -1 */
    int64_t (*now_millis)(void);
    int64_t deaf_until_millis;      /* connections wait: no descriptor or process was left */
    uint64_t namespace;
    const struct policy *policy;
    struct server_counters counters;
    struct solicitor solicitor[SERVER_MAX_CLIENTS];
    unsigned clients;
    struct client client[SERVER_MAX_CLIENTS];
};

static int64_t now_millis(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- clients come ---- */

static unsigned clients_of(const struct server *server, uid_t uid)
{
    unsigned count = 0;
    for (unsigned i = 0; i < server->clients; i++)
        count += server->client[i].user.uid == uid && !server->client[i].is_refused;
    return count;
}

static void close_device(struct client *client, const char *why)
{
    if (client->grant.open)
        journal("user %u, process %d: '%s' is closed (%s)", client->user.uid, client->pid, client->grant.netdev, why);
    grant_close(&client->grant);
}

/* Its process ends by itself when the pair is closed; the place is free when it has. */
static void shut(struct client *client, const char *why)
{
    close_device(client, why);
    if (client->session < 0)
        return;
    close(client->session);
    client->session = -1;
}

/* Whatever it is waiting for: it need not come back from a system call to end. */
static void shut_out(struct client *client)
{
    shut(client, "");
    (void)syscall(SYS_pidfd_send_signal, client->process, SIGKILL, NULL, 0);
}

static void start(struct server *server, struct client *client)
{
    const struct session_start start = {.may_filter = policy_has_tcp_port(server->policy, &client->user)};
    if (client->is_refused) {
        server->counters.refused++;
        journal("a connection is refused: there are %u, and one user may have %d", server->clients - 1,
                SERVER_MAX_CLIENTS_OF_USER);
    } else {
        server->counters.accepted++;
    }
    /* Not killed: it may not have told the acceptor yet that it has reported, and would count as one that failed. */
    if (client->is_refused || !pass_send(client->session, &start, sizeof start, NULL, 0, MSG_DONTWAIT))
        shut(client, "");
}

static void add_client(struct server *server, const struct session_report *report, const int fds[SESSION_REPORT_FDS])
{
    bool is_one_too_many = clients_of(server, report->user.uid) >= SERVER_MAX_CLIENTS_OF_USER;
    struct client *client = &server->client[server->clients++];
    memset(client, 0, sizeof *client);
    client->session = fds[SESSION_PAIR];
    client->process = fds[SESSION_PROCESS];
    client->pid = report->pid;
    client->user = report->user;
    client->until_millis = server->now_millis() + SERVER_IDLE_MILLIS;
    client->is_refused = is_one_too_many;
    start(server, client);
}

static void accept_failed(struct server *server, int error)
{
    if (error == EAGAIN || error == EINTR || error == ECONNABORTED)
        return;
    journal("a connection can't be accepted: %s", strerror(error));
    server->deaf_until_millis = server->now_millis() + TURN_MILLIS;
}

static void take_report(struct server *server)
{
    static struct session_report report;
    int fds[SESSION_REPORT_FDS];
    unsigned count;
    bool whole;
    ssize_t got = pass_receive(server->acceptor.reports, &report, sizeof report, fds, SESSION_REPORT_FDS, &count,
                               &whole, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got != sizeof report || !whole) {
        server->has_ended = true;
        return;
    }
    server->is_expecting = false;
    if (report.error == 0 && count == SESSION_REPORT_FDS)
        add_client(server, &report, fds);
    else
        accept_failed(server, report.error);
}

/* When all places are taken, connections wait in the listener's queue. */
static void expect_client(struct server *server)
{
    if (!server->is_expecting && server->clients < SERVER_MAX_CLIENTS &&
        server->now_millis() >= server->deaf_until_millis)
        server->is_expecting = acceptor_allow_one(&server->acceptor);
}

/* The process has ended. The last client takes its place. */
static void forget(struct server *server, unsigned at)
{
    struct client *client = &server->client[at];
    shut(client, "the process has closed it or has ended");
    close(client->process);
    server->clients--;
    if (at != server->clients)
        *client = server->client[server->clients];
}

/* ---- requests ---- */

static unsigned devices_of(const struct server *server, uid_t uid)
{
    unsigned count = 0;
    for (unsigned i = 0; i < server->clients; i++)
        count += server->client[i].grant.open && server->client[i].user.uid == uid;
    return count;
}

/* Names go to the log, so this is also what keeps it clean. */
static bool is_name(const char netdev[IFNAMSIZ])
{
    size_t length = strnlen(netdev, IFNAMSIZ);
    for (size_t i = 0; i < length; i++)
        if (netdev[i] <= ' ' || netdev[i] > '~' || netdev[i] == '/')
            return false;
    return length > 0 && length < IFNAMSIZ;
}

static int open_device(struct server *server, struct client *client, const struct sv_broker_open *wanted,
                       struct sv_broker_reply *reply, int *fds, unsigned *count)
{
    const struct policy_user *user = &client->user;
    if (client->grant.open)
        return sv_explain(EISCONN, "this connection has '%s' open already: a device is a connection",
                          client->grant.netdev);
    if (!is_name(wanted->netdev) || wanted->mode >= SV_BROKER_MODES || wanted->queues == 0 ||
        wanted->queues > SV_STEER_MAX_QUEUES)
        return sv_explain(EINVAL, "the request names no interface, mode or number of queues that can be");
    uint32_t most = policy_devices(server->policy, user, wanted->netdev, wanted->mode);
    if (most == 0)
        return sv_explain(EACCES, "the policy does not grant user %u '%s' in %s mode", user->uid, wanted->netdev,
                          wanted->mode == SV_BROKER_GENERIC ? "generic" : "native");
    if (devices_of(server, user->uid) >= most)
        return sv_explain(EACCES, "user %u has %u devices open, as many as the policy grants", user->uid, most);
    int error = grant_open(&client->grant, wanted, fds, count);
    reply->ifindex = (uint32_t)client->grant.ifindex;
    reply->queues = wanted->queues;
    return error;
}

/* NULL: as many other users as there is room for have asked in this second. */
static struct solicitor *solicitor_of(struct server *server, uid_t uid, int64_t second)
{
    struct solicitor *unused = NULL;
    for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++) {
        struct solicitor *solicitor = &server->solicitor[i];
        if (solicitor->second != second || solicitor->count == 0)
            unused = solicitor;
        else if (solicitor->uid == uid)
            return solicitor;
    }
    if (unused != NULL)
        *unused = (struct solicitor){.uid = uid, .second = second};
    return unused;
}

static int solicit_in_bounds(struct server *server, const struct client *client,
                             const struct sv_broker_solicit *wanted)
{
    struct solicitor *solicitor = solicitor_of(server, client->user.uid, server->now_millis() / 1000);
    if (solicitor == NULL || solicitor->count >= SERVER_SOLICITATIONS)
        return sv_explain(EAGAIN, "more than %d next hops in a second", SERVER_SOLICITATIONS);
    solicitor->count++;
    return solicit(server->policy, &client->user, wanted);
}

static int handle(struct server *server, struct client *client, const struct sv_broker_request *request,
                  struct sv_broker_reply *reply, int *fds, unsigned *count)
{
    if (request->call == SV_BROKER_OPEN)
        return open_device(server, client, &request->open, reply, fds, count);
    if (request->call == SV_BROKER_SOLICIT)
        return solicit_in_bounds(server, client, &request->solicit);
    if (!client->grant.open)
        return sv_explain(ENOTCONN, "this connection has no device open");
    if (request->call == SV_BROKER_ADD_RULE)
        return grant_add_rule(&client->grant, server->policy, &client->user, &request->rule);
    if (request->call == SV_BROKER_REMOVE_RULE)
        return grant_remove_rule(&client->grant, &request->rule);
    if (request->call == SV_BROKER_MAC)
        return grant_mac_changed(&client->grant);
    return sv_explain(EPROTO, "the request is none that this broker knows");
}

/* ---- questions of sessions ---- */

static int port_error(const struct server *server, const struct client *client, uint32_t port)
{
    static const struct policy_place anywhere = {.netdev = NULL, .modes = POLICY_ANY_MODE};
    if (port > 0 && port <= UINT16_MAX &&
        policy_has_port(server->policy, &client->user, &anywhere, IPPROTO_TCP, (uint16_t)port))
        return 0;
    return sv_explain(EACCES, "the policy does not grant user %u TCP port %u", client->user.uid, port);
}

static int outcome(struct session_message *question)
{
    question->text[sizeof question->text - 1] = '\0';
    return question->error == 0 ? 0 : sv_explain(question->error, "%s", question->text);
}

static int answer_to(struct server *server, struct client *client, struct session_message *question,
                     struct sv_broker_reply *reply, int *fds, unsigned *count)
{
    switch (question->kind) {
    case SESSION_REQUEST:
        return handle(server, client, &question->request, reply, fds, count);
    case SESSION_PORT:
        return port_error(server, client, question->port);
    case SESSION_OUTCOME:
        return outcome(question);
    case SESSION_CLOSED:
        close_device(client, "the process has closed it or has ended");
        return 0;
    default:
        return sv_explain(EPROTO, "the message is no request of version %d", SV_BROKER_VERSION);
    }
}

static void count(struct server *server, const struct client *client, int error)
{
    server->counters.denied += error == EACCES;
    server->counters.bad_messages += error == EPROTO || error == EINVAL;
    if (error != 0)
        journal("user %u, process %d: refused: %s", client->user.uid, client->pid, sv_explanation());
}

/* False: the session is to end. */
static bool answer(struct server *server, struct client *client, struct session_message *question)
{
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];
    unsigned fd_count = 0;
    bool had_device = client->grant.open;
    memset(&reply, 0, sizeof reply);
    reply.version = SV_BROKER_VERSION;
    reply.namespace = server->namespace;
    server->counters.requests += question->kind != SESSION_PORT && question->kind != SESSION_CLOSED;
    int error = answer_to(server, client, question, &reply, fds, &fd_count);
    count(server, client, error);
    reply.error = error;
    if (error != 0)
        strncpy(reply.text, sv_explanation(), sizeof reply.text - 1);
    bool sent = pass_send(client->session, &reply, sizeof reply, fds, fd_count, MSG_DONTWAIT);
    if (client->grant.open && !had_device) {
        grant_sent(&client->grant, fds, fd_count);
        if (sent)
            journal("user %u, process %d: '%s' is open", client->user.uid, client->pid, client->grant.netdev);
    }
    client->has_asked |= question->kind != SESSION_UNSOUND && question->kind != SESSION_CLOSED;
    /* What is refused does not prolong the stay of a client that has nothing. */
    if (error == 0)
        client->until_millis = server->now_millis() + SERVER_IDLE_MILLIS;
    return sent;
}

/* One question at a time, so that no client keeps the others from being heard. False: the session is to end. */
static bool serve(struct server *server, struct client *client)
{
    struct session_message question;
    ssize_t got = recv(client->session, &question, sizeof question, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (got != sizeof question || question.kind >= SESSION_KINDS)
        return false;
    if (question.kind != SESSION_DEAF)
        return answer(server, client, &question);
    server->counters.late++;
    return false;
}

/* ---- turns ---- */

static bool is_late(const struct client *client, int64_t now)
{
    return client->session >= 0 && !client->grant.open && now > client->until_millis;
}

/* A connection that was of use may be closed while it is idle, and opened again. */
static void shut_out_late(struct server *server, struct client *client)
{
    if (!client->has_asked) {
        server->counters.late++;
        journal("user %u, process %d: has asked for nothing in %d s", client->user.uid, client->pid,
                SERVER_IDLE_MILLIS / 1000);
    }
    shut_out(client);
}

static void turn_of_client(struct server *server, unsigned at, bool has_question, bool has_ended, int64_t now)
{
    struct client *client = &server->client[at];
    /* What a session says before it ends is heard. */
    if (has_question && client->session >= 0 && !serve(server, client))
        shut(client, "the process has closed it or has ended");
    if (has_ended)
        forget(server, at);
    else if (is_late(client, now))
        shut_out_late(server, client);
}

bool server_turn(struct server *server)
{
    enum { REPORTS, WAKE, FIRST_CLIENT, OF_CLIENT = 2 };
    struct pollfd wanted[FIRST_CLIENT + OF_CLIENT * SERVER_MAX_CLIENTS];
    unsigned clients = server->clients;
    expect_client(server);
    wanted[REPORTS] = (struct pollfd){.fd = server->acceptor.reports, .events = POLLIN};
    wanted[WAKE] = (struct pollfd){.fd = server->wake, .events = POLLIN};
    for (unsigned i = 0; i < clients; i++) {
        wanted[FIRST_CLIENT + OF_CLIENT * i] = (struct pollfd){.fd = server->client[i].session, .events = POLLIN};
        wanted[FIRST_CLIENT + OF_CLIENT * i + 1] = (struct pollfd){.fd = server->client[i].process, .events = POLLIN};
    }
    if (poll(wanted, FIRST_CLIENT + OF_CLIENT * clients, TURN_MILLIS) < 0)
        return !server->has_ended;
    int64_t now = server->now_millis();
    /* From the last one down, since the last one takes the place of one that has ended. */
    for (unsigned i = clients; i-- > 0;) {
        const struct pollfd *of_client = &wanted[FIRST_CLIENT + OF_CLIENT * i];
        turn_of_client(server, i, of_client[0].revents != 0, of_client[1].revents != 0, now);
    }
    if (wanted[REPORTS].revents != 0)
        take_report(server);
    return !server->has_ended;
}

/* ---- life ---- */

struct server *server_create(int listener, const struct policy *policy, bool confined)
{
    struct server *server = calloc(1, sizeof *server);
    socklen_t size = sizeof server->namespace;
    if (server == NULL)
        return NULL;
    server->policy = policy;
    server->now_millis = now_millis;
    server->wake = -1;
    if (getsockopt(listener, SOL_SOCKET, SO_NETNS_COOKIE, &server->namespace, &size) != 0)
        server->namespace = 0;
    if (acceptor_start(&server->acceptor, listener, confined))
        return server;
    free(server);
    return NULL;
}

void server_set_clock(struct server *server, int64_t (*clock)(void))
{
    server->now_millis = clock;
}

void server_wake_on(struct server *server, int fd)
{
    server->wake = fd;
}

const struct server_counters *server_counters(const struct server *server)
{
    return &server->counters;
}

unsigned server_clients(const struct server *server)
{
    return server->clients;
}

unsigned server_devices(const struct server *server)
{
    unsigned count = 0;
    for (unsigned i = 0; i < server->clients; i++)
        count += server->client[i].grant.open;
    return count;
}

void server_destroy(struct server *server)
{
    for (unsigned i = 0; i < server->clients; i++) {
        shut(&server->client[i], "the broker ends");
        close(server->client[i].process);
    }
    acceptor_end(&server->acceptor);
    free(server);
}
