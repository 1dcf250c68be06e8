/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_NEIGHBOR_H
#define BROKER_NEIGHBOR_H

#include "broker.h"
#include "policy.h"

/*
 * The unanswered next hops of a user. The kernel's table has room for about a thousand neighbours of all network
 * namespaces, and an address without a host occupies a place for seconds.
 */
enum { NEIGHBOR_MAX_PENDING = 32 };

struct neighbor_budget {
    unsigned count;
    struct {
        struct sv_broker_solicit hop;
        int64_t deadline_millis;
    } pending[NEIGHBOR_MAX_PENDING];
};

/*
 * Makes the kernel resolve a neighbour's MAC address. The policy must grant the interface, and its route must lead
 * directly to the address. Returns 0 or an errno with sv_explain().
 */
int neighbor_solicit(const struct policy *policy, const struct policy_user *user,
                     const struct sv_broker_solicit *wanted, struct neighbor_budget *budget, int64_t now_millis);

#endif
