/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_NEIGHBOR_H
#define BROKER_NEIGHBOR_H

#include "broker.h"
#include "policy.h"

/*
 * Makes the kernel find out a neighbour's MAC address, on an interface that the policy grants. Returns 0 or an errno
 * with sv_explain().
 */
int solicit(const struct policy *policy, const struct policy_user *user, const struct sv_broker_solicit *wanted);

#endif
