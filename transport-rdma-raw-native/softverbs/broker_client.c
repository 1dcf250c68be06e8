/* SPDX-License-Identifier: Apache-2.0 */
/* The process's side of a broker, connection and messages: see broker.h. */
#define _GNU_SOURCE
#include "broker_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71      /* Linux 5.14 */
#endif

/* For a device, the broker loads programs. On a busy machine the kernel's verifier needs seconds for them. */
enum { OPEN_TIMEOUT_MILLIS = 20000, REPLY_TIMEOUT_MILLIS = 5000, MIN_PAUSE_MILLIS = 25,
       MAX_PAUSE_MILLIS = 200 };
/* Maximum number of unanswered requests. All their replies must fit into the socket when a stopped broker continues. */
enum { MAX_UNANSWERED = 64 };

const char *sv_broker_path(void)
{
    return getenv("SOFTVERBS_BROKER");
}

bool sv_broker_is_configured(void)
{
    const char *path = sv_broker_path();
    return path != NULL && *path != '\0';
}

/* ---- messages ---- */

int64_t sv_broker_now_millis(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

unsigned sv_broker_random_millis(unsigned millis)
{
    uint32_t number = 0;
    (void)!getrandom(&number, sizeof number, GRND_NONBLOCK);
    return millis + number % millis;
}

static void pause_for(unsigned millis)
{
    const struct timespec pause = {.tv_nsec = millis * 1000000L};
    nanosleep(&pause, NULL);
}

static int timeout_of(uint32_t call)
{
    return call == SV_BROKER_OPEN ? OPEN_TIMEOUT_MILLIS : REPLY_TIMEOUT_MILLIS;
}

static int64_t deadline_after(const struct sv_broker *broker, int timeout_millis)
{
    return broker->deadline_millis != 0 ? broker->deadline_millis : sv_broker_now_millis() + timeout_millis;
}

/* Returns 0, or ETIMEDOUT. */
static int wait_for(int fd, short events, int64_t deadline_millis)
{
    for (;;) {
        int64_t left = deadline_millis - sv_broker_now_millis();
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

static void attach_descriptors(struct msghdr *message, const int *fds, unsigned count)
{
    message->msg_controllen = CMSG_SPACE(count * sizeof(int));
    memset(message->msg_control, 0, message->msg_controllen);
    struct cmsghdr *rights = CMSG_FIRSTHDR(message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
}

static int send_request(const struct sv_broker *broker, struct sv_broker_request *request, int64_t deadline_millis)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(SV_BROKER_RESUME_MAX_FDS * sizeof(int))];
    struct iovec part = {request, sizeof *request};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    const int fd = broker->socket;
    if (request->call == SV_BROKER_RESUME) {
        message.msg_control = control;
        attach_descriptors(&message, broker->held, broker->held_count);
    }
    for (;;) {
        ssize_t sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0)
            return 0;
        if (errno == EPIPE)
            return ECONNRESET;
        /* The kernel has no memory for the message. The connection stays: its end frees the memory of the device. */
        if (errno == ENOBUFS || errno == ENOMEM)
            return ETIMEDOUT;
        if (errno != EAGAIN && errno != EINTR)
            return errno;
        int error = wait_for(fd, POLLOUT, deadline_millis);
        if (error != 0)
            return error;
    }
}

void sv_broker_close_fds(int *fds, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
}

/* Takes the descriptors of a message. The kernel rounds the control buffer up, so one more than fits may arrive. */
static unsigned collect_descriptors(struct msghdr *message, int fds[SV_BROKER_MAX_FDS])
{
    unsigned count = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; at + sizeof(int) <= header->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(header) + at, sizeof fd);
            if (count < SV_BROKER_MAX_FDS)
                fds[count++] = fd;
            else
                close(fd);
        }
    }
    return count;
}

