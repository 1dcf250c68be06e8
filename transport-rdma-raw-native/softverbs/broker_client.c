/* SPDX-License-Identifier: Apache-2.0 */
/* The process's side of a broker: see broker.h. */
#define _GNU_SOURCE
#include "broker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71      /* Linux 5.14 */
#endif

enum { ANSWER_MILLIS = 5000, CLOSE_MILLIS = 1000, BUSY_RETRIES = 40, BUSY_RETRY_MILLIS = 25 };

struct sv_broker {
    int socket;
    int error;                  /* why there is no use in asking any more, or 0 */
};

static const char *path(void)
{
    return getenv("SOFTVERBS_BROKER");
}

bool sv_broker_is_named(void)
{
    return path() != NULL && *path() != '\0';
}

/* ---- messages ---- */

static int64_t now_millis(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns 0, or ETIMEDOUT. */
static int wait_for(int fd, short events, int64_t until_millis)
{
    for (;;) {
        int64_t left = until_millis - now_millis();
        struct pollfd wanted = {.fd = fd, .events = events};
        if (left <= 0)
            return ETIMEDOUT;
        int ready = poll(&wanted, 1, (int)left);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return errno;
    }
}

static int send_request(int fd, const struct sv_broker_request *request, int64_t until_millis)
{
    for (;;) {
        ssize_t sent = send(fd, request, sizeof *request, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0)
            return 0;
        if (errno == EPIPE)
            return ECONNRESET;
        if (errno != EAGAIN && errno != EINTR)
            return errno;
        int error = wait_for(fd, POLLOUT, until_millis);
        if (error != 0)
            return error;
    }
}

static void close_all(int *fds, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
}

/* Takes the descriptors of a message. `fds` has room for all that its control buffer can bring. */
static unsigned take_descriptors(struct msghdr *message, int *fds)
{
    unsigned count = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        size_t bytes = header->cmsg_len - CMSG_LEN(0);
        memcpy(fds + count, CMSG_DATA(header), bytes);
        count += (unsigned)(bytes / sizeof(int));
    }
    return count;
}

static int receive_reply(int fd, struct sv_broker_reply *reply, int *fds, unsigned *count, int64_t until_millis)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(SV_BROKER_MAX_FDS * sizeof(int))];
    struct iovec part = {reply, sizeof *reply};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t length;
    while ((length = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0) {
        if (errno != EAGAIN && errno != EINTR)
            return errno;
        int error = wait_for(fd, POLLIN, until_millis);
        if (error != 0)
            return error;
    }
    *count = take_descriptors(&message, fds);
    if (length == 0)
        return ECONNRESET;
    bool whole = length == sizeof *reply && reply->version == SV_BROKER_VERSION &&
                 !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
    reply->text[sizeof reply->text - 1] = '\0';
    return whole ? 0 : EPROTO;
}

/* After an error of the connection itself requests and replies might no longer belong to each other. */
static int failed(struct sv_broker *broker, int error)
{
    broker->error = error;
    shutdown(broker->socket, SHUT_RDWR);
    switch (error) {
    case ECONNRESET:
        return sv_explain(error, "rdma-raw-broker at '%s' has ended or refused to go on: start it again, and open the "
                          "device again; until then its rules can't change", path());
    case ETIMEDOUT:
        return sv_explain(error, "rdma-raw-broker at '%s' has not answered for %d s: see its log, and open the device "
                          "again", path(), ANSWER_MILLIS / 1000);
    case EPROTO:
        return sv_explain(error, "rdma-raw-broker at '%s' is of another version than this library", path());
    default:
        return sv_explain(error, "rdma-raw-broker at '%s' can't be asked: %s", path(), strerror(error));
    }
}

/* A reply to anything but SV_BROKER_OPEN has no descriptors. */
static int ask(struct sv_broker *broker, struct sv_broker_request *request, struct sv_broker_reply *reply,
               int fds[SV_BROKER_MAX_FDS], unsigned *count)
{
    int64_t until = now_millis() + ANSWER_MILLIS;
    *count = 0;
    if (broker->error != 0)
        return failed(broker, broker->error);
    request->version = SV_BROKER_VERSION;
    int error = send_request(broker->socket, request, until);
    if (error == 0)
        error = receive_reply(broker->socket, reply, fds, count, until);
    if (error != 0) {
        close_all(fds, *count);
        *count = 0;
        return failed(broker, error);
    }
    return reply->error == 0 ? 0 : sv_explain(reply->error, "%s", reply->text);
}

/* ---- opening ---- */

