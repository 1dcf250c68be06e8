/* SPDX-License-Identifier: Apache-2.0 */
/* Answers the requests of clients, within the policy and the limits of each user. See server.h. */
#include "server_state.h"

#include "journal.h"
#include "passed.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* The uid for the limits of all users that the policy does not name. No user has it: see setreuid(2). */
#define UNLISTED_USERS_UID ((uid_t)-1)

/* ---- users ---- */

/*
 * All users that the policy does not name share one set of limits, because one user can appear as 65,536 with
 * subordinate ids (subuid(5)).
 */
uid_t server_limit_uid(const struct server *server, const struct policy_user *user)
{
    return policy_has_interface(server->policy, user, NULL) ? user->uid : UNLISTED_USERS_UID;
}

static bool is_less_used(const struct usage *usage, const struct usage *than, int64_t second)
{
    bool present = usage->second == second;
    if (present != (than->second == second))
        return !present;
    return usage->opens + usage->solicitations < than->opens + than->solicitations;
}

/* If the table is full, the entry of the user with the fewest requests is reused. */
struct usage *server_usage_of(struct server *server, const struct client *client)
{
    uid_t uid = client->limit_uid;
    int64_t second = server->now_millis() / 1000;
    struct usage *least = &server->usage[0];
    for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++) {
        struct usage *usage = &server->usage[i];
        if (usage->uid == uid && usage->in_use) {
            if (usage->second != second)
                usage->solicitations = usage->opens = usage->log_lines = 0;
            usage->second = second;
            return usage;
        }
        if (!usage->in_use || (least->in_use && is_less_used(usage, least, second)))
            least = usage;
    }
    memset(least, 0, sizeof *least);
    least->uid = uid;
    least->in_use = true;
    least->second = second;
    return least;
}

void server_close_device(struct client *client, const char *reason, bool free_memory)
{
    if (client->grant.in_use)
        journal("user %u, process %d: '%s' is closed (%s)", client->user.uid, client->pid, client->grant.netdev,
                reason);
    grant_close(&client->grant, free_memory);
}

/* ---- requests ---- */

static unsigned devices_of(const struct server *server, uid_t uid)
{
    unsigned count = 0;
    for (unsigned i = 0; i < server->client_count; i++)
        count += server->client[i].grant.in_use && server->client[i].user.uid == uid;
    return count;
}

/* Returns true for a valid name, which may then appear in the log. */
static bool is_valid_netdev(const char netdev[IFNAMSIZ])
{
    size_t length = strnlen(netdev, IFNAMSIZ);
    for (size_t i = 0; i < length; i++)
        if (netdev[i] <= ' ' || netdev[i] > '~' || netdev[i] == '/')
            return false;
    return length > 0 && length < IFNAMSIZ;
}

static bool is_being_opened(const struct server *server, const char *netdev)
{
    for (unsigned i = 0; i < server->client_count; i++)
        if (server->client[i].grant.is_opening && strcmp(server->client[i].grant.netdev, netdev) == 0)
            return true;
    return false;
}

/* Checks a request to open or resume a device against the policy and the limits of the user. */
static int check_open(struct server *server, struct client *client, const struct sv_broker_open *wanted)
{
    static const char *const modes[SV_BROKER_MODE_COUNT] = {"generic", "native", "zerocopy"};
    const struct policy_user *user = &client->user;
    if (client->grant.in_use)
        return sv_explain(EISCONN, "this connection has '%s' open already: each device needs its own connection",
                          client->grant.netdev);
    if (!is_valid_netdev(wanted->netdev) || wanted->mode >= SV_BROKER_MODE_COUNT)
        return sv_explain(EINVAL, "the request names an invalid interface or mode");
    uint32_t max_devices = policy_max_devices(server->policy, user, wanted->netdev, wanted->mode);
    if (max_devices == 0)
        return sv_explain(EACCES, "the policy does not grant user %u '%s' in %s mode", user->uid, wanted->netdev,
                          modes[wanted->mode]);
    if (devices_of(server, user->uid) >= max_devices)
        return sv_explain(EACCES, "user %u has %u devices open, as many as the policy grants", user->uid, max_devices);
    struct usage *usage = server_usage_of(server, client);
    if (usage->opens >= SERVER_MAX_OPENS_PER_SECOND_OF_USER)
        return sv_explain(EAGAIN, "user %u has opened %d devices within a second", user->uid,
                          SERVER_MAX_OPENS_PER_SECOND_OF_USER);
    if (is_being_opened(server, wanted->netdev))
        return sv_explain(EBUSY, "'%s' is being opened for another process", wanted->netdev);
    return 0;
}