/* A broker of another version answers with an error in the part that all versions share. */
static bool is_complete(const struct sv_broker_reply *reply, ssize_t length, int flags)
{
    return reply->version == SV_BROKER_VERSION && !(flags & (MSG_TRUNC | MSG_CTRUNC)) &&
           (length == sizeof *reply || (length == SV_BROKER_COMMON_REPLY_BYTES && reply->error != 0));
}

/* Returns true if descriptors of the message are missing because this process can have no more. */
static bool lacks_descriptors(int flags, unsigned count)
{
    return (flags & MSG_CTRUNC) != 0 && count < SV_BROKER_MAX_FDS;
}

static int receive_reply(int fd, struct sv_broker_reply *reply, int fds[SV_BROKER_MAX_FDS], unsigned *count,
                         int64_t deadline_millis)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(SV_BROKER_MAX_FDS * sizeof(int))];
    struct iovec part = {reply, sizeof *reply};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t length;
    memset(reply, 0, sizeof *reply);
    while ((length = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0) {
        if (errno != EAGAIN && errno != EINTR)
            return errno;
        int error = wait_for(fd, POLLIN, deadline_millis);
        if (error != 0)
            return error;
    }
    *count = collect_descriptors(&message, fds);
    if (length == 0)
        return ECONNRESET;
    reply->text[sizeof reply->text - 1] = '\0';
    if (lacks_descriptors(message.msg_flags, *count))
        return EMFILE;
    return is_complete(reply, length, message.msg_flags) ? 0 : EPROTO;
}

static int explain_timeout(const struct sv_broker *broker, uint32_t call)
{
    if (broker->is_resuming)
        return sv_explain(ETIMEDOUT, "rdma-raw-broker at '%s' has not resumed this device in time: it may be busy "
                          "with other devices; see its log, and try again", sv_broker_path());
    return sv_explain(ETIMEDOUT, "rdma-raw-broker at '%s' has not answered for %d s: see its log, and try again",
                      sv_broker_path(), timeout_of(call) / 1000);
}

static int explain_not_sent(void)
{
    return sv_explain(ETIMEDOUT, "cannot send a request to rdma-raw-broker at '%s': the broker does not read its "
                      "socket, or the kernel has no memory. Try again.", sv_broker_path());
}

static int explain_late(void)
{
    return sv_explain(ETIMEDOUT, "rdma-raw-broker at '%s' has not answered an earlier request: see its log, and try "
                      "again", sv_broker_path());
}

static int explain_descriptors(int error)
{
    return sv_explain(error, "this process can have no more descriptors, of which rdma-raw-broker sends some: raise "
                      "its limit (ulimit -n, LimitNOFILE=)");
}

int sv_broker_fail(struct sv_broker *broker, int error)
{
    broker->error = error;
    shutdown(broker->socket, SHUT_RDWR);
    switch (error) {
    case ECONNRESET:
        if (broker->is_resuming)
            return sv_explain(error, "rdma-raw-broker at '%s' closed the connection while it resumed this device: it "
                              "has ended again, or this user has too many connections; see its log", sv_broker_path());
        return sv_explain(error, "rdma-raw-broker at '%s' has ended or closed the connection: start it again; "
                          "until then the rules of its devices can't change", sv_broker_path());
    case EMFILE:
        return explain_descriptors(error);
    case EPROTO:
        return sv_explain(error, "rdma-raw-broker at '%s' is of another version than this library: take both from one "
                          "release", sv_broker_path());
    default:
        return sv_explain(error, "rdma-raw-broker at '%s' can't be reached: %s", sv_broker_path(), strerror(error));
    }
}

/* Removals have odd sequence numbers, all other requests even ones. The request's number is 0 if it was not sent. */
static int send_numbered(struct sv_broker *broker, struct sv_broker_request *request, int64_t deadline_millis)
{
    bool is_removal = request->call == SV_BROKER_REMOVE_RULE;
    broker->sequence = (broker->sequence | 1) + 1 + is_removal;
    request->version = SV_BROKER_VERSION;
    request->sequence = broker->sequence;
    int error = send_request(broker, request, deadline_millis);
    broker->unanswered += error == 0;
    if (error != 0)
        request->sequence = 0;
    return error;
}

