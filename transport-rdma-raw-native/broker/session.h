/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_SESSION_H
#define BROKER_SESSION_H

#include "broker.h"
#include "policy.h"

/*
 * The process that serves one client. It alone has the client's connection, reads what comes by it, and closes the
 * descriptors that come with it: that can take as long as the client likes (SO_LINGER, a locked socket, a file of
 * FUSE). It asks the broker (server.h) by a socket pair, one question at a time. Whatever it is waiting for, the broker
 * waits for none of it, and kills it when the client's time is over.
 *
 * The broker trusts nothing that a session says but that it belongs to this client.
 */
enum session_kind {
    SESSION_REQUEST,        /* a request of the client's */
    SESSION_UNSOUND,        /* a message that is none; the session ends after the answer */
    SESSION_PORT,           /* may the client filter sockets of this TCP port? */
    SESSION_OUTCOME,        /* what the session has done itself, with the error and its text */
    SESSION_CLOSED,         /* the client has closed the connection; after the answer it hears of the end */
    SESSION_DEAF,           /* the client does not read its answers; no answer */
    SESSION_KINDS
};

struct session_message {
    uint32_t kind;
    int32_t error;
    uint32_t port;
    char text[SV_BROKER_TEXT_BYTES];
    struct sv_broker_request request;
};

/* What the broker says first; the answers that follow are struct sv_broker_reply. */
struct session_start {
    uint32_t may_filter;    /* the policy grants the client some TCP port: it may send descriptors */
};

/* The first message to the broker: who it is, or the errno for which there is no client. */
struct session_report {
    int32_t error;
    int32_t pid;
    struct policy_user user;
};

enum {
    /* Descriptors of a report: the broker's end of the pair, and the session itself (pidfd_open(2)). */
    SESSION_PAIR,
    SESSION_PROCESS,
    SESSION_REPORT_FDS,
};

enum { SESSION_MAX_MESSAGE_BYTES = sizeof(struct sv_broker_request) + SV_BROKER_MAX_INSTRUCTIONS * 8 };

/*
 * Takes a connection from the listener, if there is one, and says so to the broker by `reports`, and to the acceptor by a
 * byte to `reported`. Runs until the client or the broker is gone. `confined`: under a filter of its own (confinement.h).
 */
void session_run(int listener, int reports, int reported, bool confined) __attribute__((noreturn));

#endif
