/* SPDX-License-Identifier: Apache-2.0 */
/* The process's side of a broker, messages and opening: see broker.h. */
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
enum { OPEN_TIMEOUT_MILLIS = 20000, REPLY_TIMEOUT_MILLIS = 5000, OPEN_RETRY_MILLIS = 1000, MIN_PAUSE_MILLIS = 25,
       MAX_PAUSE_MILLIS = 200 };
/* While the broker is late, a removal waits only this time, because its caller needs no result. */
enum { LATE_REMOVAL_MILLIS = 100 };

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

/* For both the request and its reply. */
static int64_t deadline_of(const struct sv_broker *broker, uint32_t call)
{
    bool is_brief = broker->is_late && call == SV_BROKER_REMOVE_RULE;
    return is_brief ? sv_broker_now_millis() + LATE_REMOVAL_MILLIS : deadline_after(broker, timeout_of(call));
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

static int explain_timeout(const struct sv_broker *broker, uint32_t call, int error)
{
    if (broker->deadline_millis != 0)
        return sv_explain(error, "rdma-raw-broker at '%s' has not resumed this device in time: it may be busy with "
                          "other devices; see its log, and try again", sv_broker_path());
    return sv_explain(error, "rdma-raw-broker at '%s' has not answered for %d s: see its log, and try again",
                      sv_broker_path(), timeout_of(call) / 1000);
}

static int explain_descriptors(int error)
{
    return sv_explain(error, "this process can have no more descriptors, of which rdma-raw-broker sends some: raise "
                      "its limit (ulimit -n, LimitNOFILE=)");
}

/* Records an error after which no request can succeed. */
static int fail_broker(struct sv_broker *broker, int error)
{
    broker->error = error;
    shutdown(broker->socket, SHUT_RDWR);
    switch (error) {
    case ECONNRESET:
        if (broker->deadline_millis != 0)
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

/* Removals have odd sequence numbers, all other requests even ones. */
static int send_numbered(struct sv_broker *broker, struct sv_broker_request *request, int64_t deadline_millis)
{
    bool is_removal = request->call == SV_BROKER_REMOVE_RULE;
    broker->sequence = (broker->sequence | 1) + 1 + is_removal;
    request->version = SV_BROKER_VERSION;
    request->sequence = broker->sequence;
    return send_request(broker, request, deadline_millis);
}

/*
 * Discards replies to earlier requests, which arrive after their timeout. The broker no longer has the rule of such a
 * removal, even if it refused it.
 */
static int receive_matching(struct sv_broker *broker, struct sv_broker_reply *reply, int fds[SV_BROKER_MAX_FDS],
                            unsigned *count, int64_t deadline_millis)
{
    for (;;) {
        int error = receive_reply(broker->socket, reply, fds, count, deadline_millis);
        if (error != 0 || reply->sequence == broker->sequence)
            return error;
        sv_broker_close_fds(fds, *count);
        *count = 0;
        if (reply->sequence % 2 != 0)
            atomic_fetch_sub(&broker->stale_rules, 1);
    }
}

/*
 * Removes a rule after its addition timed out. The broker executes requests in order, so the rule is gone in the end,
 * and is stale until then. If the request cannot be sent, it stays stale: the connection must not end, because a broker
 * that still runs would free the memory of the device.
 */
static void undo_addition(struct sv_broker *broker, struct sv_broker_request *request)
{
    /* After a failed attempt to resume a device, it has no rules. */
    if (request->call != SV_BROKER_ADD_RULE || broker->deadline_millis != 0)
        return;
    atomic_fetch_add(&broker->stale_rules, 1);
    request->call = SV_BROKER_REMOVE_RULE;
    (void)send_numbered(broker, request, sv_broker_now_millis() + SV_BROKER_CLOSE_MILLIS);
}

int sv_broker_transact(struct sv_broker *broker, struct sv_broker_request *request, struct sv_broker_reply *reply,
                       int fds[SV_BROKER_MAX_FDS], unsigned *count)
{
    int64_t deadline_millis = deadline_of(broker, request->call);
    sv_assert_may_block();
    *count = 0;
    if (broker->error != 0)
        return fail_broker(broker, broker->error);
    int error = send_numbered(broker, request, deadline_millis);
    const bool is_sent = error == 0;
    if (is_sent)
        error = receive_matching(broker, reply, fds, count, deadline_millis);
    broker->is_late = error == ETIMEDOUT;
    if (error == ETIMEDOUT) {
        if (is_sent)
            undo_addition(broker, request);
        return explain_timeout(broker, request->call, error);
    }
    if (error == 0 && reply->error == 0)
        return 0;
    sv_broker_close_fds(fds, *count);
    *count = 0;
    return error != 0 ? fail_broker(broker, error) : sv_explain(reply->error, "%s", reply->text);
}

/* ---- opening ---- */

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

static int request_open(struct sv_broker *broker, const struct sv_broker_open *wanted, struct sv_broker_reply *reply,
                       int fds[SV_BROKER_MAX_FDS], unsigned *count)
{
    struct sv_broker_request request;
    memset(&request, 0, sizeof request);
    request.call = SV_BROKER_OPEN;
    request.open = *wanted;
    return sv_broker_transact_retrying(broker, &request, reply, fds, count, OPEN_RETRY_MILLIS);
}

/* If the descriptors were read too late, the broker has taken the device back and shut the connection down. */
static int check_is_open(struct sv_broker *broker)
{
    char byte;
    return recv(broker->socket, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) == 0 ? fail_broker(broker, ECONNRESET) : 0;
}

/* Returns true if the layout is valid. The sizes are used as masks. */
static bool is_layout_valid(const struct sv_broker_layout *layout, unsigned fds)
{
    if (layout->queue_count == 0 || layout->queue_count > SV_BPF_MAX_QUEUES || layout->main_divisor == 0 ||
        layout->syn_divisor == 0 || fds != SV_BROKER_FD_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE * layout->queue_count)
        return false;
    for (uint32_t i = 0; i < layout->queue_count; i++) {
        uint32_t chunks = layout->receive_chunks[i];
        if (chunks < 2 * layout->main_divisor || chunks < 2 * layout->syn_divisor || (chunks & (chunks - 1)) != 0 ||
            (chunks + chunks / 2) * (uint64_t)layout->stride_bytes > layout->queue_bytes)
            return false;
    }
    return true;
}

void sv_broker_keep_queues(struct sv_broker *broker, uint32_t queue_count)
{
    broker->queue_count = queue_count;
    broker->held_count = SV_BROKER_RESUME_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE * queue_count;
}

/* Records the parameters and the descriptors by which the device can be resumed. */
static void record_device(struct sv_broker *broker, const struct sv_broker_open *wanted, int ifindex, const int *fds,
                          const struct sv_broker_layout *layout)
{
    broker->wanted = *wanted;
    broker->ifindex = ifindex;
    sv_broker_keep_queues(broker, layout->queue_count);
    broker->held[SV_BROKER_RESUME_LINK] = fds[SV_BROKER_FD_XDP_LINK];
    memcpy(broker->held + SV_BROKER_RESUME_MAPS, fds + SV_BROKER_FD_MAPS, SV_TRAFFIC_MAP_COUNT * sizeof *fds);
    memcpy(broker->held + SV_BROKER_RESUME_SOCKETS, fds + SV_BROKER_FD_SOCKETS,
           SV_BPF_SOCKETS_PER_QUEUE * layout->queue_count * sizeof *fds);
    broker->programs_fd = fds[SV_BROKER_FD_MAPS + SV_CLIENT_MAP_PROGRAMS];
}

int sv_broker_open(struct sv_broker **out, const struct sv_broker_open *wanted, int ifindex,
                   int fds[SV_BROKER_MAX_FDS], struct sv_broker_layout *layout)
{
    struct sv_broker_reply reply;
    unsigned count = 0;
    struct sv_broker *broker = sv_alloc_zeroed(sizeof *broker);
    if (broker == NULL)
        return ENOMEM;
    int error = sv_broker_connect(broker);
    if (error == 0)
        error = request_open(broker, wanted, &reply, fds, &count);
    if (error == 0)
        error = check_is_open(broker);
    if (error == 0)
        error = sv_broker_check_namespace(broker, wanted, ifindex, &reply);
    if (error == 0 && !is_layout_valid(&reply.layout, count))
        error = fail_broker(broker, EPROTO);
    if (error != 0) {
        sv_broker_close_fds(fds, count);
        sv_broker_close(broker);
        return error;
    }
    record_device(broker, wanted, ifindex, fds, &reply.layout);
    *layout = reply.layout;
    *out = broker;
    return 0;
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
    await_broker_close(broker->socket);
    close(broker->socket);
    broker->socket = -1;
}

void sv_broker_close(struct sv_broker *broker)
{
    if (broker == NULL)
        return;
    sv_broker_disconnect(broker);
    sv_broker_close_fds(broker->uncertain_fds, broker->uncertain_count);
    free(broker);
}