static int receive_next(struct sv_broker *broker, struct sv_broker_reply *reply, int fds[SV_BROKER_MAX_FDS],
                        unsigned *count, int64_t deadline_millis)
{
    int error = receive_reply(broker->socket, reply, fds, count, deadline_millis);
    broker->unanswered -= error == 0 && broker->unanswered > 0;
    return error;
}

/*
 * Receives the reply to a request that timed out. The broker no longer has the rule of such a removal, even if it
 * refused it.
 */
static int receive_late(struct sv_broker *broker, int64_t deadline_millis)
{
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];
    unsigned count = 0;
    int error = receive_next(broker, &reply, fds, &count, deadline_millis);
    sv_broker_close_fds(fds, count);
    if (error == 0 && reply.sequence % 2 != 0)
        atomic_fetch_sub(&broker->stale_rules, 1);
    return error;
}

/* ---- a broker that is late ---- */

/* A request that has to wait until the broker answers earlier ones: a removal, or the report of a MAC address. */
struct sv_broker_waiting {
    struct sv_broker_waiting *next;
    struct sv_broker_request request;
};

/* The newest report makes the broker read the address, so one is enough. */
static bool is_waiting(const struct sv_broker *broker, uint32_t call)
{
    const struct sv_broker_waiting *waiting = broker->first_waiting;
    while (waiting != NULL && waiting->request.call != call)
        waiting = waiting->next;
    return waiting != NULL;
}

/*
 * Queues the request. Each queued removal names a rule of the broker, so GRANT_MAX_RULES bounds the queue. Without
 * memory, the rule stays stale, and the report is lost.
 */
void sv_broker_send_later(struct sv_broker *broker, const struct sv_broker_request *request)
{
    if (request->call == SV_BROKER_MAC_CHANGED && is_waiting(broker, SV_BROKER_MAC_CHANGED))
        return;
    struct sv_broker_waiting *waiting = sv_alloc_zeroed(sizeof *waiting);
    if (waiting == NULL) {
        broker->lost_mac_report |= request->call == SV_BROKER_MAC_CHANGED;
        return;
    }
    waiting->request = *request;
    *(broker->first_waiting == NULL ? &broker->first_waiting : &broker->last_waiting->next) = waiting;
    broker->last_waiting = waiting;
}

static void forget_first_waiting(struct sv_broker *broker)
{
    struct sv_broker_waiting *waiting = broker->first_waiting;
    broker->first_waiting = waiting->next;
    free(waiting);
}

void sv_broker_forget_waiting(struct sv_broker *broker)
{
    while (broker->first_waiting != NULL)
        forget_first_waiting(broker);
}

/* Sends the waiting requests that the broker can answer at once. Does not block. */
static int send_waiting(struct sv_broker *broker)
{
    int error = 0;
    while (broker->first_waiting != NULL && broker->unanswered < MAX_UNANSWERED && error == 0) {
        error = send_numbered(broker, &broker->first_waiting->request, 0);
        if (error == 0)
            forget_first_waiting(broker);
    }
    return error == ETIMEDOUT ? 0 : error;
}

/*
 * Receives the replies to earlier requests, and sends those that wait. If the last request timed out, does not wait
 * before the first late reply has arrived. Returns ETIMEDOUT if the broker is still late.
 */
static int catch_up(struct sv_broker *broker, int64_t deadline_millis)
{
    bool answers = broker->unanswered == 0;
    while (broker->unanswered > 0 || broker->first_waiting != NULL) {
        int error = send_waiting(broker);
        if (error == 0 && broker->unanswered == 0)
            error = ETIMEDOUT;
        if (error == 0)
            error = receive_late(broker, answers ? deadline_millis : 0);
        if (error != 0)
            return error;
        answers = true;
    }
    return 0;
}

