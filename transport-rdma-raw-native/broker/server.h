/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_SERVER_H
#define BROKER_SERVER_H

#include "grant.h"
#include "policy.h"

/*
 * The clients of the broker. Each has a process of its own (session.h), which reads what it sends: nothing that a client
 * can do to its connection, or to a descriptor that it sends, makes the broker wait. One thread, which waits for
 * questions of any of them. Memory is all there from the start.
 */
enum {
    SERVER_MAX_CLIENTS = 128,
    SERVER_MAX_CLIENTS_OF_USER = 32,
    SERVER_IDLE_MILLIS = 5000,              /* who has no device open, and asks for nothing so long, is shut out */
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
 * `listener`: a listening socket; the caller closes it. Forks, so there should be no other thread, and no device yet.
 * `confined`: sessions run under filters of system calls (confinement.h). NULL: there is no memory, or no process.
 */
struct server *server_create(int listener, const struct policy *policy, bool confined);
/* For tests: another clock than CLOCK_MONOTONIC. */
void server_set_clock(struct server *server, int64_t (*now_millis)(void));
/* A turn also ends when this can be read. */
void server_wake_on(struct server *server, int fd);
/* Waits for events and handles them, for at most about a second. False: no client can come any more. */
bool server_turn(struct server *server);
const struct server_counters *server_counters(const struct server *server);
/* Clients whose processes have not ended yet, and those that have a device. */
unsigned server_clients(const struct server *server);
unsigned server_devices(const struct server *server);
void server_destroy(struct server *server);

#endif
