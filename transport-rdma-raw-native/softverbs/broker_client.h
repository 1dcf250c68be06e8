/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_BROKER_CLIENT_H
#define SV_BROKER_CLIENT_H

/*
 * The connection to a broker, shared by broker_client.c (messages), broker_open.c (opening) and broker_device.c (an
 * open device).
 */

#include "broker.h"

enum { SV_BROKER_CLOSE_MILLIS = 1000, SV_BROKER_MAX_UNCERTAIN = 4 };
/*
 * An attempt to resume has this time: one step for the broker's new maps and programs, one for the rules and the
 * commit. If the last attempt failed at a busy broker, the first step has SV_BROKER_LATE_STEP_MILLIS only.
 */
enum { SV_BROKER_STEP_MILLIS = 5000, SV_BROKER_RESUME_MILLIS = 2 * SV_BROKER_STEP_MILLIS,
       SV_BROKER_LATE_STEP_MILLIS = 100 };

/*
 * The step of resuming that the broker has not answered in time. The connection stays open for the reply. With its end
 * the broker removes the sockets from the map of the new program, also if it has executed a late commit before.
 */
enum sv_broker_pending { SV_BROKER_NOTHING_PENDING, SV_BROKER_RESUME_PENDING, SV_BROKER_COMMIT_PENDING };

struct sv_broker_waiting;

struct sv_broker {
    int socket;                 /* or -1 */
    uint32_t sequence;          /* of the last request */
    unsigned unanswered;        /* requests that were sent on this connection and have no reply yet */
    /* Requests that wait until the broker answers, in the order of sending. */
    struct sv_broker_waiting *first_waiting, *last_waiting;
    bool lost_mac_report;       /* memory to queue the report was missing */
    int error;                  /* reason for which no further request is sent, or 0 */
    /* For resuming the device. The descriptors belong to the caller of sv_broker_open(). */
    struct sv_broker_open wanted;
    int ifindex;
    uint32_t queue_count;       /* 0: no device is open */
    unsigned held_count;
    int held[SV_BROKER_RESUME_MAX_FDS];     /* passed by SV_BROKER_RESUME */
    int programs_fd;
    /* Maps of programs that run if a broker that ended had received the commit. They are held until a later commit. */
    int uncertain_fds[SV_BROKER_MAX_UNCERTAIN];
    unsigned uncertain_count;
    int (*add_again)(struct sv_broker *broker, void *context);      /* NULL: the device has no rules */
    void *context;
    _Atomic uint32_t stale_rules;   /* rules that the program may have, although this process has removed them */
    bool is_resuming;
    enum sv_broker_pending pending;
    int pending_programs_fd;    /* map of programs, during SV_BROKER_COMMIT_PENDING */
    uint32_t pending_stale_rules;   /* rules of these programs that this process has removed */
    int64_t deadline_millis;    /* common deadline of the following requests; 0: each request has its own */
    int64_t next_resume_millis; /* earliest time of the next attempt to resume */
    unsigned busy_attempts;     /* the last attempts that failed because the broker was busy */
    int resume_error;           /* result of the last attempt, and the reason */
    char resume_text[SV_EXPLANATION_BYTES];
};

/* ---- broker_client.c ---- */

int64_t sv_broker_now_millis(void);
/* Returns the path of the broker's socket, or NULL. */
const char *sv_broker_path(void);
/* Connects broker->socket to a trusted broker. Returns 0 or an errno with an explanation. */
int sv_broker_connect(struct sv_broker *broker);
/*
 * Closes the connection. Waits until the broker has closed its end too, for a bounded time, unless the broker is late.
 */
void sv_broker_disconnect(struct sv_broker *broker);
/* Records an error after which no request can succeed. Returns it with an explanation. */
int sv_broker_fail(struct sv_broker *broker, int error);
/*
 * Sends a request and receives its reply. Only replies to SV_BROKER_OPEN and SV_BROKER_RESUME have descriptors, which
 * then belong to the caller. Returns 0 or an errno with an explanation.
 *
 * After a timeout the connection can still be used. Until the broker answers again, requests fail at once. A removal or
 * MAC report is still sent if the socket has room, otherwise with the first request after the reply. Neither waits for
 * the replies to earlier requests. Stores the request's sequence number, which is not 0, if it was sent.
 */
int sv_broker_transact(struct sv_broker *broker, struct sv_broker_request *request, struct sv_broker_reply *reply,
                       int fds[SV_BROKER_MAX_FDS], unsigned *count);
/* Receives the reply to the last request, which timed out, without waiting. Returns as sv_broker_transact() does. */
int sv_broker_receive_pending(struct sv_broker *broker, struct sv_broker_reply *reply, int fds[SV_BROKER_MAX_FDS],
                              unsigned *count);
/* The same for a request that may be refused for a moment (EBUSY, EAGAIN): repeats it for this time. */
int sv_broker_transact_retrying(struct sv_broker *broker, const struct sv_broker_request *wanted,
                                struct sv_broker_reply *reply, int fds[SV_BROKER_MAX_FDS], unsigned *count,
                                unsigned retry_millis);
/* Returns a random time from `millis` to twice as much, so that many processes do not all ask at once. */
unsigned sv_broker_random_millis(unsigned millis);
/* Checks that the broker means the same interface. Returns 0 or an errno with an explanation. */
int sv_broker_check_namespace(const struct sv_broker *broker, const struct sv_broker_open *wanted, int ifindex,
                              const struct sv_broker_reply *reply);
/* Sends a removal or a report of the MAC address before the next request. */
void sv_broker_send_later(struct sv_broker *broker, const struct sv_broker_request *request);
/* Forgets the requests that wait. */
void sv_broker_forget_waiting(struct sv_broker *broker);
void sv_broker_close_fds(int *fds, unsigned count);

#endif