/* The request is sent with the queue if the broker is late, so its caller need not wait for earlier replies. */
static bool is_queued_if_late(const struct sv_broker_request *request)
{
    return request->call == SV_BROKER_REMOVE_RULE || request->call == SV_BROKER_MAC_CHANGED;
}

/*
 * Handles a request that timed out. A removal that was not sent waits. An addition that was sent is followed by its
 * removal: the broker executes requests in order, so the rule is gone in the end. It is stale until then. The
 * connection must not end, because a broker that still runs would free the memory of the device.
 */
static void postpone(struct sv_broker *broker, const struct sv_broker_request *request, bool is_sent)
{
    struct sv_broker_request later = *request;
    /* After a failed attempt to resume a device, it has no rules. */
    if (broker->is_resuming || is_sent != (request->call == SV_BROKER_ADD_RULE))
        return;
    if (request->call == SV_BROKER_ADD_RULE) {
        atomic_fetch_add(&broker->stale_rules, 1);
        later.call = SV_BROKER_REMOVE_RULE;
    }
    if (is_queued_if_late(&later))
        sv_broker_send_later(broker, &later);
    (void)send_waiting(broker);
}

/* Returns the result of a request that was answered, or failed with its connection. */
static int conclude(struct sv_broker *broker, const struct sv_broker_reply *reply, int fds[SV_BROKER_MAX_FDS],
                    unsigned *count, int error)
{
    if (error == 0 && reply->sequence != broker->sequence)
        error = EPROTO;
    if (error == 0 && reply->error == 0)
        return 0;
    sv_broker_close_fds(fds, *count);
    *count = 0;
    return error != 0 ? sv_broker_fail(broker, error) : sv_explain(reply->error, "%s", reply->text);
}

int sv_broker_transact(struct sv_broker *broker, struct sv_broker_request *request, struct sv_broker_reply *reply,
                       int fds[SV_BROKER_MAX_FDS], unsigned *count)
{
    int64_t deadline_millis = deadline_after(broker, timeout_of(request->call));
    sv_assert_may_block();
    *count = 0;
    if (broker->error != 0)
        return sv_broker_fail(broker, broker->error);
    int error = catch_up(broker, is_queued_if_late(request) ? 0 : deadline_millis);
    const bool is_late = error == ETIMEDOUT;
    if (error == 0)
        error = send_numbered(broker, request, deadline_millis);
    const bool is_sent = error == 0;
    if (is_sent)
        error = receive_next(broker, reply, fds, count, deadline_millis);
    if (error != ETIMEDOUT)
        return conclude(broker, reply, fds, count, error);
    postpone(broker, request, is_sent);
    if (is_late)
        return explain_late();
    return is_sent ? explain_timeout(broker, request->call) : explain_not_sent();
}

int sv_broker_receive_pending(struct sv_broker *broker, struct sv_broker_reply *reply, int fds[SV_BROKER_MAX_FDS],
                              unsigned *count)
{
    *count = 0;
    int error = receive_next(broker, reply, fds, count, 0);
    return error == ETIMEDOUT ? explain_timeout(broker, SV_BROKER_RESUME)
                              : conclude(broker, reply, fds, count, error);
}

/* ---- connection ---- */

static int connect_to(int fd, int64_t deadline_millis)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(sv_broker_path()) >= sizeof address.sun_path)
        return sv_explain(ENAMETOOLONG, "SOFTVERBS_BROKER is too long for a socket's path");
    strcpy(address.sun_path, sv_broker_path());
    /* EAGAIN: the broker's queue of connections is full, which is temporary. */
    while (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        if (errno != EAGAIN && errno != EINTR)
            return sv_explain(errno, "there is no rdma-raw-broker at '%s', which SOFTVERBS_BROKER names: %s",
                              sv_broker_path(), strerror(errno));
        if (sv_broker_now_millis() > deadline_millis)
            return sv_explain(EAGAIN, "rdma-raw-broker at '%s' accepts no connection: it is stopped, or has as many "
                              "clients as it can serve; see its log, and try again", sv_broker_path());
        pause_for(MIN_PAUSE_MILLIS);
    }
    return 0;
}

