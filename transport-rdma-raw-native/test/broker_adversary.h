/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_ADVERSARY_H
#define BROKER_ADVERSARY_H

#include "broker_scene.h"

/* The policy grants the adversary this port on its interface. It has no capability. */
enum { ADVERSARY_UID = 64001, ADVERSARY_PORT = 2000 };

/* Frames of other programs contain this in their payload. */
#define ADVERSARY_SECRET "SECRET-of-another-service"

/* The adversary's results, in memory shared with the test. It may only set devices, resumed and rules. */
struct adversary_report {
    _Atomic unsigned devices;
    _Atomic unsigned resumed;
    _Atomic unsigned rules;
    _Atomic bool has_made_ring;
    _Atomic bool has_registered_memory;
    _Atomic bool has_bound;
    _Atomic bool has_resized_memory;
    _Atomic bool has_left_interface;
    _Atomic bool has_seen_secret;
};

/*
 * Runs a hostile client of the broker in this process, which gives up its rights. The seed selects what it does: valid
 * and invalid requests, any calls on the descriptors that it receives, half-open connections, messages that it only
 * peeks at. It ends by itself unless it is killed.
 */
void adversary_run(const struct scene *scene, const struct wire *wire, struct adversary_report *report, uint32_t seed)
    __attribute__((noreturn));

#endif
