/* SPDX-License-Identifier: Apache-2.0 */
/* See server.h. */
#define _GNU_SOURCE
#include "server.h"

#include "journal.h"
#include "kernel_calls.h"

#include <errno.h>
#include <linux/filter.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71      /* Linux 5.14 */
#endif

/* A turn hears of deadlines without waiting for a message. One client may not keep the others from being heard. */
enum { TURN_MILLIS = 1000, MESSAGES_PER_TURN = 16 };

struct client {
    int socket;
    pid_t pid;
    struct policy_user user;
    int64_t until_millis;           /* to ask for something, unless a device is open */
    bool has_asked;
    struct grant grant;
    time_t solicited_second;
    unsigned solicited;             /* in this second */
};

struct server {
    int listener;
    int64_t (*now_millis)(void);
    int64_t deaf_until_millis;      /* connections wait: no descriptor was left */
    uint64_t namespace;
    const struct policy *policy;
    struct server_counters counters;
    unsigned clients;
    struct client client[SERVER_MAX_CLIENTS];
    union {
        struct sv_broker_request request;
        uint8_t bytes[SERVER_MAX_REQUEST_BYTES + 1];    /* one more shows a message that is too long */
    } in;
};

/* A message with the descriptor that came with it. */
struct message {
    size_t bytes;
    int fd;                         /* or -1 */
    bool sound;
};

static int64_t now_millis(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- clients come and go ---- */

static void read_groups(int socket, struct policy_user *user, gid_t primary)
{
    socklen_t bytes = sizeof user->group - sizeof user->group[0];
    /* Someone with more groups than there is room for is a member of the first one alone. */
    if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, user->group + 1, &bytes) != 0)
        bytes = 0;
    user->group[0] = primary;
    user->groups = 1 + bytes / sizeof user->group[0];
}

static unsigned clients_of(const struct server *server, uid_t uid)
{
    unsigned count = 0;
    for (unsigned i = 0; i < server->clients; i++)
        count += server->client[i].user.uid == uid;
    return count;
}

static void accept_one(struct server *server, int socket)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || server->clients == SERVER_MAX_CLIENTS ||
        clients_of(server, peer.uid) >= SERVER_MAX_CLIENTS_OF_USER) {
        server->counters.refused++;
        journal("a connection is refused: there are %u, and one user may have %d", server->clients,
                SERVER_MAX_CLIENTS_OF_USER);
        close(socket);
        return;
    }
    struct client *client = &server->client[server->clients++];
    memset(client, 0, sizeof *client);
    client->socket = socket;
    client->pid = peer.pid;
    client->user.uid = peer.uid;
    read_groups(socket, &client->user, peer.gid);
    client->until_millis = server->now_millis() + SERVER_IDLE_MILLIS;
    server->counters.accepted++;
}

static void accept_all(struct server *server)
{
    for (int i = 0; i < MESSAGES_PER_TURN; i++) {
        int socket = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket >= 0) {
            accept_one(server, socket);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            if (errno != EAGAIN) {
                journal("a connection can't be accepted: %s", strerror(errno));
                server->deaf_until_millis = server->now_millis() + TURN_MILLIS;
            }
            return;
        }
    }
}

/* The last client takes its place. */
static void drop(struct server *server, unsigned at, const char *why)
{
    struct client *client = &server->client[at];
    if (client->grant.open)
        journal("user %u, process %d: '%s' is closed (%s)", client->user.uid, client->pid, client->grant.netdev, why);
    grant_close(&client->grant);
    close(client->socket);
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

static int filter(const struct server *server, const struct client *client, const struct message *message)
{
    const struct sv_broker_request *request = &server->in.request;
    size_t code_bytes = message->bytes - sizeof *request;
    if (message->fd < 0 || request->filter.instructions == 0 ||
        code_bytes != request->filter.instructions * sizeof(struct sock_filter))
        return sv_explain(EINVAL, "a filter comes with a socket and all of its instructions");
    return put_filter(server->policy, &client->user, message->fd,
                      (const struct sock_filter *)(const void *)(server->in.bytes + sizeof *request),
                      request->filter.instructions);
}

static int solicit_in_bounds(const struct server *server, struct client *client)
{
    time_t second = (time_t)(server->now_millis() / 1000);
    if (second != client->solicited_second)
        client->solicited = 0;
    client->solicited_second = second;
    if (client->solicited++ >= SERVER_SOLICITATIONS)
        return sv_explain(EAGAIN, "more than %d next hops in a second", SERVER_SOLICITATIONS);
    return solicit(server->policy, &client->user, &server->in.request.solicit);
}

static int handle(struct server *server, struct client *client, const struct message *message,
                  struct sv_broker_reply *reply, int *fds, unsigned *count)
{
    const struct sv_broker_request *request = &server->in.request;
    bool plain = message->bytes == sizeof *request && message->fd < 0;
    if (request->call == SV_BROKER_FILTER)
        return filter(server, client, message);
    if (request->call >= SV_BROKER_CALLS || !plain)
        return sv_explain(EPROTO, "the request is none that this broker knows");
    if (request->call == SV_BROKER_OPEN)
        return open_device(server, client, &request->open, reply, fds, count);
    if (request->call == SV_BROKER_SOLICIT)
        return solicit_in_bounds(server, client);
    if (!client->grant.open)
        return sv_explain(ENOTCONN, "this connection has no device open");
    if (request->call == SV_BROKER_ADD_RULE)
        return grant_add_rule(&client->grant, server->policy, &client->user, &request->rule);
    if (request->call == SV_BROKER_REMOVE_RULE)
        return grant_remove_rule(&client->grant, &request->rule);
    return grant_mac_changed(&client->grant);
}

/* ---- messages ---- */

/* Descriptors that nobody asked for are closed. The kernel closes those that the control buffer has no room for. */
static int take_one(struct msghdr *header, bool *sound)
{
    int taken = -1;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part != NULL; part = CMSG_NXTHDR(header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; at + sizeof(int) <= part->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + at, sizeof fd);
            if (taken < 0) {
                taken = fd;
                continue;
            }
            *sound = false;
            close(fd);
        }
    }
    return taken;
}