/* Checks the owner of the socket. The listener decides which memory this process maps and which interface it uses. */
static int check_owner(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return sv_explain(errno, "the user of rdma-raw-broker at '%s' can't be read: %s", sv_broker_path(),
                          strerror(errno));
    if (peer.uid == 0 || peer.uid == geteuid())
        return 0;
    return sv_explain(EACCES, "user %u listens at '%s', which SOFTVERBS_BROKER names: a broker must run as root or as "
                      "the user of this process", peer.uid, sv_broker_path());
}

int sv_broker_check_namespace(const struct sv_broker *broker, const struct sv_broker_open *wanted, int ifindex,
                              const struct sv_broker_reply *reply)
{
    uint64_t own = 0;
    socklen_t size = sizeof own;
    bool known = getsockopt(broker->socket, SOL_SOCKET, SO_NETNS_COOKIE, &own, &size) == 0 && reply->netns_cookie != 0;
    if ((!known || own == reply->netns_cookie) && reply->ifindex == (uint32_t)ifindex)
        return 0;
    return sv_explain(EXDEV, "rdma-raw-broker at '%s' runs in another network namespace, and its '%s' is another "
                      "interface: run it in this one", sv_broker_path(), wanted->netdev);
}

int sv_broker_connect(struct sv_broker *broker)
{
    broker->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (broker->socket < 0)
        return errno == EMFILE
            ? explain_descriptors(errno)
            : sv_explain(errno, "a socket for rdma-raw-broker can't be created: %s", strerror(errno));
    int error = connect_to(broker->socket, deadline_after(broker, REPLY_TIMEOUT_MILLIS));
    return error != 0 ? error : check_owner(broker->socket);
}

/*
 * The last user of the interface may be ending, as in guard.c (EBUSY), or the user has opened many devices (EAGAIN).
 */
int sv_broker_transact_retrying(struct sv_broker *broker, const struct sv_broker_request *wanted,
                                struct sv_broker_reply *reply, int fds[SV_BROKER_MAX_FDS], unsigned *count,
                                unsigned retry_millis)
{
    int64_t end_millis = sv_broker_now_millis() + retry_millis;
    for (unsigned pause_millis = MIN_PAUSE_MILLIS;;) {
        struct sv_broker_request request = *wanted;
        int error = sv_broker_transact(broker, &request, reply, fds, count);
        bool is_busy = error == EBUSY || error == EAGAIN;
        if (!is_busy || broker->error != 0 || sv_broker_now_millis() >= end_millis)
            return error;
        pause_for(sv_broker_random_millis(pause_millis));
        if (pause_millis < MAX_PAUSE_MILLIS)
            pause_millis *= 2;
    }
}

/* Waits until the broker has closed its end of the connection: until then the device counts for this user. */
static void await_broker_close(int fd)
{
    char byte;
    int64_t deadline_millis = sv_broker_now_millis() + SV_BROKER_CLOSE_MILLIS;
    shutdown(fd, SHUT_WR);
    while (wait_for(fd, POLLIN, deadline_millis) == 0 && recv(fd, &byte, sizeof byte, MSG_DONTWAIT) > 0)
        continue;
}

void sv_broker_disconnect(struct sv_broker *broker)
{
    if (broker->socket < 0)
        return;
    if (broker->unanswered == 0)
        await_broker_close(broker->socket);
    close(broker->socket);
    broker->socket = -1;
    broker->unanswered = 0;
}
