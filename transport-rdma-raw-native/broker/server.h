/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_SERVER_H
#define BROKER_SERVER_H

#include "grant.h"
#include "policy.h"

/*
 * The clients of the broker. Each client has a separate process (session.h), which reads its messages. Nothing that a
 * client does to its connection, or to a descriptor that it sends, can block the broker. One thread waits for the
 * messages of all sessions. The memory for clients is allocated at the start.
 */
enum {
    SERVER_MAX_CLIENTS = 128,
    SERVER_MAX_CLIENTS_OF_USER = 32,
    SERVER_IDLE_MILLIS = 5000, /* a client without a device is disconnected after this time without a request */
    SERVER_MAX_SOLICITATIONS_PER_SECOND_OF_USER = 512,
    SERVER_MAX_OPENS_PER_SECOND_OF_USER = 8,            /* devices opened */
    SERVER_MAX_REFUSAL_LINES_PER_SECOND_OF_USER = 5,    /* log lines about refusals; all lines: journal.h */
};

struct server;

/* Counters of a server, for tests and the log. */
struct server_counters {
    unsigned long accepted;
    unsigned long refused;          /* connections beyond the limits */
    unsigned long requests;
    unsigned long bad_messages;
    unsigned long denied;           /* requests denied by the policy */
    unsigned long timed_out;        /* clients that sent no request in time, or did not read */
};

/*
 * Creates a server. `listener` is a listening socket that the caller closes. The policy may change between turns: it
 * then applies to new requests, and open devices stay open. Forks, so the process must have no other thread and no
 * device yet. `confined`: sessions run under filters of system calls (confinement.h). Returns NULL if memory is missing
 * or the fork fails.
 */
struct server *server_create(int listener, const struct policy *policy, bool confined);
/* For tests: replaces CLOCK_MONOTONIC. */
void server_set_clock(struct server *server, int64_t (*now_millis)(void));
/* A turn also ends when this descriptor is readable. */
void server_set_wake_fd(struct server *server, int fd);
/* Waits for events and handles them, for at most about a second. Returns false if no more clients can connect. */
bool server_run_once(struct server *server);
const struct server_counters *server_counters(const struct server *server);
/* Return the number of clients with a running process, and of clients with a device. */
unsigned server_client_count(const struct server *server);
unsigned server_device_count(const struct server *server);
void server_destroy(struct server *server);

#endif