/* Returns 1 with a message, 0 when there is none, -1 at the end of the connection. */
static int receive(struct server *server, const struct client *client, struct message *message)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {server->in.bytes, sizeof server->in.bytes};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                            .msg_controllen = sizeof control};
    ssize_t bytes = recvmsg(client->socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (bytes < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    message->sound = !(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
    message->fd = take_one(&header, &message->sound);
    message->bytes = (size_t)bytes;
    message->sound = message->sound && message->bytes >= sizeof server->in.request &&
                     message->bytes <= SERVER_MAX_REQUEST_BYTES && server->in.request.version == SV_BROKER_VERSION;
    if (bytes == 0 && message->fd >= 0)
        close(message->fd);
    return bytes > 0 ? 1 : -1;
}

/* Never waits: a client that does not read its answers is dropped. */
static bool send_reply(const struct client *client, struct sv_broker_reply *reply, const int *fds, unsigned count)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(SV_BROKER_MAX_FDS * sizeof(int))];
    struct iovec part = {reply, sizeof *reply};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        memset(control, 0, sizeof control);
        header.msg_control = control;
        header.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
    }
    ssize_t sent;
    do
        sent = sendmsg(client->socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == sizeof *reply;
}

static void count(struct server *server, const struct client *client, int error)
{
    server->counters.denied += error == EACCES;
    server->counters.bad_messages += error == EPROTO || error == EINVAL;
    if (error != 0)
        journal("user %u, process %d: refused: %s", client->user.uid, client->pid, sv_explanation());
}

/* False: the client is to be dropped. */
static bool answer(struct server *server, struct client *client, const struct message *message)
{
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];
    unsigned fd_count = 0;
    bool had_device = client->grant.open;
    memset(&reply, 0, sizeof reply);
    reply.version = SV_BROKER_VERSION;
    reply.namespace = server->namespace;
    server->counters.requests++;
    int error = message->sound ? handle(server, client, message, &reply, fds, &fd_count)
                               : sv_explain(EPROTO, "the message is no request of version %d", SV_BROKER_VERSION);
    if (message->fd >= 0)
        close(message->fd);
    count(server, client, error);
    reply.error = error;
    if (error != 0)
        strncpy(reply.text, sv_explanation(), sizeof reply.text - 1);
    bool sent = send_reply(client, &reply, fds, fd_count);
    if (client->grant.open && !had_device) {
        grant_sent(&client->grant, fds, fd_count);
        if (sent)
            journal("user %u, process %d: '%s' is open", client->user.uid, client->pid, client->grant.netdev);
    }
    server->counters.late += !sent;
    client->has_asked |= message->sound;
    /* What is refused does not prolong the stay of a client that has nothing. */
    if (error == 0)
        client->until_millis = server->now_millis() + SERVER_IDLE_MILLIS;
    return sent && message->sound;
}

static bool serve(struct server *server, unsigned at)
{
    struct message message;
    for (int i = 0; i < MESSAGES_PER_TURN; i++) {
        int got = receive(server, &server->client[at], &message);
        if (got == 0)
            return true;
        if (got < 0 || !answer(server, &server->client[at], &message))
            return false;
    }
    return true;
}

/* ---- turns ---- */

static bool is_late(const struct client *client, int64_t now)
{
    return !client->grant.open && now > client->until_millis;
}

/* A connection that was of use may be closed while it is idle, and opened again. */
static void shut_out(struct server *server, unsigned at)
{
    const struct client *client = &server->client[at];
    if (!client->has_asked) {
        server->counters.late++;
        journal("user %u, process %d: has asked for nothing in %d s", client->user.uid, client->pid,
                SERVER_IDLE_MILLIS / 1000);
    }
    drop(server, at, "");
}

void server_turn(struct server *server)
{
    struct pollfd wanted[1 + SERVER_MAX_CLIENTS];
    unsigned clients = server->clients;
    wanted[0] = (struct pollfd){.fd = server->now_millis() < server->deaf_until_millis ? -1 : server->listener,
                                .events = POLLIN};
    for (unsigned i = 0; i < clients; i++)
        wanted[1 + i] = (struct pollfd){.fd = server->client[i].socket, .events = POLLIN};
    if (poll(wanted, 1 + clients, TURN_MILLIS) < 0)
        return;
    int64_t now = server->now_millis();
    /* From the last one down, since the last one takes the place of one that is dropped. */
    for (unsigned i = clients; i-- > 0;) {
        if (wanted[1 + i].revents != 0 && !serve(server, i)) {
            drop(server, i, "the process has closed it or has ended");
        } else if (is_late(&server->client[i], now)) {
            shut_out(server, i);
        }
    }
    if (wanted[0].revents != 0)
        accept_all(server);
}

struct server *server_create(int listener, const struct policy *policy)
{
    struct server *server = calloc(1, sizeof *server);
    socklen_t size = sizeof server->namespace;
    if (server == NULL)
        return NULL;
    server->listener = listener;
    server->policy = policy;
    server->now_millis = now_millis;
    if (getsockopt(listener, SOL_SOCKET, SO_NETNS_COOKIE, &server->namespace, &size) != 0)
        server->namespace = 0;
    return server;
}

void server_set_clock(struct server *server, int64_t (*clock)(void))
{
    server->now_millis = clock;
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
    while (server->clients > 0)
        drop(server, server->clients - 1, "the broker ends");
    free(server);
}