static int connect_to(int fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path()) >= sizeof address.sun_path)
        return sv_explain(ENAMETOOLONG, "SOFTVERBS_BROKER is longer than a socket's path may be");
    strcpy(address.sun_path, path());
    /* EAGAIN: its queue of connections is full, which is soon over. */
    int64_t until = now_millis() + ANSWER_MILLIS;
    while (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        struct timespec pause = {.tv_nsec = BUSY_RETRY_MILLIS * 1000000L};
        if ((errno != EAGAIN && errno != EINTR) || now_millis() > until)
            return sv_explain(errno, "there is no rdma-raw-broker at '%s', which SOFTVERBS_BROKER names: %s", path(),
                              strerror(errno));
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int check_namespace(const struct sv_broker *broker, const struct sv_broker_open *wanted, int ifindex,
                           const struct sv_broker_reply *reply)
{
    uint64_t own = 0;
    socklen_t size = sizeof own;
    bool known = getsockopt(broker->socket, SOL_SOCKET, SO_NETNS_COOKIE, &own, &size) == 0 && reply->namespace != 0;
    if ((!known || own == reply->namespace) && reply->ifindex == (uint32_t)ifindex)
        return 0;
    return sv_explain(EXDEV, "rdma-raw-broker at '%s' runs in another network namespace, and its '%s' is another "
                      "interface: run it in this one", path(), wanted->netdev);
}

/* The interface's last user may be just ending, as in guard.c. */
static int ask_to_open(struct sv_broker *broker, const struct sv_broker_open *wanted, struct sv_broker_reply *reply,
                       int fds[SV_BROKER_MAX_FDS], unsigned *count)
{
    struct timespec pause = {.tv_nsec = BUSY_RETRY_MILLIS * 1000000L};
    struct sv_broker_request request;
    int error = EBUSY;
    for (int i = 0; i <= BUSY_RETRIES && error == EBUSY; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        memset(&request, 0, sizeof request);
        request.call = SV_BROKER_OPEN;
        request.open = *wanted;
        error = ask(broker, &request, reply, fds, count);
        if (broker->error != 0)
            break;
    }
    return error;
}

int sv_broker_open(struct sv_broker **out, const struct sv_broker_open *wanted, int ifindex,
                   int fds[SV_BROKER_MAX_FDS], uint32_t *queues)
{
    struct sv_broker_reply reply;
    unsigned count = 0;
    struct sv_broker *broker = sv_alloc_zeroed(sizeof *broker);
    if (broker == NULL)
        return ENOMEM;
    broker->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = broker->socket < 0 ? errno : connect_to(broker->socket);
    if (error == 0)
        error = ask_to_open(broker, wanted, &reply, fds, &count);
    if (error == 0)
        error = check_namespace(broker, wanted, ifindex, &reply);
    if (error == 0 && (reply.queues > wanted->queues || count != SV_BROKER_SOCKETS + SV_STEER_SOCKETS * reply.queues))
        error = failed(broker, EPROTO);
    if (error != 0) {
        close_all(fds, count);
        sv_broker_close(broker);
        return error;
    }
    *queues = reply.queues;
    *out = broker;
    return 0;
}

/* Waits for the broker's end of the connection: the device counts as this user's until then. */
static void give_back(int fd)
{
    char byte;
    int64_t until = now_millis() + CLOSE_MILLIS;
    shutdown(fd, SHUT_WR);
    while (wait_for(fd, POLLIN, until) == 0 && recv(fd, &byte, sizeof byte, MSG_DONTWAIT) > 0)
        continue;
}

void sv_broker_close(struct sv_broker *broker)
{
    if (broker == NULL)
        return;
    if (broker->socket >= 0) {
        give_back(broker->socket);
        close(broker->socket);
    }
    free(broker);
}

/* ---- an open device ---- */

static int ask_simply(struct sv_broker *broker, struct sv_broker_request *request)
{
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];
    unsigned count;
    int error = ask(broker, request, &reply, fds, &count);
    close_all(fds, count);
    return error;
}

static int ask_about_rule(struct sv_broker *broker, enum sv_broker_call call, const struct sv_rule_spec *spec)
{
    struct sv_broker_request request;
    memset(&request, 0, sizeof request);
    request.call = call;
    request.rule.type = spec->type;
    request.rule.priority = spec->priority;
    request.rule.multicast = spec->multicast;
    request.rule.continues = spec->continues;
    request.rule.mask = spec->mask;
    request.rule.value = spec->value;
    return ask_simply(broker, &request);
}

int sv_broker_add_rule(struct sv_broker *broker, const struct sv_rule_spec *spec)
{
    return ask_about_rule(broker, SV_BROKER_ADD_RULE, spec);
}

void sv_broker_remove_rule(struct sv_broker *broker, const struct sv_rule_spec *spec)
{
    (void)ask_about_rule(broker, SV_BROKER_REMOVE_RULE, spec);
}

void sv_broker_mac_changed(struct sv_broker *broker)
{
    struct sv_broker_request request;
    memset(&request, 0, sizeof request);
    request.call = SV_BROKER_MAC;
    (void)ask_simply(broker, &request);
}
