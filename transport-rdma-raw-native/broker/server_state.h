/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_SERVER_STATE_H
#define BROKER_SERVER_STATE_H

/* The state of the server, shared by server.c (clients and turns) and server_requests.c. */

#include "neighbor.h"
#include "server.h"
#include "session.h"

struct client {
    int session_fd;                 /* socket to its session; -1: the session is ending */
    int session_pidfd;              /* pidfd, readable when the session has ended */
    pid_t pid;                      /* the client's own, for the log */
    struct policy_user user;
    uid_t limit_uid;                /* uid for the limits */
    int64_t deadline_millis;        /* deadline for the next request, unless a device is open */
    bool has_sent_request;
    bool is_refused;                /* occupies a place until its session has ended, but does not count for its user */
    bool has_slow_request;          /* it waits for its turn */
    struct session_message message;
    struct grant grant;
};

/* A user's requests within a second, over all connections, including closed ones. */
struct usage {
    uid_t uid;
    bool in_use;
    int64_t second;
    unsigned solicitations;
    unsigned opens;
    unsigned log_lines;
    unsigned suppressed_log_lines;
    uint64_t last_slow_request;     /* number of the user's last slow request */
    struct neighbor_budget neighbors;
};

struct server {
    struct acceptor acceptor;
    bool client_allowed;                /* the acceptor may accept one more client */
    bool acceptor_has_ended;
    int wake_fd;                        /* descriptor that ends a turn, or -1 */
    int64_t (*now_millis)(void);
    int64_t accept_paused_until_millis; /* connections wait, because descriptors or processes ran out */
    uint64_t netns_cookie;
    const struct policy *policy;
    struct server_counters counters;
    uint64_t slow_requests;
    int passed[SV_BROKER_RESUME_MAX_FDS];   /* descriptors of the message that is being served */
    unsigned passed_count;
    struct usage usage[SERVER_MAX_CLIENTS];
    unsigned client_count;
    struct client client[SERVER_MAX_CLIENTS];
};

/* ---- server_requests.c ---- */

/* Returns the uid that the limits of a user count for. */
uid_t server_limit_uid(const struct server *server, const struct policy_user *user);
/* Returns the requests of a client's user in this second. */
struct usage *server_usage_of(struct server *server, const struct client *client);
/*
 * Handles a message of a session and replies to it. To a request that opens a device, server_continue_opening() replies
 * later. Returns false if the session is to end.
 */
bool server_handle_message(struct server *server, struct client *client, struct session_message *message);
/* Does the next piece of opening a device. Replies to the request if that was the last. Returns as above. */
bool server_continue_opening(struct server *server, struct client *client);
/*
 * Logs the sentence of sv_explain(). Each user has a share of the log's lines, so repeated refusals of one user do not
 * hide those of others.
 */
void server_log_refusal(struct server *server, const struct client *client);
/* Closes the client's device, if it has one. `free_memory`: frees the memory of its queues too. */
void server_close_device(struct client *client, const char *reason, bool free_memory);

#endif
