/* SPDX-License-Identifier: Apache-2.0 */
/* See session.h. */
#define _GNU_SOURCE
#include "session.h"

#include "confinement.h"
#include "passing.h"
#include "privileges.h"
#include "socket_filter.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct session {
    int connection;
    int broker;
    union {
        struct sv_broker_request request;
        uint8_t bytes[SESSION_MAX_MESSAGE_BYTES + 1];       /* one more shows a message that is too long */
    } in;
    size_t in_bytes;
    int passed;                                             /* the descriptor that came with it, or -1 */
    struct session_message question;
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];                             /* of the reply */
    unsigned fd_count;
};

/* The kernel closes all descriptors, and does not wait for data of an ending process's sockets. */
static void __attribute__((noreturn)) end(void)
{
    _exit(EXIT_SUCCESS);
}

/* ---- the broker ---- */

static void tell_broker(struct session *session, enum session_kind kind)
{
    session->question.kind = kind;
    if (!pass_send(session->broker, &session->question, sizeof session->question, NULL, 0, 0))
        end();
}

static void ask_broker(struct session *session, enum session_kind kind)
{
    bool whole;
    tell_broker(session, kind);
    ssize_t got;
    do
        got = pass_receive(session->broker, &session->reply, sizeof session->reply, session->fds, SV_BROKER_MAX_FDS,
                           &session->fd_count, &whole, 0);
    while (got < 0 && errno == EINTR);
    if (got != sizeof session->reply || !whole)
        end();
}

/* ---- requests ---- */

static void tell_outcome(struct session *session, int error)
{
    session->question.error = error;
    memset(session->question.text, 0, sizeof session->question.text);
    if (error != 0)
        strncpy(session->question.text, sv_explanation(), sizeof session->question.text - 1);
    ask_broker(session, SESSION_OUTCOME);
}

static int check_filter(const struct session *session)
{
    size_t code_bytes = session->in_bytes - sizeof session->in.request;
    uint32_t instructions = session->in.request.filter.instructions;
    if (session->passed >= 0 && instructions > 0 && code_bytes % sizeof(struct sock_filter) == 0 &&
        code_bytes / sizeof(struct sock_filter) == instructions)
        return 0;
    return sv_explain(EINVAL, "a filter comes with a socket and all of its instructions");
}

/* The broker says whether the port is the client's, and the session does the rest. */
static void filter(struct session *session)
{
    int error = check_filter(session);
    if (error != 0) {
        tell_outcome(session, error);
        return;
    }
    uint16_t port = socket_filter_port(session->passed);
    if (port == 0) {
        tell_outcome(session, sv_explain(EINVAL, "a filter is put on TCP sockets that are bound to a port only"));
        return;
    }
    session->question.port = port;
    ask_broker(session, SESSION_PORT);
    if (session->reply.error != 0)
        return;
    const void *code = session->in.bytes + sizeof session->in.request;
    tell_outcome(session, socket_filter_attach(session->passed, port, code, session->in.request.filter.instructions));
}

static void forward(struct session *session)
{
    session->question.request = session->in.request;
    ask_broker(session, SESSION_REQUEST);
    if (session->in.request.call == SV_BROKER_OPEN && session->reply.error == 0)
        pass_refuse(session->connection);
}

static void handle(struct session *session, bool sound)
{
    uint32_t call = session->in.request.call;
    bool plain = session->in_bytes == sizeof session->in.request && session->passed < 0;
    if (!sound)
        ask_broker(session, SESSION_UNSOUND);
    else if (call == SV_BROKER_FILTER)
        filter(session);
    else if (call >= SV_BROKER_CALLS || !plain)
        tell_outcome(session, sv_explain(EPROTO, "the request is none that this broker knows"));
    else
        forward(session);
}

/* ---- the client ---- */

/* Never waits for the client: one that does not read its answers is left. */
static void answer(struct session *session)
{
    bool sent = pass_send(session->connection, &session->reply, sizeof session->reply, session->fds,
                          session->fd_count, MSG_DONTWAIT);
    for (unsigned i = 0; i < session->fd_count; i++)
        close(session->fds[i]);
    session->fd_count = 0;
    if (!sent) {
        tell_broker(session, SESSION_DEAF);
        end();
    }
}

static void serve(struct session *session)
{
    unsigned passed = 0;
    bool whole;
    ssize_t got = pass_receive(session->connection, &session->in, sizeof session->in, &session->passed, 1, &passed,
                               &whole, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        /* So that a client that waits for the end finds its device given back. */
        ask_broker(session, SESSION_CLOSED);
        end();
    }
    if (passed == 0)
        session->passed = -1;
    session->in_bytes = (size_t)got;
    bool sound = whole && session->in_bytes >= sizeof session->in.request &&
                 session->in_bytes <= SESSION_MAX_MESSAGE_BYTES && session->in.request.version == SV_BROKER_VERSION;
    handle(session, sound);
    answer(session);
    if (!sound)
        end();
    /* May take long, but the client has its answer. */
    if (session->passed >= 0)
        close(session->passed);
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
    /* Someone with more groups than there is room for is a member of the first one alone. */
    if (getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, user->group + 1, &bytes) != 0)
        bytes = 0;
    report->pid = peer.pid;
    user->uid = peer.uid;
    user->group[0] = peer.gid;
    user->groups = 1 + bytes / sizeof user->group[0];
}

static void report_to_broker(struct session *session, int reports)
{
    static struct session_report report;
    int pair[2], fds[SESSION_REPORT_FDS];
    fds[SESSION_PROCESS] = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (fds[SESSION_PROCESS] < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        end();
    session->broker = pair[0];
    fds[SESSION_PAIR] = pair[1];
    pass_refuse(pair[1]);
    read_user(session->connection, &report);
    if (!pass_send(reports, &report, sizeof report, fds, SESSION_REPORT_FDS, 0))
        end();
    close(pair[1]);
    close(fds[SESSION_PROCESS]);
}

/* Until the broker has said so, nothing of the client's is read. */
static void wait_for_start(struct session *session)
{
    struct session_start start;
    if (recv(session->broker, &start, sizeof start, 0) != sizeof start)
        end();
    if (!start.may_filter) {
        pass_refuse(session->connection);
        drop_all_privileges();
    }
}

static void take_client(struct session *session, int listener, int reports)
{
    static struct session_report none;
    session->connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (session->connection >= 0) {
        report_to_broker(session, reports);
        return;
    }
    none.error = errno;
    (void)pass_send(reports, &none, sizeof none, NULL, 0, 0);
}

void session_run(int listener, int reports, int reported, bool confined)
{
    static struct session session;
    session.passed = -1;
    end_with_parent();
    take_client(&session, listener, reports);
    (void)!write(reported, "", 1);
    if (session.connection < 0)
        end();
    close(listener);
    close(reports);
    close(reported);
    wait_for_start(&session);
    if (confined && !confine_session())
        end();
    for (;;) {
        struct pollfd wanted[2] = {{.fd = session.connection, .events = POLLIN},
                                   {.fd = session.broker, .events = POLLIN}};
        if (poll(wanted, 2, -1) < 0)
            continue;
        /* The broker says nothing unasked, so this is its end. */
        if (wanted[1].revents != 0)
            end();
        serve(&session);
    }
}