static int open_device(struct server *server, struct client *client, const struct sv_broker_open *wanted)
{
    int error = check_open(server, client, wanted);
    if (error == 0)
        error = grant_begin_opening(&client->grant, wanted, client->user.uid);
    server_usage_of(server, client)->opens += error == EINPROGRESS;
    return error;
}

static int resume_device(struct server *server, struct client *client, const struct sv_broker_resume *wanted)
{
    int error = check_open(server, client, &wanted->open);
    if (error != 0)
        return error;
    /* A session creates its pair of sockets in the broker's namespace. The listener may be systemd's. */
    uint64_t netns_cookie = passed_netns_cookie(client->session_fd);
    error = grant_resume(&client->grant, wanted, client->user.uid, netns_cookie, server->passed, server->passed_count);
    server->passed_count = 0;
    server_usage_of(server, client)->opens++;   /* a refused one has cost almost as much */
    return error;
}

static int solicit_in_bounds(struct server *server, const struct client *client,
                             const struct sv_broker_solicit *wanted)
{
    struct usage *usage = server_usage_of(server, client);
    if (usage->solicitations >= SERVER_MAX_SOLICITATIONS_PER_SECOND_OF_USER)
        return sv_explain(EAGAIN, "more than %d next hops in a second", SERVER_MAX_SOLICITATIONS_PER_SECOND_OF_USER);
    usage->solicitations++;
    return neighbor_solicit(server->policy, &client->user, wanted, &usage->neighbors, server->now_millis());
}

static int dispatch_request(struct server *server, struct client *client, const struct sv_broker_request *request)
{
    if (request->call == SV_BROKER_OPEN)
        return open_device(server, client, &request->open);
    if (request->call == SV_BROKER_RESUME)
        return resume_device(server, client, &request->resume);
    if (request->call == SV_BROKER_SOLICIT)
        return solicit_in_bounds(server, client, &request->solicit);
    if (!client->grant.in_use)
        return sv_explain(ENOTCONN, "this connection has no device open");
    if (request->call == SV_BROKER_ADD_RULE)
        return grant_add_rule(&client->grant, server->policy, &client->user, &request->rule);
    if (request->call == SV_BROKER_REMOVE_RULE)
        return grant_remove_rule(&client->grant, &request->rule);
    if (request->call == SV_BROKER_MAC_CHANGED)
        return grant_update_mac(&client->grant);
    if (request->call == SV_BROKER_COMMIT)
        return grant_commit(&client->grant);
    return sv_explain(EPROTO, "the broker does not know this request");
}

/* ---- messages of sessions ---- */

static int check_tcp_port(const struct server *server, const struct client *client, uint32_t port)
{
    static const struct policy_scope any_scope = {.netdev = NULL, .modes = POLICY_ANY_MODE};
    if (port > 0 && port <= UINT16_MAX &&
        policy_has_port(server->policy, &client->user, &any_scope, IPPROTO_TCP, (uint16_t)port))
        return 0;
    return sv_explain(EACCES, "the policy does not grant user %u TCP port %u", client->user.uid, port);
}

static int result_of(struct session_message *message)
{
    message->text[sizeof message->text - 1] = '\0';
    return message->error == 0 ? 0 : sv_explain(message->error, "%s", message->text);
}

