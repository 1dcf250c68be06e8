/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_SESSION_H
#define BROKER_SESSION_H

#include "broker.h"
#include "policy.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The process that serves one client. Only this process has the client's connection. It reads the messages and closes
 * the descriptors that arrive with them, which can block as long as the client likes (SO_LINGER, a locked socket, a
 * file of FUSE). It asks the broker (server.h) through a socket pair, one message at a time. The broker never waits
 * for a session. It kills the session if its client opens no device in time. Only to resume a device (SV_BROKER_RESUME)
 * does the session forward descriptors, after it has checked that closing them cannot block (passed.h).
 *
 * The broker trusts nothing from a session except that it belongs to this client, and that it checks descriptors.
 */
enum session_kind {
    SESSION_REQUEST,        /* a request from the client */
    SESSION_MALFORMED,      /* an invalid message; the session ends after the answer */
    SESSION_CHECK_PORT,     /* asks whether the client may filter sockets of this TCP port */
    SESSION_RESULT,         /* reports the result of the session's own work, with the error and its text */
    SESSION_CLOSED,         /* the client has closed the connection; the answer follows after the device is closed */
    SESSION_UNRESPONSIVE,   /* the client does not read its answers; not answered */
    SESSION_KIND_COUNT
};

struct session_message {
    uint32_t kind;
    int32_t error;
    uint32_t port;
    uint32_t version;       /* protocol version of the client */
    char text[SV_BROKER_TEXT_BYTES];
    struct sv_broker_request request;
};

/* The broker's first message. The answers that follow are struct sv_broker_reply. */
struct session_start {
    uint32_t may_filter;    /* the policy grants the client a TCP port */
    uint32_t may_pass;      /* the policy grants the client an interface, so it may pass descriptors */
};

/* The first message to the broker: the client's user, or an errno if no client was accepted. */
struct session_report {
    int32_t error;
    int32_t pid;
    struct policy_user user;
};

enum {
    /* Descriptors of a report: the broker's end of the pair, and the session itself (pidfd_open(2)). */
    SESSION_FD_SOCKET,
    SESSION_FD_PROCESS,
    SESSION_FD_COUNT,
};

enum { SESSION_MAX_MESSAGE_BYTES = sizeof(struct sv_broker_request) + SV_BROKER_MAX_INSTRUCTIONS * 8 };

/*
 * Accepts a connection from the listener if there is one, sends a struct session_report through `report_fd`, and then
 * writes a byte to `done_fd`, for which the acceptor waits before it forks another session. Serves the client until
 * the connection ends, the client misbehaves or the broker has ended. If `confined` is set, the session serves under
 * its own filter (confinement.h).
 */
void session_run(int listener, int report_fd, int done_fd, bool confined) __attribute__((noreturn));

/* ---- acceptor.c ---- */

/*
 * The process that waits for clients and forks a session for each. It is forked before the broker has any device, so
 * sessions hold nothing of other clients. Only sessions take connections from the queue: closing a connection also
 * closes the descriptors in flight in it, which can block.
 *
 * It accepts one client at a time: each byte that the broker sends through the socket allows one more, and a struct
 * session_report answers. The process ends with the broker, and all sessions with it.
 */
struct acceptor {
    pid_t pid;
    int report_fd;          /* SOCK_SEQPACKET */
};

bool acceptor_start(struct acceptor *acceptor, int listener, bool confined);
/* Allows one more client. Returns true if the byte was sent. */
bool acceptor_allow_one(const struct acceptor *acceptor);
/* Ends the acceptor and all sessions. */
void acceptor_end(struct acceptor *acceptor);

/* ---- passing.c ---- */

/* Sends and receives messages with descriptors: sendmsg(2) and recvmsg(2) of SOCK_SEQPACKET. */

/* Returns true if the whole message was sent. The caller keeps its descriptors. */
bool send_with_fds(int socket, const void *bytes, size_t length, const int *fds, unsigned count, int flags);

/*
 * Returns the length, 0 at the end of the connection, or -1 with errno. The caller owns the received descriptors, at
 * most `max_fds`. `complete` is set if neither bytes nor descriptors were cut off.
 */
ssize_t receive_with_fds(int socket, void *bytes, size_t capacity, int *fds, unsigned max_fds, unsigned *count,
                         bool *complete, int flags);

/* Refuses descriptors at this end from now on (Linux 6.16). Older kernels do not know the option. */
void refuse_fds(int socket);

/* ---- socket_filter.c ---- */

/*
 * Filters on a client's TCP sockets, for which the kernel requires CAP_NET_ADMIN (seen with Linux 6.18). Each call may
 * wait for a lock of the socket, which the client can hold as long as it likes.
 */

/* Returns the port to which a TCP socket is bound, or 0. */
uint16_t socket_filter_port(int socket);

/*
 * Attaches a filter to the socket. The program may accept a packet whole or drop it, nothing in between. Returns 0 or
 * an errno with sv_explain().
 */
int socket_filter_attach(int socket, uint16_t port, const struct sock_filter *code, uint32_t instruction_count);

#endif
