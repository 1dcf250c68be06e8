/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_ACCEPTOR_H
#define BROKER_ACCEPTOR_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The process that waits for clients, and forks a session for each (session.h). It is forked before the broker has any
 * device, so that sessions have nothing of other clients. A connection that a session has not taken is nobody's:
 * closing it would close what is under way in it.
 *
 * One client at a time: each byte that the broker sends by the socket allows one more, and a struct session_report is
 * the answer. The process ends with the broker, and all sessions with it.
 */
struct acceptor {
    pid_t pid;
    int reports;            /* SOCK_SEQPACKET */
};

bool acceptor_start(struct acceptor *acceptor, int listener, bool confined);
/* Returns whether the byte was sent. */
bool acceptor_allow_one(const struct acceptor *acceptor);
/* Ends it, and all sessions. */
void acceptor_end(struct acceptor *acceptor);

#endif
