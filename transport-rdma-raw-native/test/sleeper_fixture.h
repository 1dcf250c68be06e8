/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLEEPER_FIXTURE_H
#define SLEEPER_FIXTURE_H

/* Two queue pairs on the near end of a wire, each with a completion channel on which a thread can sleep. */

#include "wire_fixture.h"

enum { PATIENCE_MILLIS = 20000, SETTLING_EVENTS = 20, FIRST_PORT = 2000 };

/* A queue pair with its channel, on the near end of a wire. */
struct sleeper {
    struct side side;
    struct ibv_comp_channel *channel;
    struct ibv_flow *flow;
    uint16_t port;
};

struct sleeper_pair {
    struct wire wire;
    struct sleeper sleeper[2];
    unsigned slot;
};

void sleeper_open(struct sleeper_pair *pair, unsigned number);
void sleeper_close(struct sleeper *sleeper);
void sleeper_pair_open(struct sleeper_pair *pair, const char *kind);
void sleeper_pair_close(struct sleeper_pair *pair);
void send_to(struct sleeper_pair *pair, const struct sleeper *sleeper);
void arm(struct sleeper *sleeper);
bool is_readable(const struct sleeper *sleeper);
/*
 * Waits as a program does that sleeps on the descriptor: it may be readable without an event, but every event arrives.
 */
void await_event(struct sleeper *sleeper);
void check_no_event(struct sleeper *sleeper);
/* Sleeps until one frame has arrived. */
void sleep_for_frame(struct sleeper_pair *pair, struct sleeper *sleeper);
/* How often the receive threads of this process have gone to sleep, and when that was read. */
struct thread_sleeps {
    long count;
    uint64_t nanos;
};
struct thread_sleeps thread_sleeps(void);
/* Returns how often they were woken since, apart from their periodic checks of the rings. */
long thread_wakeups_since(struct thread_sleeps before);
/* Sleeps until this is the only sleeper for long enough, so that its channel watches the sockets. */
void settle(struct sleeper_pair *pair, struct sleeper *sleeper);

#define ON_EACH_KIND(test) \
    static void test_##test(void) \
    { \
        for_each_kind(test); \
    }

#endif
