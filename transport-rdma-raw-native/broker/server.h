/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_SERVER_H
#define BROKER_SERVER_H

#include "grant.h"
#include "policy.h"

/*
 * The clients of the broker: one thread, which waits for none of them. A message is handled as soon as it comes, and
 * what a client does not read is the end of it. Memory is all there from the start.
 */
enum {
    SERVER_MAX_CLIENTS = 128,
    SERVER_MAX_CLIENTS_OF_USER = 32,
    SERVER_IDLE_MILLIS = 5000,              /* who has no device open, and asks for nothing so long, is shut out */
    SERVER_MAX_REQUEST_BYTES = sizeof(struct sv_broker_request) + SV_BROKER_MAX_INSTRUCTIONS * 8,
    SERVER_SOLICITATIONS = 512,             /* of a user, in a second */
};

struct server;

/* What a server has done; for tests and the log. */
struct server_counters {
    unsigned long accepted;
    unsigned long refused;          /* connections: too many */
    unsigned long requests;
    unsigned long bad_messages;
    unsigned long denied;           /* by the policy */
    unsigned long late;             /* clients that asked for nothing at all in time, or did not read */
};

/*
 * The policy may change in place, between turns: what is open stays open, and what comes next is asked of the new one.
 * `listener`: a listening socket; the caller closes it. NULL: there is no memory.
 */
struct server *server_create(int listener, const struct policy *policy);
/* For tests: another clock than CLOCK_MONOTONIC. */
void server_set_clock(struct server *server, int64_t (*now_millis)(void));
/* Waits for events and handles them, for at most about a second. */
void server_turn(struct server *server);
const struct server_counters *server_counters(const struct server *server);
unsigned server_clients(const struct server *server);
unsigned server_devices(const struct server *server);
void server_destroy(struct server *server);

#endif
