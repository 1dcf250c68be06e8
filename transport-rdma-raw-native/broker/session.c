/* SPDX-License-Identifier: Apache-2.0 */
/* See session.h. */
#define _GNU_SOURCE
#include "session.h"

#include "confinement.h"
#include "passed.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A client has to read the descriptors of its device within this time, or its connection is shut down. */
enum { DELIVERY_MILLIS = 5000, READ_AGAIN_MILLIS = 10 };

struct session {
    int client_fd;
    int broker_fd;
    union {
        struct sv_broker_request request;
        uint8_t bytes[SESSION_MAX_MESSAGE_BYTES + 1];       /* one more byte shows that a message is too long */
    } in;
    size_t in_bytes;
    int passed[SV_BROKER_RESUME_MAX_FDS];                   /* descriptors received with the message */
    unsigned passed_count;
    struct session_message message;
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];                             /* descriptors of the reply */
    unsigned fd_count;
};

/* Ends the process at once. The kernel closes all descriptors and does not wait for data of its sockets. */
static void __attribute__((noreturn)) end(void)
{
    _exit(EXIT_SUCCESS);
}

static int64_t now_millis(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the broker ---- */

static void notify_broker(struct session *session, enum session_kind kind, unsigned passed_count)
{
    session->message.kind = kind;
    if (!send_with_fds(session->broker_fd, &session->message, sizeof session->message, session->passed, passed_count,
                       0))
        end();
}

/* Sends a message with these many of the client's descriptors, and receives the answer. */
static void query_broker_passing(struct session *session, enum session_kind kind, unsigned passed_count)
{
    bool complete;
    notify_broker(session, kind, passed_count);
    ssize_t got;
    do
        got = receive_with_fds(session->broker_fd, &session->reply, sizeof session->reply, session->fds,
                               SV_BROKER_MAX_FDS, &session->fd_count, &complete, 0);
    while (got < 0 && errno == EINTR);
    if (got != sizeof session->reply || !complete)
        end();
}

static void query_broker(struct session *session, enum session_kind kind)
{
    query_broker_passing(session, kind, 0);
}

/* ---- requests ---- */

static void send_result(struct session *session, int error)
{
    session->message.error = error;
    memset(session->message.text, 0, sizeof session->message.text);
    if (error != 0)
        strncpy(session->message.text, sv_explanation(), sizeof session->message.text - 1);
    query_broker(session, SESSION_RESULT);
}

static int check_filter(const struct session *session)
{
    size_t code_bytes = session->in_bytes - sizeof session->in.request;
    uint32_t instruction_count = session->in.request.filter.instruction_count;
    if (session->passed_count == 1 && instruction_count > 0 && code_bytes % sizeof(struct sock_filter) == 0 &&
        code_bytes / sizeof(struct sock_filter) == instruction_count)
        return 0;
    return sv_explain(EINVAL, "a filter request needs a socket and all instructions");
}

/* Attaches a filter to the client's socket if the broker confirms that the port is granted. */
static void handle_filter(struct session *session)
{
    int error = check_filter(session);
    if (error != 0) {
        send_result(session, error);
        return;
    }
    uint16_t port = socket_filter_port(session->passed[0]);
    if (port == 0) {
        send_result(session, sv_explain(EINVAL, "a filter needs a TCP socket that is bound to a port"));
        return;
    }
    session->message.port = port;
    query_broker(session, SESSION_CHECK_PORT);
    if (session->reply.error != 0)
        return;
    const void *code = session->in.bytes + sizeof session->in.request;
    send_result(session, socket_filter_attach(session->passed[0], port, code,
                                              session->in.request.filter.instruction_count));
}

static void forward(struct session *session, unsigned passed_count)
{
    uint32_t call = session->in.request.call;
    session->message.request = session->in.request;
    query_broker_passing(session, SESSION_REQUEST, passed_count);
    if ((call == SV_BROKER_OPEN || call == SV_BROKER_RESUME) && session->reply.error == 0)
        refuse_fds(session->client_fd);
}

/* The session keeps its copies until the broker has answered, so that the broker does not close the last one before. */
static void handle_resume(struct session *session)
{
    const bool zero_copy = session->in.request.resume.open.mode == SV_BROKER_MODE_ZERO_COPY;
    int error = 0;
    if (session->in_bytes != sizeof session->in.request ||
        !passed_are_harmless(session->passed, session->passed_count, passed_netns_cookie(session->broker_fd)))
        error = sv_explain(EINVAL, "a device is resumed with its XDP link, its maps and AF_XDP sockets of the broker's "
                                   "network namespace");
    if (error == 0)
        error = passed_check_mode(session->passed, session->passed_count, zero_copy);
    if (error == 0)
        forward(session, session->passed_count);
    else
        send_result(session, error);
}

static void handle(struct session *session, bool is_valid)
{
    uint32_t call = session->in.request.call;
    bool plain = session->in_bytes == sizeof session->in.request && session->passed_count == 0;
    if (!is_valid)
        query_broker(session, SESSION_MALFORMED);
    else if (call == SV_BROKER_ATTACH_FILTER)
        handle_filter(session);
    else if (call == SV_BROKER_RESUME)
        handle_resume(session);
    else if (call >= SV_BROKER_CALL_COUNT || !plain)
        send_result(session, sv_explain(EPROTO, "the broker does not know this request"));
    else
        forward(session, 0);
}

/* ---- the client ---- */

/*
 * Sends the answer without waiting. A client that does not read its answers is disconnected. Each protocol version has
 * its own replies.
 */
static void send_reply(struct session *session)
{
    uint32_t version = session->message.version;
    size_t bytes = version == SV_BROKER_VERSION ? sizeof session->reply : SV_BROKER_COMMON_REPLY_BYTES;
    session->reply.version = version;
    session->reply.sequence = session->in.request.sequence;
    bool sent = send_with_fds(session->client_fd, &session->reply, bytes, session->fds, session->fd_count,
                              MSG_DONTWAIT);
    for (unsigned i = 0; i < session->fd_count; i++)
        close(session->fds[i]);
    session->fd_count = 0;
    if (!sent) {
        notify_broker(session, SESSION_UNRESPONSIVE, 0);
        end();
    }
}

/*
 * Returns true if the client has read everything. The kernel counts sent bytes until the other end reads them or is
 * closed.
 */
static bool client_has_read_all(const struct session *session)
{
    int bytes = 0;
    return ioctl(session->client_fd, SIOCOUTQ, &bytes) != 0 || bytes == 0;
}

/* Returns false if the client has not read everything by then. */
static bool wait_until_read(const struct session *session, int64_t deadline_millis)
{
    struct pollfd broker = {.fd = session->broker_fd, .events = POLLIN};
    while (!client_has_read_all(session)) {
        if (now_millis() >= deadline_millis)
            return false;
        if (poll(&broker, 1, READ_AGAIN_MILLIS) > 0)
            end();
    }
    return true;
}

/*
 * Keeps the session, and with it the device, until the client has read the descriptors. Descriptors in flight count for
 * the broker's user, and at a limit no process of the broker could send any. A client can take them without reading the
 * message (MSG_PEEK).
 */
static void await_delivery(struct session *session)
{
    if (wait_until_read(session, now_millis() + DELIVERY_MILLIS))
        return;
    (void)shutdown(session->client_fd, SHUT_RDWR);
    (void)wait_until_read(session, INT64_MAX);
    query_broker(session, SESSION_CLOSED);
    end();
}

/* This may block, but the client has its answer. */
static void close_passed(struct session *session)
{
    for (unsigned i = 0; i < session->passed_count; i++)
        close(session->passed[i]);
    session->passed_count = 0;
}

static void serve(struct session *session)
{
    bool complete;
    ssize_t got = receive_with_fds(session->client_fd, &session->in, sizeof session->in, session->passed,
                                   SV_BROKER_RESUME_MAX_FDS, &session->passed_count, &complete, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        /* The broker closes the device first, so that a client that waits for the end can open it again. */
        query_broker(session, SESSION_CLOSED);
        end();
    }
    session->in_bytes = (size_t)got;
    bool has_version = session->in_bytes >= sizeof session->in.request.version;
    session->message.version = has_version ? session->in.request.version : SV_BROKER_VERSION;
    bool is_valid = complete && session->in_bytes >= sizeof session->in.request &&
                    session->in_bytes <= SESSION_MAX_MESSAGE_BYTES && session->message.version == SV_BROKER_VERSION;
    handle(session, is_valid);
    bool has_descriptors = session->fd_count > 0;
    send_reply(session);
    if (!is_valid)
        end();
    if (has_descriptors)
        await_delivery(session);
    close_passed(session);
}

/* ---- life ---- */

static void read_user(int connection, struct session_report *report)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    struct policy_user *user = &report->user;
    socklen_t bytes = sizeof user->group - sizeof user->group[0];
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        end();
    /* A user with more groups than fit is treated as a member of the first one only. */
    if (getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, user->group + 1, &bytes) != 0)
        bytes = 0;
    report->pid = peer.pid;
    user->uid = peer.uid;
    user->group[0] = peer.gid;
    user->group_count = 1 + bytes / sizeof user->group[0];
}