static int explain_malformed(const struct session_message *message)
{
    if (message->version == SV_BROKER_VERSION)
        return sv_explain(EPROTO, "the message is not a valid request of version %d", SV_BROKER_VERSION);
    return sv_explain(EPROTO, "this rdma-raw-broker speaks version %d of its protocol, and the library of the process "
                      "version %u: take both from one release", SV_BROKER_VERSION, message->version);
}

static int dispatch_message(struct server *server, struct client *client, struct session_message *message)
{
    switch (message->kind) {
    case SESSION_REQUEST:
        return dispatch_request(server, client, &message->request);
    case SESSION_CHECK_PORT:
        return check_tcp_port(server, client, message->port);
    case SESSION_RESULT:
        return result_of(message);
    case SESSION_CLOSED:
        server_close_device(client, "the process has closed it or has ended", true);
        return 0;
    default:
        return explain_malformed(message);
    }
}

void server_log_refusal(struct server *server, const struct client *client)
{
    struct usage *usage = server_usage_of(server, client);
    if (usage->log_lines >= SERVER_MAX_REFUSAL_LINES_PER_SECOND_OF_USER) {
        usage->suppressed_log_lines++;
        return;
    }
    usage->log_lines++;
    if (usage->suppressed_log_lines > 0)
        journal("user %u, process %d: refused: %s (and %u times before)", client->user.uid, client->pid,
                sv_explanation(), usage->suppressed_log_lines);
    else
        journal("user %u, process %d: refused: %s", client->user.uid, client->pid, sv_explanation());
    usage->suppressed_log_lines = 0;
}

static void count_result(struct server *server, const struct client *client, int error)
{
    server->counters.denied += error == EACCES;
    server->counters.bad_messages += error == EPROTO || error == EINVAL;
    if (error != 0)
        server_log_refusal(server, client);
}

/* Returns false if the session is to end. */
static bool send_reply(struct server *server, struct client *client, int error)
{
    struct sv_broker_reply reply;
    struct grant *grant = &client->grant;
    memset(&reply, 0, sizeof reply);
    reply.version = SV_BROKER_VERSION;
    reply.netns_cookie = server->netns_cookie;
    reply.error = error;
    reply.ifindex = (uint32_t)grant->ifindex;
    count_result(server, client, error);
    if (error != 0)
        strncpy(reply.text, sv_explanation(), sizeof reply.text - 1);
    bool opens = grant->fd_count > 0;
    if (opens)
        reply.layout = grant->sockets.layout;
    bool sent = send_with_fds(client->session_fd, &reply, sizeof reply, grant->fds, grant->fd_count, MSG_DONTWAIT);
    if (opens) {
        grant_close_sent_fds(grant);
        refuse_fds(client->session_fd);
        if (sent)
            journal("user %u, process %d: '%s' is %s", client->user.uid, client->pid, grant->netdev,
                    grant->is_resumed ? "resumed" : "open");
    }
    /* A refused request does not prolong the connection of a client without a device. */
    if (error == 0)
        client->deadline_millis = server->now_millis() + SERVER_IDLE_MILLIS;
    return sent;
}

/* Forgets the explanation of an earlier error, which may be another client's. */
static void forget_explanation(void)
{
    (void)sv_explain(0, "%s", "");
}

/* Replies with the result, unless it is EINPROGRESS. Returns false if the session is to end. */
static bool reply_unless_in_progress(struct server *server, struct client *client, int error)
{
    if (error != 0 && *sv_explanation() == '\0')
        (void)sv_explain(error, "%s", strerror(error));
    return error == EINPROGRESS || send_reply(server, client, error);
}

bool server_handle_message(struct server *server, struct client *client, struct session_message *message)
{
    server->counters.requests += message->kind != SESSION_CHECK_PORT && message->kind != SESSION_CLOSED;
    client->has_sent_request |= message->kind != SESSION_MALFORMED && message->kind != SESSION_CLOSED;
    forget_explanation();
    return reply_unless_in_progress(server, client, dispatch_message(server, client, message));
}

bool server_continue_opening(struct server *server, struct client *client)
{
    forget_explanation();
    return reply_unless_in_progress(server, client, grant_continue_opening(&client->grant));
}