static void report_to_broker(struct session *session, int report_fd)
{
    static struct session_report report;
    int pair[2], fds[SESSION_FD_COUNT];
    fds[SESSION_FD_PROCESS] = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (fds[SESSION_FD_PROCESS] < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        end();
    session->broker_fd = pair[0];
    fds[SESSION_FD_SOCKET] = pair[1];
    read_user(session->client_fd, &report);
    if (!send_with_fds(report_fd, &report, sizeof report, fds, SESSION_FD_COUNT, 0))
        end();
    close(pair[1]);
    close(fds[SESSION_FD_PROCESS]);
}

/* Reads nothing from the client before the broker allows it. */
static void wait_for_start(struct session *session)
{
    struct session_start start;
    if (recv(session->broker_fd, &start, sizeof start, 0) != sizeof start)
        end();
    if (!start.may_pass)
        refuse_fds(session->client_fd);
    if (!start.may_filter)
        drop_all_privileges();
}

static void accept_client(struct session *session, int listener, int report_fd)
{
    static struct session_report none;
    session->client_fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (session->client_fd >= 0) {
        report_to_broker(session, report_fd);
        return;
    }
    none.error = errno;
    (void)send_with_fds(report_fd, &none, sizeof none, NULL, 0, 0);
}

void session_run(int listener, int report_fd, int done_fd, bool confined)
{
    static struct session session;
    die_with_parent();
    accept_client(&session, listener, report_fd);
    (void)!write(done_fd, "", 1);
    if (session.client_fd < 0)
        end();
    close(listener);
    close(report_fd);
    close(done_fd);
    wait_for_start(&session);
    if (confined && !confine_session())
        end();
    for (;;) {
        struct pollfd pollfds[2] = {{.fd = session.client_fd, .events = POLLIN},
                                    {.fd = session.broker_fd, .events = POLLIN}};
        if (poll(pollfds, 2, -1) < 0)
            continue;
        /* The broker sends nothing unasked, so it has ended. */
        if (pollfds[1].revents != 0)
            end();
        serve(&session);
    }
}
